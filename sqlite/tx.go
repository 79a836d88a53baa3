package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/fanfold/fanfold"
)

// sqlValue is a value that SQLite stores or returns.
type sqlValue = driver.Value

// Tx is what the fold may do within one write transaction. It reads its own writes. It is valid
// within DB.Update only.
type Tx struct {
	c                 *conn
	checkpoint        Checkpoint
	loaded            bool // checkpoint and mayHaveTombstones are as the file has them
	mayHaveTombstones bool
	before            beforeImages
	cache             rowCache
	absent            absentKeys
	argBuffer         []sqlValue // used again and again
	unwritten         unwrittenRows
	counts            map[string]int64 // documents more in each collection that is yet to be written
	unwrittenDerived  []sqlValue       // derived changes yet to be written
	unwrittenBytes    int              // of their deltas
	forms             map[string]int64 // numbers of forms that are in the file
	formKey           []byte           // used again and again
	splitter          splitter
	insertTexts       map[insertText]string
	chains            map[fanfold.Position]chainEnd // of documents whose next derived change may be stored behind the last one
	over              *overlay                      // of a rehearsal, which writes nothing to the file; nil otherwise
	mayCommit         func() error
}

// BeforeCommit makes DB.Update call fn once everything is written, and roll back where fn returns an error. nil is for
// nothing.
func (tx *Tx) BeforeCommit(fn func() error) { tx.mayCommit = fn }

// createTempTables makes the temporary tables of the writing connection, and the transaction that
// works on it.
func (db *DB) createTempTables() error {
	db.tx = &Tx{c: db.writer}
	db.writer.before = db.tx.beforeStatement
	return errors.Join(db.writer.exec("CREATE TEMP TABLE before (number INTEGER PRIMARY KEY, body TEXT NOT NULL)"),
		db.writer.exec("CREATE TEMP TABLE new_position (number INTEGER PRIMARY KEY, position INTEGER NOT NULL)"))
}

// load reads the checkpoint, and whether there are tombstones, at the beginning of a transaction.
// It reads them once for each connection and after each rollback, because nobody else writes to the
// file.
func (tx *Tx) load() error {
	if tx.loaded {
		return nil
	}
	cp, err := readCheckpoint(tx.c)
	if err != nil {
		return err
	}
	tx.checkpoint, tx.before, tx.unwrittenDerived = cp, beforeImages{}, tx.unwrittenDerived[:0]
	tx.unwrittenBytes, tx.forms, tx.chains, tx.counts = 0, nil, nil, map[string]int64{}
	tx.unwritten.clear()
	tx.cache.clear()
	tx.mayHaveTombstones, err = tx.c.queryRow("SELECT 1 FROM tombstone LIMIT 1", func([]sqlValue) {})
	tx.loaded = err == nil
	return err
}

// checkpointSQL reads the row for scanCheckpoint.
const checkpointSQL = "SELECT seq, position, time, changes, fold, event, digest FROM checkpoint WHERE id = 1"

// readCheckpoint returns the checkpoint, the zero value for a file without one.
func readCheckpoint(c *conn) (cp Checkpoint, err error) {
	_, err = c.queryRow(checkpointSQL, func(r []sqlValue) { cp = scanCheckpoint(r) })
	return cp, err
}

// scanCheckpoint returns the checkpoint in a row of checkpointSQL.
func scanCheckpoint(r []sqlValue) Checkpoint {
	return Checkpoint{Seq: uint64(intOf(r[0])), Position: fanfold.Position(intOf(r[1])),
		Time: timeOf(r[2]), Changes: intOf(r[3]), Fold: textOf(r[4]), Event: digestOf(r[5]), Digest: digestOf(r[6])}
}

// digestOf returns the digest in a blob, the zero value where it is none.
func digestOf(v sqlValue) (d fanfold.Digest) {
	copy(d[:], blobOf(v))
	return d
}

// timeOf returns the time in a column of nanoseconds since 1970.
func timeOf(v sqlValue) time.Time { return time.Unix(0, intOf(v)).UTC() }

// EndWith makes every statement end with ctx's error once ctx has ended, until restore is called.
func (tx *Tx) EndWith(ctx context.Context) (restore func()) {
	before := tx.c.ctx
	tx.c.ctx = ctx
	return func() { tx.c.ctx = before }
}

// Checkpoint returns where the transaction stands, its own writes included.
func (tx *Tx) Checkpoint() Checkpoint { return tx.checkpoint }

// SetCheckpoint records that the event at seq is folded; it is written at the transaction's end.
// The checkpoint's time never decreases.
func (tx *Tx) SetCheckpoint(seq uint64, now time.Time, fold string) {
	tx.checkpoint.Seq, tx.checkpoint.Fold = seq, fold
	if now.After(tx.checkpoint.Time) {
		tx.checkpoint.Time = now
	}
}

// digestEvery is the distance of the events at which the chain of digests is stored.
const digestEvery = 256

// AddDigest extends the digest of all events folded by that of the event at seq, which is the next one.
func (tx *Tx) AddDigest(seq uint64, event fanfold.Digest) error {
	cp := &tx.checkpoint
	cp.Event, cp.Digest = event, cp.Digest.Followed(event)
	if seq%digestEvery != 0 {
		return nil
	}
	return tx.c.exec("INSERT INTO log_digest (seq, digest) VALUES (?, ?)", int64(seq), cp.Digest[:])
}

// flush writes what the transaction has put off: the row cache, derived changes, rows kept back, the collections' counts and the checkpoint.
func (tx *Tx) flush() error {
	if err := tx.flushCache(); err != nil {
		return err
	}
	if err := errors.Join(tx.flushDerived(), tx.writeRows(allTables), tx.writeCounts()); err != nil {
		return err
	}
	cp := tx.checkpoint
	return tx.c.exec(`INSERT INTO checkpoint (id, seq, position, time, changes, fold, event, digest) VALUES (1, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, position = excluded.position, time = excluded.time,
		changes = excluded.changes, fold = excluded.fold, event = excluded.event, digest = excluded.digest`,
		int64(cp.Seq), int64(cp.Position), cp.Time.UnixNano(), cp.Changes, cp.Fold, cp.Event[:], cp.Digest[:])
}
