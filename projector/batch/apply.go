package batch

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Recover turns a panic of the fold, from rows that are not what it wrote, for one, into an error: it stops the
// projector, not the process. It is deferred.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = fanfold.Errorf(fanfold.Internal, "the fold failed: %v; run fanfold verify, then fanfold replay", p)
	}
}

// manyDerived is how many derived changes of an event end a transaction of SQLite, if it can end there. So waiting changes
// are shown before the next such event, and one event's room is enough.
const manyDerived = 1000

// Apply folds a batch in one transaction, which it commits unless mayCommit, if given, returns an error. It ends after an event
// with many derived changes, and returns how many events are folded. On an error nothing is stored, and the fold is to be thrown away.
func Apply(db *sqlite.DB, f *fold.Fold, events []*fanfold.Event, mayCommit func() error) (n int, err error) {
	defer Recover(&err)
	err = db.Update(func(tx *sqlite.Tx) (err error) {
		var end End
		large := false
		n, err = f.ApplyUntil(tx, events, func(ev *fanfold.Event, derived int64) bool {
			end.Add(ev)
			large = large || derived >= manyDerived
			return large && end.Reached()
		})
		if err != nil {
			return err
		}
		tx.BeforeCommit(mayCommit)
		return AddDigests(tx, events[:n])
	})
	return n, err
}

// AddDigests extends the digest of what was folded by the digests of events that were folded in the same transaction.
func AddDigests(tx *sqlite.Tx, events []*fanfold.Event) error {
	for _, ev := range events {
		if err := tx.AddDigest(ev.Seq, ev.Digest); err != nil {
			return err
		}
	}
	return nil
}
