package wire

import "github.com/fanfold/fanfold"

// Wrong names one value of the read model that is not what the documents as written give.
type Wrong struct {
	Document string `json:"document"` // collection/id
	Rule     string `json:"rule,omitempty"`
	Detail   string `json:"detail"` // the stored value and the right one, as a JSON Patch, or what else is wrong
}

// Verified says what a verification found.
type Verified struct {
	Position  fanfold.Bookmark `json:"position"` // of the prefix looked at
	Documents int64            `json:"documents"`
	Wrong     []Wrong          `json:"wrong"`
	More      int64            `json:"more,omitempty"` // wrong values beyond those listed
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
