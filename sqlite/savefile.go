package sqlite

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Save copies the current generation into a new file at path, while reads and writes go on, and returns the copy's
// checkpoint. SQLite cannot reuse its WAL meanwhile. It blocks until the copy is complete, or ctx has ended. The caller
// removes the file, also where there is an error.
func (s *Store) Save(ctx context.Context, path string) (cp Checkpoint, err error) {
	if err := driver.Remove(path); err != nil {
		return cp, err
	}
	var src *driver.Conn
	if err := s.Use(func(current *DB) error { src, cp, err = openSnapshot(current.Path()); return err }); err != nil {
		return cp, err
	}
	return cp, errors.Join(src.CopyTo(ctx, path, func(int64, int64) {}), src.Close())
}

// RemoveSaved removes a file that Save made, and what SQLite may have left beside it.
func RemoveSaved(path string) error { return driver.Remove(path) }

// Restore makes a copy that Save made the current generation: fill writes its bytes. It checks that the file is sound and
// ends at the event want.Seq, with want.Digest as the digest of all events up to it, folded by the store's fold. Errors are
// fill's, and Unavailable or Internal for a file that is not what it should be; the current generation is as before then.
func (s *Store) Restore(want Checkpoint, fill func(w io.Writer) error) error {
	n, err := s.reserveNumber()
	if err != nil {
		return err
	}
	path := s.filePath(n)
	db, err := s.openFilled(path, fill)
	if err != nil {
		s.releaseNumber(n)
		return errors.Join(err, driver.Remove(path))
	}
	db.number = n
	if err := s.checkRestored(db, want); err != nil {
		return errors.Join(err, s.Discard(db))
	}
	if err := s.Swap(db); err != nil {
		return err
	}
	s.Applied.Set(want.Seq)
	return nil
}

// openFilled has a file filled, and opens it as Build does. Nothing may be open where there is an error.
func (s *Store) openFilled(path string, fill func(w io.Writer) error) (*DB, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot write %s: %v", path, err)
	}
	if err := errors.Join(fill(f), f.Close()); err != nil {
		return nil, err
	}
	return openUnprotected(path, s.opt)
}

// checkRestored returns why a file that was filled cannot be used, nil where it can.
func (s *Store) checkRestored(db *DB, want Checkpoint) error {
	found := ""
	if _, err := db.file.Writer.QueryRow("PRAGMA quick_check(1)", func(r driver.Row) { found = r.Text(0) }); err != nil {
		return err
	}
	if found != "ok" {
		return fanfold.Errorf(fanfold.Internal, "the copy of the read model is damaged: %s", found)
	}
	return db.ReadUnshared(func(snap *Snapshot) error {
		if cp := snap.Checkpoint; cp.Seq != want.Seq || cp.Digest != want.Digest || cp.Event != want.Event || cp.AsOf != want.AsOf || cp.Fold != s.opt.Fingerprint {
			return fanfold.Errorf(fanfold.Internal, "the copy of the read model is not what it is said to be: it ends at event %d, folded by %q as of erasure %d, and should end at %d, folded by %q as of erasure %d", cp.Seq, cp.Fold, cp.AsOf, want.Seq, s.opt.Fingerprint, want.AsOf)
		}
		return nil
	})
}
