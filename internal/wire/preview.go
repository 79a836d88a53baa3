package wire

import (
	"fmt"
	"strings"

	"github.com/fanfold/fanfold"
)

// Preview reports what a model would do to the documents as they are. You see it before you apply the model, and a model with
// Problems is not applied.
type Preview struct {
	Position    string              `json:"position" ref:"Position" doc:"Of the prefix looked at."`
	Differences []Difference        `json:"differences" maxItems:"1001" doc:"What the model declares otherwise than the one that applies. Of more than 1,000 the last one tells how many more there are."`
	Rules       []RulePreview       `json:"rules" nullable:"true" doc:"Every rule before and after; null where there are none."`
	Unique      []UniquePreview     `json:"unique,omitempty" maxItems:"200" doc:"What is unique. Absent where nothing is, and where the preview looks at no documents."`
	Indexes     []*IndexPreview     `json:"indexes,omitempty" doc:"Indexes that come, change or go. The entries of those that come are 0 where the preview looks at no documents."`
	Changes     int64               `json:"changes" doc:"Documents whose embedded view changes."`
	Misfits     []Misfits           `json:"misfits,omitempty"`
	Kept        []KeptValuesPreview `json:"kept,omitempty" maxItems:"3000" doc:"What becomes of values that stay on documents and that nobody can compute again: of the rules that have some, and of which the model changes that. Where some would be lost, the model is refused unless it releases their path."`
	AtOnce      []string            `json:"atOnce,omitempty" doc:"Rules, relations with pages, and new checks, because of which the model cannot be prepared in the background."`
	Problems    []fanfold.Problem   `json:"problems,omitempty" doc:"What stands in the way of applying it."`
	Warnings    []fanfold.Problem   `json:"warnings,omitempty" doc:"What does not stand in the way and is hardly meant: rules that find a value in no document, what is unique and has one in none, so that it guards nothing, and members of documents that a rule hid which goes, and which their next write loses unless the path is released."`
	Merged      string              `json:"merged,omitempty" doc:"The whole model, as GET /v1/_model would give it as YAML. Only in dry runs of a part: PATCH, and PUT of a collection."`
}

// Difference tells one thing that a model declares otherwise than the model before it.
type Difference struct {
	Path    string `json:"path" doc:"Of the declaration in the model; empty for more that are not listed."`
	Change  string `json:"change" enum:"added|removed|changed"`
	Detail  string `json:"detail,omitempty" doc:"What is declared now, and what was before."`
	Removes bool   `json:"removes,omitempty" doc:"A rule or a guard goes, or values that cannot be computed again: such a model asks for allowRemoval or If-Match."`
}

// Misfits reports the documents of a collection that do not fit its schema, or break its checks.
type Misfits struct {
	Collection string   `json:"collection" ref:"CollectionName"`
	Documents  int64    `json:"documents" minimum:"1"`
	First      []Misfit `json:"first" doc:"The first 20."`
}

// Misfit reports one document that does not fit its collection's schema.
type Misfit struct {
	Document string            `json:"document"` // collection/id
	Problems []fanfold.Problem `json:"problems"`
}

// RulePreview reports what one rule would do.
type RulePreview struct {
	Rule        string       `json:"rule"`
	Change      string       `json:"change" enum:"new|changed|removed|same"`
	Documents   int64        `json:"documents" doc:"Documents whose value of this rule changes."`
	Hides       []string     `json:"hides,omitempty" doc:"The first documents that have a member of their own there."`
	Evaluations []Evaluation `json:"evaluations,omitempty" maxItems:"2" doc:"What the rule's expressions and paths find, in the order in which they are evaluated. Absent for a rule without any, for one that is removed, and for one whose values stay as they are."`
}

// UniquePreview reports what one declaration of what is unique finds in the documents of its collection, part by part. A
// document without a value of each is not compared with others.
type UniquePreview struct {
	Collection  string       `json:"collection" ref:"CollectionName"`
	Unique      string       `json:"unique" doc:"The path, the expression, or the list of them."`
	Change      string       `json:"change" enum:"new|same"`
	Evaluations []Evaluation `json:"evaluations,omitempty" maxItems:"8" doc:"What each of its parts finds. A document that lacks one is not compared with others. Absent where it is the same as before."`
}

// IndexPreview reports what an index holds once the model applies or, where the model removes it, what it holds now.
type IndexPreview struct {
	Collection string   `json:"collection" ref:"CollectionName"`
	Index      string   `json:"index"`
	Change     string   `json:"change" enum:"new|changed|removed"`
	Components []string `json:"components"`
	Entries    int64    `json:"entries"`
	Bytes      int64    `json:"bytes,omitempty" doc:"That the entries take, about."`
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
	Part      string `json:"part" doc:"The expression or path of the rule: value, where, of or orderBy. Of what is unique the expression or path itself."`
	Evaluated int64  `json:"evaluated" doc:"Documents in which it looks for a value: a copy in those that others refer to, the rest in those that refer to others; behind a condition in those for which it is true. What is unique is looked for in all of the collection."`
	NoValue   int64  `json:"noValue" doc:"Those of them in which there is none: a condition is neither true nor false there, what is unique neither a text nor a number."`
	Document  string `json:"document,omitempty" doc:"The first of them, as collection/id."`
	Reason    string `json:"reason,omitempty" doc:"Why there is none in it."`
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
	Values  int64  `json:"values" minimum:"1" doc:"How many there are."`
	Kind    string `json:"kind" enum:"frozen|kept" doc:"Frozen, or kept after the delete of their targets."`
	Outcome string `json:"outcome" enum:"lost|reserved|restored" doc:"Lost for good; stored although their rule goes, as long as its path is reserved; restored with their rule."`
}

// ModelSummary says in a few numbers what applying a model does, or would.
type ModelSummary struct {
	Applied     bool   `json:"applied" doc:"It applies. Otherwise it is being prepared, or was only previewed."`
	Position    string `json:"position,omitempty" ref:"Position"` // of the event that applies or announces it
	Revision    uint64 `json:"revision,omitempty" minimum:"1" doc:"The event that applies it."`
	Collections Counts `json:"collections"` // that are declared
	Rules       Counts `json:"rules"`
	Differences int    `json:"differences" doc:"Declarations that are other ones than before."`
	Documents   int64  `json:"documents" doc:"Documents whose embedded view changes."`
	Values      int64  `json:"values" doc:"Values that change on them; those of one rule on one document count once."`
	Misfits     int64  `json:"misfits" doc:"Documents that do not fit a new schema, or break a new check."`
	Problems    int    `json:"problems" doc:"How much stands in its way."`
	Warnings    int    `json:"warnings" doc:"How many warnings the preview has."`
	// FirstWarning is one of the warnings; nil for none.
	FirstWarning *fanfold.Problem `json:"firstWarning,omitempty"`
}

// Counts count declarations that came, went or changed.
type Counts struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Changed int `json:"changed"`
}

// Count counts one declaration.
func (c *Counts) Count(change string) {
	switch change {
	case "added", "new":
		c.Added++
	case "removed":
		c.Removed++
	case "changed":
		c.Changed++
	}
}
