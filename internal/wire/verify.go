package wire

import "github.com/fanfold/fanfold"

// Wrong names one value of the read model that is not what the documents as written give.
type Wrong struct {
	Document string `json:"document" doc:"<collection>/<id>."`
	Rule     string `json:"rule,omitempty"`
	Detail   string `json:"detail"` // the stored value and the right one, as a JSON Patch, or what else is wrong
}

// Verified says what a verification found.
type Verified struct {
	Position  fanfold.Bookmark `json:"position" doc:"Of the prefix looked at."`
	Documents int64            `json:"documents" doc:"Documents looked at."`
	Wrong     []Wrong          `json:"wrong" maxItems:"1000" doc:"Empty where all is right."`
	More      int64            `json:"more,omitempty" minimum:"1" doc:"Wrong values beyond those listed."`
}

// Summary returns what was found in a few numbers.
func (v *Verified) Summary() VerifiedSummary {
	return VerifiedSummary{Documents: v.Documents, Wrong: int64(len(v.Wrong)) + v.More}
}

// VerifiedSummary says in a few numbers what a verification found.
type VerifiedSummary struct {
	Documents int64 `json:"documents"`
	Wrong     int64 `json:"wrong"`
}
