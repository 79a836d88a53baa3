package writer

import (
	"context"
	"slices"

	"github.com/fanfold/fanfold"
)

// lostEventDetector is the log, with one more error: where the log refuses a write because it is at an earlier revision than
// this node has folded, it has lost events. To try again would never end.
type lostEventDetector struct {
	Appender
	rows ReadModel
}

// Append does what the log does, with a condition that says from which state it was read. The error is LogDamaged where the log has lost what the write is made on.
func (l lostEventDetector) Append(ctx context.Context, ev *fanfold.Event, expect fanfold.Expect) (uint64, error) {
	expect = observed(ctx, expect)
	seq, err := l.Appender.Append(ctx, ev, expect)
	return seq, l.check(err, fanfold.Write{Event: ev, Expect: expect})
}

// AppendAll does what the log does. The error is LogDamaged where the log has lost what a write is made on.
func (l lostEventDetector) AppendAll(ctx context.Context, tx string, writes []fanfold.Write) (first uint64, err error) {
	writes = observedWrites(ctx, writes)
	first, err = l.Appender.AppendAll(ctx, tx, writes)
	return first, l.checkAll(err, writes)
}

// Stage does what the log does. The error of appendRest is LogDamaged where the log has lost what a write is made on.
func (l lostEventDetector) Stage(ctx context.Context, writes []fanfold.Write) (appendRest AppendStaged, err error) {
	appendStaged, err := l.Appender.Stage(ctx, writes)
	return func(ctx context.Context, rest []fanfold.Write) (first uint64, err error) {
		rest = observedWrites(ctx, rest)
		first, err = appendStaged(ctx, rest)
		return first, l.checkAll(err, slices.Concat(writes, rest))
	}, err
}

// checkAll does what check does for the write that err is about.
func (l lostEventDetector) checkAll(err error, writes []fanfold.Write) error {
	if at := operationOf(err); at >= 0 && at < len(writes) {
		return l.check(err, writes[at])
	}
	return err
}

// check returns LogDamaged in place of a Stale by which the log lacks an event that this node has folded, and err
// otherwise.
func (l lostEventDetector) check(err error, w fanfold.Write) error {
	stale := staleError(err)
	if stale == nil || !w.Expect.Set || stale.Current >= w.Expect.Rev || isBehindHorizon(err) {
		return err
	}
	what, folded := string(w.Event.Kind)+" event", w.Expect.Rev
	if isAboutDocument(w.Event) || w.Event.ChecksDocument() {
		// The client may have asked for a revision that never was.
		var rerr error
		if folded, rerr = l.folded(w.Event.Key); rerr != nil {
			return rerr
		}
		what = "event about " + w.Event.Key.String()
	}
	if folded <= stale.Current {
		return err
	}
	return fanfold.Errorf(fanfold.LogDamaged, "the log's last %s is %d, and this node has folded %d: the log has lost it, or this node belongs to another log; nothing was written. "+
		"See /v1/_status, and run fanfold verify --log", what, stale.Current, folded)
}

// folded returns the revision of a document, or the sequence of its delete, as this node has folded it; 0 for none.
func (l lostEventDetector) folded(key fanfold.Key) (rev fanfold.Revision, err error) {
	err = l.rows.Read(func(s Snapshot) error {
		doc, err := s.Get(key, fanfold.Referenced)
		if rev = revisionOf(doc); err != nil || doc != nil {
			return err
		}
		rev, err = s.Tombstone(key)
		return err
	})
	return rev, err
}
