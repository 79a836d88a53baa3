package reports

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// RuleValues tells what the expressions and paths of the model's rules find in the documents that are there.
type RuleValues struct {
	// Position is where the last count began: every document was looked at as it was there, or later. It is absent while
	// the documents are counted for the first time since the start, or since the model came to apply.
	Position fanfold.Bookmark `json:"position,omitzero"`
	// Rules lists the parts of rules that find no value in some documents, the first 100: those first that find one in
	// none. More is how many others there are.
	Rules []RuleEvaluation `json:"rules"`
	More  int              `json:"more,omitempty"`
}

// RuleEvaluation tells in how many documents a part of a rule, or of what is unique, finds no value.
type RuleEvaluation struct {
	Rule string `json:"rule"` // its name or, of what is unique, "<collection> unique <declaration>"
	model.Evaluation
}
