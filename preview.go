package fanfold

// ModelPreview reports what applying a model would do.
type ModelPreview struct {
	Position Position      `json:"position"` // of the prefix of the log that was looked at
	Rules    []RulePreview `json:"rules"`
	Changes  int64         `json:"changes"` // documents whose embedded view would change
	Misfits  []Misfits     `json:"misfits,omitempty"`
	// AtOnce lists the rules because of which the model cannot be prepared in the background.
	AtOnce []string `json:"atOnce,omitempty"`
	// Problems lists what stands in the way of applying it.
	Problems []Problem `json:"problems,omitempty"`
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
	Document string    `json:"document"` // collection/id
	Problems []Problem `json:"problems"`
}

// RulePreview reports what one rule would do.
type RulePreview struct {
	Rule      string   `json:"rule"`
	Change    string   `json:"change"`          // new, changed, removed or same
	Documents int64    `json:"documents"`       // the number of documents whose value of this rule would change
	Hides     []string `json:"hides,omitempty"` // the first documents that have a member of their own there
}
