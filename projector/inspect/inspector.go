// Package inspect answers questions about the read model without changing it. It tells whether every derived value is
// right, what a model or a write would change, and where a value comes from. projector/DESIGN.md says why it is as it
// is.
package inspect

import (
	"sync/atomic"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Projector is the loop that folds, as far as the inspector needs it.
type Projector interface {
	// Plan returns the plan that the next event is folded under.
	Plan() *fold.Plan
}

// Inspector inspects the current read model of a store. Its methods may be called from many goroutines.
type Inspector struct {
	store     *sqlite.Store
	projector Projector
	dryRuns   chan struct{} // has an element while a dry run is made
	foreseen  chan struct{} // has an element for each call of Foresee that works
	issuer    fanfold.Issuer
	former    formerPlans
	rowsRead  atomic.Int64 // by MayExceed and Preview
}

// RowsRead returns how many rows of the read model MayExceed and Preview have read and counted so far.
func (i *Inspector) RowsRead() int64 { return i.rowsRead.Load() }

// New returns an inspector of a store that a projector folds into. Positions are given out by issuer.
func New(store *sqlite.Store, projector Projector, issuer fanfold.Issuer) *Inspector {
	return &Inspector{store: store, projector: projector, issuer: issuer, dryRuns: make(chan struct{}, 1), foreseen: make(chan struct{}, maxForeseen)}
}
