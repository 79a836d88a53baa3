package writer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
)

// caughtUp remembers until when everything acknowledged is known to be folded on this node.
type caughtUp struct {
	began time.Time
	until atomic.Int64 // as a duration since began; 0 for never
}

// note takes over that everything acknowledged before a time is folded.
func (c *caughtUp) note(at time.Time) {
	until := int64(at.Sub(c.began))
	for old := c.until.Load(); old < until && !c.until.CompareAndSwap(old, until); old = c.until.Load() {
	}
}

// within tells whether that was so within the last d.
func (c *caughtUp) within(d time.Duration) bool {
	until := c.until.Load()
	return until != 0 && time.Since(c.began)-time.Duration(until) <= d
}

// NoteCaughtUp says that everything acknowledged before a time is folded on this node: a write or fence that was
// begun then is.
func (w *Writer) NoteCaughtUp(at time.Time) { w.caught.note(at) }

// once runs try, which appends events, unless that was done under the same key before. It returns
// the sequence of the first event, of then or now. Without a key it is try.
func (w *Writer) once(ctx context.Context, req Request, try func(ctx context.Context) (first uint64, err error)) (uint64, error) {
	if req.Key.Hash == "" || req.DryRun {
		return try(ctx)
	}
	if !w.caught.within(w.opt.ProvenFor) {
		if err := w.proveCaughtUp(ctx); err != nil {
			return 0, err
		}
	}
	if first, err := w.lookupKey(req.Key); first != 0 || err != nil {
		return first, err
	}
	bounded, cancel := context.WithTimeout(ctx, w.opt.ProvenFor/2) // what was looked up must not be old when it is written
	first, err := try(bounded)
	cancel()
	switch fanfold.CodeOf(err) {
	case "", fanfold.Unavailable, fanfold.OutcomeUnknown, fanfold.TooLarge, fanfold.KeyReused, fanfold.Internal:
		return first, err
	}
	// A refusal. What is in the way may be the same request, sent to another node.
	if perr := w.proveCaughtUp(ctx); perr != nil {
		return 0, perr
	}
	if first, lerr := w.lookupKey(req.Key); first != 0 || lerr != nil {
		return first, lerr
	}
	if fanfold.CodeOf(err) == fanfold.Duplicate {
		err = fanfold.Errorf(fanfold.Unavailable, "the Idempotency-Key was used a moment ago, and its outcome is not known here yet: try again")
	}
	return 0, err
}

// proveCaughtUp waits until this node has folded everything acknowledged before the call.
func (w *Writer) proveCaughtUp(ctx context.Context) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, w.opt.Timeout)
	defer cancel()
	seq, err := w.Leader.Fence(ctx)
	if err == nil {
		err = w.ReadModel.Wait(ctx, seq)
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "this node is behind the log and cannot tell whether the Idempotency-Key was used: try again, or ask another node%s", reasonOf(err))
	}
	w.caught.note(began)
	return nil
}

// lookupKey returns the first event of the request that was made under the key, 0 where there is
// none. The error is KeyReused where it was another request.
func (w *Writer) lookupKey(key fanfold.IdempotencyKey) (first uint64, err error) {
	err = w.ReadModel.Read(func(snap Snapshot) error {
		r, err := snap.IdempotencyKey(key.Hash)
		switch {
		case err != nil || r == nil:
			return err
		case r.Digest != key.Digest:
			return fanfold.Errorf(fanfold.KeyReused, "the Idempotency-Key was used for another request; take a new key")
		}
		first = r.Seq
		return nil
	})
	return first, err
}
