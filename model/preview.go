package model

import (
	"fmt"
	"strings"

	"github.com/fanfold/fanfold"
)

// PreviewOptions says how a model is previewed. The zero value works.
type PreviewOptions struct {
	// Objection gets what is known so far, so that a model which is refused anyway is refused soon. It is called before
	// documents are looked at, and again before the slow part. Its error ends the preview.
	Objection func(p *Preview) error
	Progress  fanfold.Progress
	// Measure looks at all documents that will have entries in a new index, and counts these entries.
	Measure bool
}

// Preview reports what a model would do to the documents as they are. You see it before you apply the model, and a model with
// Problems is not applied.
type Preview struct {
	Position fanfold.Bookmark `json:"position"` // of the prefix of the log that was looked at
	// Differences lists what the model declares otherwise than the one that applies.
	Differences []Difference  `json:"differences"`
	Rules       []RulePreview `json:"rules"`
	// Unique lists what is unique. It is nil where nothing is, and where the documents were not looked at.
	Unique []UniquePreview `json:"unique,omitempty"`
	// Indexes lists the indexes that come, change or go. The entries of those that come are counted where PreviewOptions ask for it.
	Indexes []*IndexPreview `json:"indexes,omitempty"`
	Changes int64           `json:"changes"` // documents whose embedded view would change
	Misfits []Misfits       `json:"misfits,omitempty"`
	// Kept lists rules whose stored values this model drops, hides or restores. Nobody can compute such values again.
	Kept []KeptValuesPreview `json:"kept,omitempty"`
	// AtOnce lists the rules, and the relations with pages, that keep the model from being prepared in the background.
	AtOnce []string `json:"atOnce,omitempty"`
	// Problems lists what stands in the way of applying it.
	Problems []fanfold.Problem `json:"problems,omitempty"`
	// Warnings lists what is most likely a mistake, and does not stand in its way: rules that find no value in any document, and
	// unique members that no document has. It also lists members that show again without a rule, and that the next write loses.
	Warnings []fanfold.Problem `json:"warnings,omitempty"`
	// Merged is the whole model as YAML, of a dry run of a part: as GET /v1/_model would show it. It is "" otherwise.
	Merged string `json:"merged,omitempty"`
	// Work counts the documents that applying it looks at, each as often as it is looked at.
	Work int64 `json:"-"`
}

// Misfits reports the documents of a collection that do not fit its schema.
type Misfits struct {
	Collection string   `json:"collection"`
	Documents  int64    `json:"documents"`
	First      []Misfit `json:"first"`
}

// Misfit reports one document that does not fit its collection's schema.
type Misfit struct {
	Document string            `json:"document"` // collection/id
	Problems []fanfold.Problem `json:"problems"`
}

// RulePreview reports what one rule would do.
type RulePreview struct {
	Rule      string   `json:"rule"`
	Change    string   `json:"change"`          // new, changed, removed or same
	Documents int64    `json:"documents"`       // the number of documents whose value of this rule would change
	Hides     []string `json:"hides,omitempty"` // the first documents that have a member of their own there
	// Evaluations reports what the rule's expressions and paths find, in the order in which they are evaluated. It is nil
	// for a rule without any, for one that is removed, and for one whose values stay as they are: the documents were not looked
	// at for it.
	Evaluations []Evaluation `json:"evaluations,omitempty"`
}

// UniquePreview reports what one declaration of what is unique finds in the documents of its collection, part by part. A
// document without a value of each is not compared with others.
type UniquePreview struct {
	Collection  string       `json:"collection"`
	Unique      string       `json:"unique"`                // as declared
	Change      string       `json:"change"`                // new or same
	Evaluations []Evaluation `json:"evaluations,omitempty"` // nil where it is the same
}

// IndexPreview reports what an index holds once the model applies or, where the model removes it, what it holds now.
type IndexPreview struct {
	Collection string   `json:"collection"`
	Index      string   `json:"index"`
	Change     string   `json:"change"` // new, changed or removed
	Components []string `json:"components"`
	Entries    int64    `json:"entries"`
	Bytes      int64    `json:"bytes,omitempty"` // that the entries take, about
}

// Detail returns a sentence about the entries, for people.
func (x *IndexPreview) Detail() string {
	what := "[" + strings.Join(x.Components, ", ") + "]"
	if x.Change == "removed" {
		return fmt.Sprintf("%s loses %d entries", what, x.Entries)
	}
	return fmt.Sprintf("%s gets %d entries of about %d bytes in all", what, x.Entries, x.Bytes)
}

// Evaluation reports in how many documents a part of a rule, an expression or a path, finds no value.
type Evaluation struct {
	Part      string `json:"part"`      // value, where, of or orderBy; of what is unique the path or expression itself
	Evaluated int64  `json:"evaluated"` // the number of documents in which it looked for one
	NoValue   int64  `json:"noValue"`   // the number of those in which there was none
	Document  string `json:"document,omitempty"`
	Reason    string `json:"reason,omitempty"` // why there is none in Document, the first of those, or the first where a member may be meant
}

// FindsNothing tells whether there was no value in any document, of one at least.
func (e *Evaluation) FindsNothing() bool { return e.Evaluated > 0 && e.NoValue == e.Evaluated }

// Detail returns a sentence about the documents without a value, for people.
func (e *Evaluation) Detail() string {
	such := ""
	if e.Document != "" {
		such = ", such as " + e.Document + ": " + e.Reason
	}
	if e.FindsNothing() {
		return fmt.Sprintf("found no value in any of %d documents%s", e.Evaluated, such)
	}
	return fmt.Sprintf("found no value in %d of %d documents%s", e.NoValue, e.Evaluated, such)
}

// KeptValuesPreview reports what a model does to the stored values of one rule that nobody can compute again.
type KeptValuesPreview struct {
	Rule    string `json:"rule"`
	Values  int64  `json:"values"`
	Kind    string `json:"kind"`    // frozen, or kept after the delete of their targets
	Outcome string `json:"outcome"` // one of Lost, Stored and Restored
}

// The outcomes of values that stay on documents.
const (
	Lost     = "lost"     // they are not stored any more
	Stored   = "reserved" // their rule goes; they stay stored until its path is released
	Restored = "restored" // their rule comes back, and shows them
)

// Summary says in a few numbers what applying a model does, or would.
type Summary struct {
	Applied     bool             `json:"applied"`            // it applies; otherwise it is announced, or was only previewed
	Position    fanfold.Bookmark `json:"position,omitzero"`  // of the event that applies or announces it
	Revision    uint64           `json:"revision,omitempty"` // the event that applies it
	Collections Counted          `json:"collections"`        // that are declared
	Rules       Counted          `json:"rules"`
	Differences int              `json:"differences"` // declarations that are other ones than before
	Documents   int64            `json:"documents"`   // whose embedded view changes
	Values      int64            `json:"values"`      // that change on them, a rule's on one document counted once
	Misfits     int64            `json:"misfits"`     // documents that do not fit a new schema
	Problems    int              `json:"problems"`    // what stands in its way
	Warnings    int              `json:"warnings"`
	// FirstWarning is one of the warnings; nil for none.
	FirstWarning *fanfold.Problem `json:"firstWarning,omitempty"`
}

// Counted counts declarations that came, went or changed.
type Counted struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
}

// count counts one declaration.
func (c *Counted) count(change string) {
	switch change {
	case "added", "new":
		c.Added++
	case "removed":
		c.Removed++
	case "changed":
		c.Changed++
	}
}

// Summary returns the preview in a few numbers.
func (p *Preview) Summary() Summary {
	s := Summary{Differences: len(p.Differences), Documents: p.Changes, Problems: len(p.Problems), Warnings: len(p.Warnings)}
	collections := map[string]string{} // how each that differs changed
	for _, d := range p.Differences {
		parts := strings.SplitN(d.Path, ".", 3) // a collection's name has no dot
		switch {
		case len(parts) < 2 || parts[0] != "collections":
		case len(parts) == 2:
			collections[parts[1]] = d.Change
		case collections[parts[1]] == "":
			collections[parts[1]] = "changed"
		}
	}
	for _, change := range collections {
		s.Collections.count(change)
	}
	for _, r := range p.Rules {
		s.Rules.count(r.Change)
		s.Values += r.Documents
	}
	for _, m := range p.Misfits {
		s.Misfits += m.Documents
	}
	if len(p.Warnings) > 0 {
		s.FirstWarning = &p.Warnings[0]
	}
	return s
}
