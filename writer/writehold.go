package writer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
)

// Members are the nodes that keep the log besides this one.
type Members interface {
	// RequestHold asks them to hold their writes, and returns once all do: nothing is under way then, until release is called. It
	// waits for one that does not answer until it is known to write no more. The error is Unavailable.
	RequestHold(ctx context.Context) (release func(), err error)
	// ConfirmHold returns nil where all of them still do. The error is Unavailable.
	ConfirmHold(ctx context.Context) error
}

// writeHold holds writes before they begin.
type writeHold struct {
	held     atomic.Pointer[chan struct{}] // closed when the hold ends; nil while no write is held
	mustFold atomic.Uint64                 // the event with which this node knows the model that applies: see Options.ModelAt
}

// start holds writes from now on.
func (h *writeHold) start() {
	c := make(chan struct{})
	h.held.CompareAndSwap(nil, &c)
}

// end lets writes begin again.
func (h *writeHold) end() {
	if c := h.held.Swap(nil); c != nil {
		close(*c)
	}
}

// Hold keeps writes from beginning until Release is called, and blocks until none is under way: as long as the log takes to
// decide.
func (w *Writer) Hold() {
	w.hold.start()
	w.modelMu.Lock()
	w.modelMu.Unlock() //nolint:staticcheck // who had it has left
}

// Release lets writes begin again.
func (w *Writer) Release() { w.hold.end() }

// CatchUp waits until this node has folded everything acknowledged before the call, however long that takes. The error is
// ctx's, or Unavailable.
func (w *Writer) CatchUp(ctx context.Context) error { return w.idempotency.catchUp(ctx) }

// knowsModel tells whether this node knows the model by which writes are decided.
func (w *Writer) knowsModel() bool {
	need := w.hold.mustFold.Load()
	return need == 0 || need <= w.ReadModel.Applied()
}

// awaitModel waits until this node knows the model by which writes are decided, for Options.Timeout at most. The error is Unavailable.
func (w *Writer) awaitModel(ctx context.Context) error {
	if w.knowsModel() {
		return nil
	}
	need := w.hold.mustFold.Load()
	if err := w.wait(ctx, need, w.opt.Timeout); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "this node has not folded event %d yet, with which it knows the model that applies: nothing was written; try again, or ask another node%s", need, reasonOf(err))
	}
	return nil
}

// begin lets a write begin, and returns what ends it. While writes are held back, or the model that applies is not folded
// here yet, it waits for Options.Timeout at most; the error is Unavailable then, and nothing is written.
func (w *Writer) begin(ctx context.Context) (end func(), err error) {
	for limit := (<-chan time.Time)(nil); ; {
		w.modelMu.RLock()
		held := w.hold.held.Load()
		if held == nil && w.knowsModel() {
			return w.modelMu.RUnlock, nil
		}
		w.modelMu.RUnlock()
		if held == nil {
			if err := w.awaitModel(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if w.opt.Reachable != nil { // where the log is away, waiting does not help
			if err := w.opt.Reachable(); err != nil {
				return nil, err
			}
		}
		if limit == nil {
			limit = time.After(w.opt.Timeout)
		}
		select {
		case <-*held:
		case <-ctx.Done():
			return nil, ended(ctx)
		case <-limit:
			return nil, errHeld
		}
	}
}

// mayBegin waits as begin does, for what is no write of documents. The error is Unavailable.
func (w *Writer) mayBegin(ctx context.Context) error {
	end, err := w.begin(ctx)
	if err == nil {
		end()
	}
	return err
}

// errHeld is the error of a write that was held back for too long.
var errHeld = fanfold.Errorf(fanfold.Unavailable, "this node takes no writes at present: it has not caught up with the log, which may be out of reach, since it joined the other nodes or its lease among them lapsed, "+
	"or a model with new strict relations or unique members is coming to apply: nothing was written; try again, or ask another node")
