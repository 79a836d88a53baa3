// Package sqlite keeps the read models: one SQLite file a generation, with one writing
// connection for the projector and a pool of read-only ones for everybody else.
package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/migrations"
	"github.com/fanfold/fanfold/sqlite/driver"
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
	AsOf     fanfold.AsOf     // which lists of the log it was made with
}

// At returns the position that readers are told: the last change's, or the last event's if it came later and changed
// nothing.
func (c Checkpoint) At() fanfold.Position {
	return max(c.Position, fanfold.At(c.Seq, 0))
}

// DB is one generation of the read model, which is one SQLite file. Update is for one goroutine at
// a time, reads are for any number.
type DB struct {
	file   *driver.File
	opt    Options
	number int    // of the generation
	left   ending // how the original of this copy was left; see Store
	tx     *Tx    // used again by every Update

	indexes indexCache
}

// openDB opens or makes the file at path and returns it open to readers. The caller closes it.
func openDB(path string, opt Options) (*DB, error) {
	if err := makeSchema(path); err != nil {
		return nil, err
	}
	db, err := openForWriting(path, opt, driver.Options{FailWrite: opt.FailWrite})
	if err != nil {
		return nil, err
	}
	if err := db.openReaders(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// openUnprotected opens a file that has the schema, without readers. Until openReaders is called nothing protects the file from a crash or
// a rollback: after either, the caller discards the file and begins again.
func openUnprotected(path string, opt Options) (*DB, error) {
	return openForWriting(path, opt, driver.Options{FailWrite: opt.FailWrite, Unprotected: true})
}

// openForWriting opens a file with its writing connection only.
func openForWriting(path string, opt Options, fileOpt driver.Options) (*DB, error) {
	file, err := driver.OpenFile(path, fileOpt)
	if err != nil {
		return nil, err
	}
	db := &DB{file: file, opt: opt}
	if err := db.beginTx(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// openReaders opens the file to readers.
func (db *DB) openReaders() error { return db.file.OpenReaders(cmp.Or(db.opt.Cache, DefaultCache)) }

// noteMoves makes the WAL call note before it is moved into the file, with the last event folded. If the file could not be
// brought to the disk, note gets a greater one than any file has.
func (db *DB) noteMoves(note func(seq uint64) error) {
	db.file.WAL.NoteMove = func(c *driver.Conn) error {
		cp, err := readCheckpoint(c)
		if err != nil {
			return err
		}
		return note(cp.Seq)
	}
	db.file.WAL.NoteFailedSync = func() error { return note(math.MaxUint64) }
}

// errOtherSchema is the error of a file whose tables are not this program's.
var errOtherSchema = errors.New("its tables are those of another version")

// makeSchema makes the tables in the file at path where it has none. The error wraps errOtherSchema for a file with other tables.
func makeSchema(path string) error {
	db, err := driver.OpenSQL(path)
	if err != nil {
		return err
	}
	var version, tables int
	err = db.QueryRow("SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version").Scan(&version, &tables)
	if err == nil && tables == 0 {
		version = migrations.Version
		_, err = db.Exec(fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA user_version = %d; COMMIT", migrations.Schema, version))
	}
	if err == nil && version != migrations.Version {
		err = errOtherSchema
	}
	if err != nil {
		err = fmt.Errorf("%s: schema %d: %w", path, migrations.Version, driver.Translate(err))
	}
	return errors.Join(err, db.Close())
}

// Path returns the path of the file.
func (db *DB) Path() string { return db.file.Path() }

// Close waits for running reads, 30 seconds for each at most, and closes every connection.
func (db *DB) Close() error { return db.file.Close() }

// remove deletes the files of a closed generation.
func (db *DB) remove() error { return driver.Remove(db.file.Path()) }

// CheckpointWAL moves SQLite's WAL into the file if enough was written, most of it in the background. It is called between
// transactions, by the goroutine that calls Update. An error of the background is returned by a later call; after a sync that
// failed every call returns that error.
func (db *DB) CheckpointWAL() error { return db.file.WAL.Checkpoint() }

// Truncation says how far TruncateWAL has come.
type Truncation = driver.Truncation

// The results of TruncateWAL.
const (
	Truncated = driver.Truncated
	Moving    = driver.Moving
	Held      = driver.Held
)

// TruncateWAL empties SQLite's WAL and gives its space back, as driver.WAL.Truncate does. It is called like CheckpointWAL, when nothing
// more is written for now.
func (db *DB) TruncateWAL() (Truncation, error) { return db.file.WAL.Truncate() }

// AwaitWALPass waits until no part of SQLite's WAL is being moved into the file in the background. Any goroutine may call it.
func (db *DB) AwaitWALPass() { db.file.WAL.AwaitPass() }

// Update runs fn in one write transaction. It commits if fn returns nil, and rolls back if fn
// returns an error or panics. Errors are fn's, and Unavailable or Internal ones of the file.
func (db *DB) Update(fn func(tx *Tx) error) error {
	committed := false
	defer func() { db.tx.loaded = committed }()
	err := db.file.Update(func() error { return db.tx.run(fn) })
	committed = err == nil
	return err
}
