package sqlite

import (
	"context"
	"errors"
)

const copyPages = 4096 // copied at a time

// Copy makes a copy of the current generation beside it; progress is told how many of its pages there
// are. Reads and writes go on meanwhile. Pass it to Swap or Discard.
func (s *Store) Copy(ctx context.Context, progress func(done, total int64)) (db *DB, err error) {
	n, err := s.begin()
	if err != nil {
		return nil, err
	}
	path := s.file(n)
	defer func() {
		if err != nil {
			err = errors.Join(err, removeFiles(path))
			s.release(&DB{number: n})
		}
	}()
	var src *conn
	if err := s.Use(func(current *DB) error { src, _, err = openSnapshot(current.path); return err }); err != nil {
		return nil, err
	}
	if err := errors.Join(copyTo(ctx, src, path, progress), src.close()); err != nil {
		return nil, err
	}
	if db, err = unsafeDB(path, s.opt.FailWrite); err != nil {
		return nil, err
	}
	db.number = n
	for _, q := range []string{
		"CREATE TEMP TABLE touched (number INTEGER PRIMARY KEY)",
		"CREATE TEMP TABLE prepared (number INTEGER PRIMARY KEY, prior INTEGER NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL, rules TEXT NOT NULL, delta TEXT NOT NULL)",
		"CREATE TEMP TABLE had (collection TEXT NOT NULL, path TEXT NOT NULL, value TEXT NOT NULL, holder INTEGER NOT NULL, PRIMARY KEY (collection, path, value, holder)) WITHOUT ROWID",
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
		return failure(err)
	}
	defer func() { err = errors.Join(err, dst.close()) }()
	b, err := dst.raw.Backup("main", src.raw, "main")
	if err != nil {
		return failure(err)
	}
	for done := false; !done && err == nil; {
		if done, err = b.Step(copyPages); err == nil {
			progress(int64(b.PageCount()-b.Remaining()), int64(b.PageCount()))
			err = ctx.Err()
		}
	}
	return errors.Join(failure(err), b.Finish())
}

// SyncFile brings what was written so far to the disk, so that less is left for Swap to do.
func (db *DB) SyncFile() error {
	return errors.Join(db.seal(), db.pragmas("journal_mode=OFF", "synchronous=OFF"))
}

// ReadUnshared is Read for a generation that nobody else reads.
func (db *DB) ReadUnshared(fn func(s *Snapshot) error) error { return snapshot(db.writer, fn) }
