package fanfold

// ModelPreview tells what applying a model would do.
type ModelPreview struct {
	Position Position      `json:"position"` // of the prefix looked at
	Rules    []RulePreview `json:"rules"`
	Changes  int64         `json:"changes"` // documents whose embedded view would change
	Misfits  []Misfits     `json:"misfits,omitempty"`
	// AtOnce are the rules because of which the model cannot be prepared in the background.
	AtOnce []string `json:"atOnce,omitempty"`
	// Problems are what stands in the way of applying it.
	Problems []Problem `json:"problems,omitempty"`
	// Work is how many documents applying it looks at, each as often as it does.
	Work int64 `json:"-"`
}

// Misfits are a collection's documents that do not fit its schema.
type Misfits struct {
	Collection string   `json:"collection"`
	Documents  int64    `json:"documents"`
	First      []Misfit `json:"first"`
}

// Misfit is a document that does not fit its collection's schema.
type Misfit struct {
	Document string    `json:"document"` // collection/id
	Problems []Problem `json:"problems"`
}

// RulePreview tells what one rule would do.
type RulePreview struct {
	Rule      string   `json:"rule"`
	Change    string   `json:"change"`          // new, changed, removed or same
	Documents int64    `json:"documents"`       // whose value of this rule would change
	Hides     []string `json:"hides,omitempty"` // documents that have a member of their own there: the first few
}
