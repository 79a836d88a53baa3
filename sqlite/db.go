// Package sqlite keeps the read models: one SQLite file a generation, with one writing
// connection for the projector and a pool of read-only ones for everybody else.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/migrations"
)

// Checkpoint says which prefix of the log a read model shows.
type Checkpoint struct {
	Seq      uint64           // the last event folded
	Position fanfold.Position // the last change at or before it
	Time     time.Time        // running maximum of the log's timestamps
	Changes  int64            // how many changes there are
	Fold     string           // fingerprint of the fold that made it
	Event    fanfold.Digest   // of the last event folded
	Digest   fanfold.Digest   // of all events folded
}

// At returns the position that readers are told: that of the last change, or of the last event
// where it came later and changed nothing.
func (c Checkpoint) At() fanfold.Position {
	return max(c.Position, fanfold.At(c.Seq, 0))
}

// DB is one generation of the read model, which is one SQLite file. Update is for one goroutine at
// a time, reads are for any number.
type DB struct {
	path            string
	opt             Options
	number          int // of the generation
	writer          *conn
	readers         chan *conn // those that are not in use
	size            int        // how many readers there are
	tx              *Tx        // used again by every Update
	deferral        *deferral  // the same
	walCheckpointer walCheckpointer
	// beforeMove is called with the last event folded before the WAL is moved into the file; nil for nothing.
	beforeMove func(seq uint64) error
}

// readersPerCPU is more than 1 so that reads overlap where SQLite waits for the disk.
const readersPerCPU = 2

// openDB opens or makes the file at path and returns it open to readers. The caller closes it.
func openDB(path string, opt Options) (*DB, error) {
	if err := migrate(path); err != nil {
		return nil, err
	}
	db, err := openForWriting(path, opt)
	if err != nil {
		return nil, err
	}
	if err := db.openReaders(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// createUnprotected makes the schema in the file at path and returns it without readers. Until
// openReaders is called nothing protects the file from a crash or a rollback: after either, the
// caller discards the file and begins again.
func createUnprotected(path string, opt Options) (*DB, error) {
	if err := migrate(path); err != nil {
		return nil, err
	}
	return openUnprotected(path, opt)
}

// openUnprotected opens a file that has the schema, as createUnprotected does.
func openUnprotected(path string, opt Options) (*DB, error) {
	return openForWriting(path, opt, "synchronous=OFF", "journal_mode=OFF")
}

// openForWriting opens a file with its writing connection only.
func openForWriting(path string, opt Options, pragmas ...string) (*DB, error) {
	writer, err := openWriter(path, opt.FailWrite, pragmas...)
	if err != nil {
		return nil, err
	}
	db := &DB{path: path, opt: opt, writer: writer, deferral: newDeferral(opt.FailWrite), readers: make(chan *conn, readersPerCPU*max(2, runtime.GOMAXPROCS(0)))}
	if err := db.createTempTables(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// openWriter opens a writing connection and sets pragmas on it.
func openWriter(path string, failWrite func() error, pragmas ...string) (*conn, error) {
	c, err := openConn(dsn(path, "rwc"), append(pragmas, "busy_timeout=10000", "temp_store=FILE", "cache_size=-32768")...)
	if err != nil {
		return nil, translateError(err)
	}
	c.runner.failWrite = failWrite
	return c, nil
}

// reopenWriter replaces the writing connection by a new one, which gives back the space of its
// temporary tables.
func (db *DB) reopenWriter() error {
	c, err := openWriter(db.path, db.writer.runner.failWrite)
	if err != nil {
		return err
	}
	old := db.writer
	db.writer = c
	return errors.Join(old.close(), db.createTempTables())
}

// pragmas sets several pragmas on the writing connection, one after the other.
func (db *DB) pragmas(list ...string) error {
	for _, p := range list {
		if _, err := db.writer.raw.Exec("PRAGMA "+p, nil); err != nil {
			return translateError(err)
		}
	}
	return nil
}

// syncToDisk brings a file that createUnprotected made to the disk, and returns when it is there.
// SQLite itself does it, by a checkpoint of a small write: a file descriptor of our own would, when
// closed, take away every lock that this process has on the file (SQLite documentation, How To
// Corrupt, 2.2).
func (db *DB) syncToDisk() error {
	return db.pragmas("journal_mode=WAL", "synchronous=FULL", "user_version=1", "main.wal_checkpoint(TRUNCATE)")
}

// openReaders opens the file to readers. From here on a power loss takes the last transactions at
// most, and never consistency: that is what synchronous=NORMAL gives in WAL mode (SQLite
// documentation, PRAGMA synchronous).
func (db *DB) openReaders() error {
	if err := db.pragmas("journal_mode=WAL", "synchronous=NORMAL", "wal_autocheckpoint=0", "journal_size_limit="+strconv.Itoa(keptWAL)); err != nil {
		return err
	}
	if err := db.walCheckpointer.open(db.path); err != nil {
		return err
	}
	mapping := "mmap_size=" + strconv.FormatInt(cmp.Or(db.opt.Cache, DefaultCache), 10)
	for db.size < cap(db.readers) {
		c, err := openConn(dsn(db.path, "rw"), "query_only=ON", "cache_size=-4096", "busy_timeout=10000", mapping)
		if err != nil {
			return translateError(err)
		}
		db.readers <- c
		db.size++
	}
	return nil
}

// dsn returns the name under which the driver opens a file. mode is ro, rw or rwc.
func dsn(path, mode string) string {
	return "file:" + url.PathEscape(path) + "?mode=" + mode + "&_mutex=no"
}

// migrate brings the file at path to this version's schema, and makes it where there is none.
func migrate(path string) error {
	db, err := sql.Open("sqlite3", dsn(path, "rwc")+"&_busy_timeout=10000")
	if err != nil {
		return translateError(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, migrations.FS, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if _, err := p.Up(context.Background()); err != nil {
		return errors.Join(fmt.Errorf("cannot bring %s to this version's schema: %w", path, translateError(err)), db.Close())
	}
	return db.Close()
}

// Path returns the path of the file.
func (db *DB) Path() string { return db.path }

// Close waits for running reads, 30 seconds for each at most, and closes every connection.
func (db *DB) Close() error {
	var errs []error
	for range db.size {
		select {
		case c := <-db.readers:
			errs = append(errs, c.close())
		case <-time.After(30 * time.Second):
			return fmt.Errorf("a reader of %s did not end", db.path)
		}
	}
	return errors.Join(append(errs, db.walCheckpointer.close(db.writer))...)
}

// remove deletes the files of a closed generation.
func (db *DB) remove() error { return removeFiles(db.path) }

// removeFiles deletes a database file and those that SQLite keeps beside it. A file that is not
// there is no error.
func removeFiles(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Update runs fn in one write transaction. It commits if fn returns nil, and rolls back if fn
// returns an error or panics. Errors are fn's, and Unavailable or Internal ones of the file.
func (db *DB) Update(fn func(tx *Tx) error) (err error) {
	if err := db.walCheckpointer.failure(); err != nil {
		return err
	}
	if err := db.writer.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			_ = db.rollback()
			panic(p)
		}
		if err != nil {
			err = errors.Join(err, db.rollback())
		}
	}()
	if err := db.write(fn); err != nil {
		return err
	}
	return db.writer.exec("COMMIT")
}

// write runs fn, and whatever it has put off, in the transaction that has begun.
func (db *DB) write(fn func(tx *Tx) error) error {
	tx := db.tx
	db.writer.deferred = db.deferral
	defer func() {
		db.deferral.discard()
		clear(tx.absent)
		db.writer.deferred, tx.mayCommit = nil, nil
	}()
	if err := tx.load(); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.flush(); err != nil {
		return err
	}
	if err := db.deferral.settle(); err != nil {
		return err
	}
	if tx.mayCommit != nil {
		return tx.mayCommit()
	}
	return nil
}

// rollback ends the transaction, unless SQLite has done so itself, as it does for a full disk.
func (db *DB) rollback() error {
	db.tx.loaded = false
	if db.writer.raw.AutoCommit() {
		return nil
	}
	_, err := db.writer.raw.Exec("ROLLBACK", nil)
	return err
}
