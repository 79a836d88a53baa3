// Package sqlite keeps the read models: one SQLite file a generation, with one writing
// connection for the projector and a pool of read-only ones for everybody else.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
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
}

// At is the position readers are told: the checkpoint's event, with its last change where it
// made one.
func (c Checkpoint) At() fanfold.Position {
	return max(c.Position, fanfold.At(c.Seq, 0))
}

// DB is one generation of the read model. Update is for one goroutine; reads are for any.
type DB struct {
	path            string
	number          int // of the generation
	writer          *conn
	readers         chan *conn
	size            int
	tx              *Tx
	walCheckpointer walCheckpointer
}

// readersPerCPU lets reads overlap where SQLite waits for the disk.
const readersPerCPU = 2

// openDB opens or makes the file at path. fail, for tests, is asked before every write.
func openDB(path string, fail func() error) (*DB, error) {
	if err := migrate(path); err != nil {
		return nil, err
	}
	db, err := writeDB(path, fail)
	if err != nil {
		return nil, err
	}
	if err := db.serve(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// buildDB opens a file that nobody reads before serve. Nothing protects it from a crash or a
// rollback until then: who builds it begins anew after either.
func buildDB(path string, fail func() error) (*DB, error) {
	if err := migrate(path); err != nil {
		return nil, err
	}
	return unsafeDB(path, fail)
}

// unsafeDB is buildDB of a file that has the schema.
func unsafeDB(path string, fail func() error) (*DB, error) {
	return writeDB(path, fail, "synchronous=OFF", "journal_mode=OFF")
}

// writeDB opens a file with its writing connection only.
func writeDB(path string, fail func() error, pragmas ...string) (*DB, error) {
	writer, err := openWriter(path, fail, pragmas...)
	if err != nil {
		return nil, err
	}
	db := &DB{path: path, writer: writer, readers: make(chan *conn, readersPerCPU*max(2, runtime.GOMAXPROCS(0)))}
	if err := db.prepareTemp(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func openWriter(path string, fail func() error, pragmas ...string) (*conn, error) {
	c, err := openConn(dsn(path, "rwc"), append(pragmas, "busy_timeout=10000", "temp_store=FILE", "cache_size=-32768")...)
	if err != nil {
		return nil, failure(err)
	}
	c.fail = fail
	return c, nil
}

// renew opens the writing connection anew, which gives the space of its temporary tables back.
func (db *DB) renew() error {
	c, err := openWriter(db.path, db.writer.fail)
	if err != nil {
		return err
	}
	old := db.writer
	db.writer = c
	return errors.Join(old.close(), db.prepareTemp())
}

// pragmas sets several, one after the other.
func (db *DB) pragmas(list ...string) error {
	for _, p := range list {
		if _, err := db.writer.raw.Exec("PRAGMA "+p, nil); err != nil {
			return failure(err)
		}
	}
	return nil
}

// seal brings a file that buildDB made to the disk. SQLite does it, by a checkpoint of a small
// write: a descriptor of our own would, when closed, take away every lock this process has on
// the file (SQLite documentation, How To Corrupt, 2.2).
func (db *DB) seal() error {
	return db.pragmas("journal_mode=WAL", "synchronous=FULL", "user_version=1", "main.wal_checkpoint(TRUNCATE)")
}

// serve opens the file to readers. From here on a power loss takes the last transactions at
// most, and never consistency: that is what synchronous=NORMAL gives in WAL mode (SQLite
// documentation, PRAGMA synchronous).
func (db *DB) serve() error {
	if err := db.pragmas("journal_mode=WAL", "synchronous=NORMAL", "wal_autocheckpoint=0", "journal_size_limit=67108864"); err != nil {
		return err
	}
	if err := db.walCheckpointer.open(db.path); err != nil {
		return err
	}
	for db.size < cap(db.readers) {
		c, err := openConn(dsn(db.path, "rw"), "query_only=ON", "cache_size=-4096", "busy_timeout=10000", "mmap_size=268435456")
		if err != nil {
			return failure(err)
		}
		db.readers <- c
		db.size++
	}
	return nil
}

func dsn(path, mode string) string {
	return "file:" + url.PathEscape(path) + "?mode=" + mode + "&_mutex=no"
}

func migrate(path string) error {
	db, err := sql.Open("sqlite3", dsn(path, "rwc")+"&_busy_timeout=10000")
	if err != nil {
		return failure(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, migrations.FS, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if _, err := p.Up(context.Background()); err != nil {
		return errors.Join(fmt.Errorf("cannot bring %s to this version's schema: %w", path, failure(err)), db.Close())
	}
	return db.Close()
}

// Path is the file's path.
func (db *DB) Path() string { return db.path }

// Close waits for running reads and closes every connection.
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
	return errors.Join(append(errs, db.walCheckpointer.close(), db.writer.close())...)
}

// remove deletes the closed file.
func (db *DB) remove() error { return removeFiles(db.path) }

func removeFiles(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Update runs fn in one write transaction: committed if it returns nil, rolled back if it
// returns an error or panics.
func (db *DB) Update(fn func(tx *Tx) error) (err error) {
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
	tx := db.tx
	if err := tx.begin(); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.flush(); err != nil {
		return err
	}
	return db.writer.exec("COMMIT")
}

// rollback ends the transaction; SQLite may have done so itself (a full disk, for one).
func (db *DB) rollback() error {
	db.tx.loaded = false
	if db.writer.raw.AutoCommit() {
		return nil
	}
	_, err := db.writer.raw.Exec("ROLLBACK", nil)
	return err
}
