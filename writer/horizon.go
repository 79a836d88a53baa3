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
	if purged, err := w.waitHorizon(ctx); err != nil || !purged {
		return 0, false, err
	}
	err = w.ReadModel.Read(func(snap Snapshot) (err error) {
		var exists bool
		rev, exists, err = lastIn(snap, key)
		deleted = !exists && rev != 0
		return err
	})
	return rev, deleted, err
}

// lastIn returns the revision of a document's last write or delete in a snapshot, 0 for none, and whether the document exists.
func lastIn(snap Snapshot, key fanfold.Key) (rev fanfold.Revision, exists bool, err error) {
	doc, err := snap.Get(key, fanfold.Referenced)
	if rev = revisionOf(doc); err != nil || doc != nil {
		return rev, doc != nil, err
	}
	rev, err = snap.Tombstone(key)
	return rev, false, err
}

// lastProgress returns the body of an import's last event as last does a document's, and the condition that it still is the last one.
func (w *Writer) lastProgress(ctx context.Context, id string) (body []byte, expect fanfold.Expect, err error) {
	expect = fanfold.Expect{Set: true, Folded: w.ReadModel.Applied()}
	body, expect.Rev, err = w.Leader.Progress(ctx, id)
	if err != nil || expect.Rev != 0 {
		return body, expect, err
	}
	if purged, err := w.waitHorizon(ctx); err != nil || !purged {
		return nil, expect, err
	}
	expect.Folded = w.ReadModel.Applied()
	err = w.ReadModel.Read(func(snap Snapshot) error {
		body, expect.Rev, err = snap.ImportProgress(id)
		return err
	})
	return body, expect, err
}

// waitHorizon waits until this node has folded what may have been purged, and tells whether there is any. The error is Unavailable.
func (w *Writer) waitHorizon(ctx context.Context) (purged bool, err error) {
	horizon, err := w.Leader.Horizon(ctx)
	if err != nil || horizon == 0 {
		return false, err
	}
	if err := w.wait(ctx, horizon, w.opt.Timeout); err != nil {
		return false, behind(err)
	}
	return true, nil
}
