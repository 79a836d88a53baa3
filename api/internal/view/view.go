// Package view is the one door by which documents leave the API. Whoever answers a request opens a View, and takes bodies, keys
// and the names of documents from it alone. A View shows everything: what it hides some day, it hides in all answers.
package view

import (
	"context"
	"net/http"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/reports"
	"github.com/fanfold/fanfold/model"
)

// Views opens views of what a node has.
type Views struct{ from Dependencies }

// New returns the views of what from reads.
func New(from Dependencies) *Views { return &Views{from} }

// Open returns what the sender of a request may see, which is everything.
func (vs *Views) Open(*http.Request) View { return View{vs} }

// View shows one request's sender what it may see. Errors are those of Dependencies.
type View struct{ views *Views }

// Get returns one document, nil where there is none, and the position it was read at.
func (v View) Get(key fanfold.Key, form fanfold.View) (*fanfold.Document, fanfold.Position, error) {
	return v.views.from.Reader.Get(key, form)
}

// Read calls fn with a prefix of the log that is valid until fn returns.
func (v View) Read(fn func(p *Prefix) error) error {
	return v.views.from.Reader.Read(func(s Snapshot) error { return fn(&Prefix{s}) })
}

// Scan opens a prefix of the log that may be read for long, until ctx ends. The caller closes it.
func (v View) Scan(ctx context.Context) (*LongPrefix, error) {
	s, err := v.views.from.Reader.Scan(ctx)
	if err != nil {
		return nil, err
	}
	return &LongPrefix{s}, nil
}

// Lineage reports where a document's derived values come from and which documents carry copies of it.
func (v View) Lineage(ctx context.Context, key fanfold.Key) (*reports.Lineage, error) {
	return v.views.from.Tracer.Lineage(ctx, key)
}

// KeyAt returns the document of the event at seq.
func (v View) KeyAt(ctx context.Context, seq uint64) (fanfold.Key, error) {
	return v.views.from.Keys.KeyAt(ctx, seq)
}

// Outcome returns what a recently folded event did: see Outcomes.
func (v View) Outcome(seq uint64) (op fanfold.Op, derived int64, ok bool) {
	return v.views.from.Outcomes.Outcome(seq)
}

// Outcomes returns the direct changes of count folded events from first on: see Outcomes.
func (v View) Outcomes(first uint64, count int) (changes []*fanfold.Change, derived int64, err error) {
	return v.views.from.Outcomes.Outcomes(first, count)
}

// Refusal returns an error with the documents that it may name.
func (v View) Refusal(e *fanfold.Error) *fanfold.Error { return e }

// Preview returns the preview of a model with the documents that it may name.
func (v View) Preview(p *model.Preview) *model.Preview { return p }

// Writes returns those writes of a dry run whose documents may be named.
func (v View) Writes(all []fanfold.Write) []fanfold.Write { return all }
