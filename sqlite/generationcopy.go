package sqlite

import (
	"context"
	"errors"
)

// copyPages is the number of pages that are copied at a time.
const copyPages = 4096 // copied at a time

// Copy returns a copy of the current generation, made beside it while reads and writes go on. It
// calls progress with the number of pages copied and of all pages. It blocks until the copy is
// complete or ctx has ended. The caller passes the copy to Swap or Discard.
func (s *Store) Copy(ctx context.Context, progress func(done, total int64)) (db *DB, err error) {
	n, err := s.reserveNumber()
	if err != nil {
		return nil, err
	}
	path := s.filePath(n)
	defer func() {
		if err != nil {
			err = errors.Join(err, removeFiles(path))
			s.releaseNumber(n)
		}
	}()
	var src *conn
	if err := s.Use(func(current *DB) error { src, _, err = openSnapshot(current.path); return err }); err != nil {
		return nil, err
	}
	if err := errors.Join(copyTo(ctx, src, path, progress), src.close()); err != nil {
		return nil, err
	}
	if db, err = openUnprotected(path, s.opt); err != nil {
		return nil, err
	}
	db.number = n
	for _, q := range []string{
		"CREATE TEMP TABLE touched (number INTEGER PRIMARY KEY)",
		"CREATE TEMP TABLE prepared (number INTEGER PRIMARY KEY, prior INTEGER NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL, rules TEXT NOT NULL, patch TEXT NOT NULL, delta TEXT NOT NULL, omitted TEXT, previous TEXT, previous_source ANY, frame INTEGER)",
		"CREATE TEMP TABLE unique_candidate (collection TEXT NOT NULL, path TEXT NOT NULL, value TEXT NOT NULL, holder INTEGER NOT NULL, PRIMARY KEY (collection, path, value, holder)) WITHOUT ROWID",
	} {
		if err := db.writer.exec(q); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// copyTo copies a snapshot into a new file.
func copyTo(ctx context.Context, src *conn, to string, progress func(done, total int64)) (err error) {
	dst, err := openConn(dsn(to, "rwc"), "synchronous=OFF")
	if err != nil {
		return translateError(err)
	}
	defer func() { err = errors.Join(err, dst.close()) }()
	b, err := dst.raw.Backup("main", src.raw, "main")
	if err != nil {
		return translateError(err)
	}
	for done := false; !done && err == nil; {
		if done, err = b.Step(copyPages); err == nil {
			progress(int64(b.PageCount()-b.Remaining()), int64(b.PageCount()))
			err = ctx.Err()
		}
	}
	return errors.Join(translateError(err), b.Finish())
}

// SyncFile brings what was written so far to the disk, so that Swap has less to do. It is for a
// generation that Build or Copy made.
func (db *DB) SyncFile() error {
	return errors.Join(db.syncToDisk(), db.pragmas("journal_mode=OFF", "synchronous=OFF"))
}

// ReadUnshared runs fn on a snapshot of a generation that Build or Copy made and nobody else reads.
func (db *DB) ReadUnshared(fn func(s *Snapshot) error) error { return readSnapshot(db.writer, fn) }
