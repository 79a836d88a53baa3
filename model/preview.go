package model

import (
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
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

// Preview is what a model would do, and what only its checks need to know of that.
type Preview struct {
	wire.Preview
	At     fanfold.Position  `json:"-"` // the prefix that was looked at
	Broken []fanfold.Problem `json:"-"` // documents that break new checks; Misfits counts them, too
	Work   int64             `json:"-"` // documents that applying it looks at, each as often as it is looked at
}

type (
	// Misfits reports documents that a model forbids.
	Misfits = wire.Misfits
	// Misfit reports one of them.
	Misfit = wire.Misfit
	// RulePreview reports what one rule would do.
	RulePreview = wire.RulePreview
	// UniquePreview reports what is found of what is unique.
	UniquePreview = wire.UniquePreview
	// IndexPreview reports what an index holds.
	IndexPreview = wire.IndexPreview
	// Evaluation reports where an expression finds no value.
	Evaluation = wire.Evaluation
	// KeptValuesPreview reports what becomes of stored values.
	KeptValuesPreview = wire.KeptValuesPreview
	// Difference tells what is declared otherwise.
	Difference = wire.Difference
	// Summary says in numbers what a model does.
	Summary = wire.ModelSummary
	// Counted counts declarations.
	Counted = wire.Counts
)

// The outcomes of values that stay on documents.
const (
	Lost     = "lost"     // they are not stored any more
	Stored   = "reserved" // their rule goes; they stay stored until its path is released
	Restored = "restored" // their rule comes back, and shows them
)

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
		s.Collections.Count(change)
	}
	for _, r := range p.Rules {
		s.Rules.Count(r.Change)
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
