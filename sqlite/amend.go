package sqlite

import (
	"context"
	"errors"
	"io"

	"github.com/fanfold/fanfold"
)

// Amendment says what becomes of a generation with the state of a base whose documents are erased.
type Amendment struct {
	AsOf        fanfold.AsOf   // which lists of the log it knows then
	Digest      fanfold.Digest // of what takes the events' place: the digest of all events begins with it
	ForgetEvent bool           // the last event's digest goes, too
}

// Amend changes the state that LoadBase has loaded into a generation, before anything is folded. fn folds writes of documents that are there.
// Then all is taken back that would say so: changes, revisions, times, and the values that nobody claims any more. The chain's digest and the
// requests' digests are made without the erased parts. It returns the horizon. The file's free space still has what was there; MoveBase
// leaves it out. After an error the caller discards the generation. It returns the errors of fn and the read model.
func (db *DB) Amend(a Amendment, fn func(tx *Tx) error) (h fanfold.Horizon, err error) {
	err = db.Update(func(tx *Tx) error {
		begin := tx.checkpoint
		stored, err := readHorizon(tx.c)
		if err != nil {
			return err
		}
		if h = stored.Horizon; h.Seq == 0 || stored.base != h.Seq || begin.Seq != h.Seq {
			return fanfold.Errorf(fanfold.Internal, "a read model is amended that is not the state of a base")
		}
		if err := fn(tx); err != nil {
			return err
		}
		if err := errors.Join(tx.flush(), tx.takeBackAmended(h)); err != nil {
			return err
		}
		if h.Digest = (fanfold.Digest{}).Followed(a.Digest); a.ForgetEvent {
			h.Event = fanfold.Digest{}
		}
		tx.checkpoint = begin
		tx.checkpoint.AsOf, tx.checkpoint.Event, tx.checkpoint.Digest = a.AsOf, h.Event, h.Digest
		return tx.ReplaceHorizon(h)
	})
	db.tx.loaded = false // what it knows of rows is of no use
	return h, err
}

// takeBackAmended takes back what the writes of Amend have left besides the state at the horizon.
func (tx *Tx) takeBackAmended(h fanfold.Horizon) error {
	seq := int64(h.Seq)
	for _, q := range []string{
		"DELETE FROM change",
		"DELETE FROM form",
		"DELETE FROM past_link",
		"DELETE FROM log_digest",
		"DELETE FROM claim WHERE holder IS NULL",
		"UPDATE sequence SET per = NULL", // until another document tells it
		"DELETE FROM horizon_paged",
		"INSERT INTO horizon_paged (relation, target, count) SELECT relation, target, count FROM paged ORDER BY relation, target",
		"UPDATE once SET digest = ''",
	} {
		if err := tx.c.Exec(q); err != nil {
			return err
		}
	}
	return errors.Join(tx.c.Exec("UPDATE link SET since = ?1 WHERE since > ?1", seq),
		tx.pending.writeDocument("UPDATE document SET (position, revision, created, updated) = (SELECT position, revision, created, updated FROM horizon_version v WHERE v.number = document.number) WHERE position > ?",
			int64(h.Position)))
}

// MoveBase loads the state of a generation, on which nothing is folded after a base, into one that Build made and that is empty. Nothing of
// the first one's free space comes along. It blocks until all is loaded, or ctx has ended. It returns the errors of WriteBase and LoadBase.
func (db *DB) MoveBase(ctx context.Context, to *DB) (h fanfold.Horizon, err error) {
	if err := db.ReadUnshared(func(s *Snapshot) error {
		h = fanfold.Horizon{Seq: s.Checkpoint.Seq, Digest: s.Checkpoint.Digest}
		return nil
	}); err != nil {
		return h, err
	}
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		_, err := db.WriteBase(ctx, w)
		written <- errors.Join(err, w.CloseWithError(err))
	}()
	h, err = to.LoadBase(ctx, r, h)
	_ = r.CloseWithError(err) // it returns none; the writer ends
	if failed := <-written; err == nil {
		err = failed
	}
	return h, err
}
