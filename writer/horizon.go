package writer

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold"
)

// foldedKey is the key of a context's value: an event up to which this node had folded before anything was read for a write.
type foldedKey struct{}

// observe returns a context for a write that is decided on what is read from now on.
func (w *Writer) observe(ctx context.Context) context.Context {
	return context.WithValue(ctx, foldedKey{}, w.ReadModel.Applied())
}

// foldedBefore returns up to which event this node had folded when observe was called, 0 where it was not.
func foldedBefore(ctx context.Context) uint64 {
	folded, _ := ctx.Value(foldedKey{}).(uint64)
	return folded
}

// exactly returns the condition that rev, which was read in the try of ctx, is the last event of the subject.
func exactly(ctx context.Context, rev fanfold.Revision) fanfold.Expect {
	return observed(ctx, fanfold.Exactly(rev))
}

// observed returns a condition that says from which state it was read: one that does not was read in the try of ctx.
func observed(ctx context.Context, expect fanfold.Expect) fanfold.Expect {
	if expect.Set && expect.Folded == 0 {
		expect.Folded = foldedBefore(ctx)
	}
	return expect
}

// observedWrites returns writes with conditions as observed returns them.
func observedWrites(ctx context.Context, writes []fanfold.Write) []fanfold.Write {
	out := make([]fanfold.Write, len(writes))
	for i, write := range writes {
		out[i] = fanfold.Write{Event: write.Event, Expect: observed(ctx, write.Expect)}
	}
	return out
}

// isBehindHorizon tells whether a write was refused because it was decided on a state from before the log's horizon.
func isBehindHorizon(err error) bool { return errors.Is(err, fanfold.ErrBehindHorizon) }

// last returns the revision of a document's last event, 0 for none, and whether that was a delete, as the log's leader has it. If the
// leader has none, its events may have been purged, and what this node has folded tells. The error is Unavailable.
func (w *Writer) last(ctx context.Context, key fanfold.Key) (rev fanfold.Revision, deleted bool, err error) {
	rev, deleted, err = w.Leader.Last(ctx, key)
	if err != nil || rev != 0 {
		return rev, deleted, err
	}
	horizon, err := w.Leader.Horizon(ctx)
	if err != nil || horizon == 0 {
		return 0, false, err
	}
	if err := w.wait(ctx, horizon, w.opt.Timeout); err != nil {
		return 0, false, behind(err)
	}
	err = w.ReadModel.Read(func(snap Snapshot) error {
		doc, err := snap.Get(key, fanfold.Referenced)
		if rev = revisionOf(doc); err != nil || doc != nil {
			return err
		}
		rev, err = snap.Tombstone(key)
		deleted = rev != 0
		return err
	})
	return rev, deleted, err
}
