package sqlite

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// Copy returns a copy of the current generation, made beside it while reads and writes go on. It
// calls progress with the number of pages copied and of all pages. It blocks until the copy is
// complete or ctx has ended. A copy of one in doubt is in doubt. The caller passes the copy to Swap or Discard.
func (s *Store) Copy(ctx context.Context, progress func(done, total int64)) (db *DB, err error) {
	s.Hashing.wait(ctx)
	n, err := s.reserveNumber()
	if err != nil {
		return nil, err
	}
	path := s.filePath(n)
	defer func() {
		if err != nil {
			err = errors.Join(err, driver.Remove(path))
			s.releaseNumber(n)
		}
	}()
	var src *driver.Conn
	var left ending
	if err := s.Use(func(current *DB) error { left = s.left.get(); src, _, err = openSnapshot(current.Path()); return err }); err != nil {
		return nil, err
	}
	if err := errors.Join(src.CopyTo(ctx, path, progress), src.Close()); err != nil {
		return nil, err
	}
	if db, err = openUnprotected(path, s.opt); err != nil {
		return nil, err
	}
	db.number, db.left = n, left
	for _, q := range []string{
		"CREATE TEMP TABLE touched (number INTEGER PRIMARY KEY)",
		"CREATE TEMP TABLE prepared (number INTEGER PRIMARY KEY, prior INTEGER NOT NULL, revision INTEGER NOT NULL, rules TEXT NOT NULL, patch TEXT NOT NULL, delta BLOB NOT NULL, omitted TEXT, previous TEXT, previous_source ANY)",
		"CREATE TEMP TABLE unique_candidate (collection TEXT NOT NULL, path TEXT NOT NULL, value TEXT NOT NULL, holder INTEGER NOT NULL, PRIMARY KEY (collection, path, value, holder)) WITHOUT ROWID",
	} {
		if err := db.file.Writer.Exec(q); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// SyncFile brings what was written so far to the disk, so that Swap has less to do. It is for a
// generation that Build or Copy made.
func (db *DB) SyncFile() error {
	return errors.Join(db.file.SyncToDisk(), db.file.Unprotect())
}

// ReadUnshared runs fn on a snapshot of a generation that Build or Copy made and nobody else reads.
func (db *DB) ReadUnshared(fn func(s *Snapshot) error) error {
	return readSnapshot(db.file.Writer, &db.indexes, fn)
}
