package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Tx is what the fold may do within one write transaction. It reads its own writes. It is valid
// within DB.Update only.
type Tx struct {
	c          *driver.Conn
	checkpoint Checkpoint
	loaded     bool // the transaction begins with what the file has
	pending    *pending
	changes    changeWriter
	mayCommit  func() error

	Documents  Documents
	Before     BeforeImages
	Links      Links
	KeptValues KeptValues
	Aggregates Aggregates
	Uniques    Uniques
	Sequences  Sequences
	Indexes    Indexes
	Coming     Coming
}

// newTx returns a transaction whose rows are pending in p until they are written.
func newTx(c *driver.Conn, p *pending) *Tx {
	tx := &Tx{c: c, pending: p, Documents: newDocuments(p), Before: BeforeImages{p: p}, Links: Links{p: p}, Aggregates: Aggregates{p}, Uniques: Uniques{p}, Sequences: Sequences{p},
		Indexes: Indexes{p}}
	tx.KeptValues, tx.Coming = KeptValues{p, &tx.Links}, Coming{tx}
	return tx
}

// BeforeCommit makes DB.Update call fn once everything is written, and roll back where fn returns an error. nil is for
// nothing.
func (tx *Tx) BeforeCommit(fn func() error) { tx.mayCommit = fn }

// beginTx makes the temporary tables of the writing connection, and the transaction that
// works on it.
func (db *DB) beginTx() error {
	c := db.file.Writer
	db.tx = newTx(c, &pending{})
	c.Watch(pendingTables, db.tx.beforeStatement)
	return errors.Join(c.Exec("CREATE TEMP TABLE index_build (idx INTEGER NOT NULL, key BLOB NOT NULL, tie INTEGER NOT NULL)"),
		c.Exec("CREATE TEMP TABLE before (number INTEGER PRIMARY KEY, body TEXT NOT NULL)"),
		c.Exec("CREATE TEMP TABLE new_position (number INTEGER PRIMARY KEY, position INTEGER NOT NULL)"))
}

// run runs fn, and writes what it has put off, within a transaction of the file.
func (tx *Tx) run(fn func(tx *Tx) error) (err error) {
	defer func() {
		if tx.mayCommit = nil; err != nil {
			clear(tx.Documents.missing)
		}
	}()
	if err := tx.load(); err != nil {
		return err
	}
	tx.changes.begin = tx.checkpoint.Position
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.flush(); err != nil || tx.mayCommit == nil {
		return err
	}
	if err := tx.c.Settle(); err != nil {
		return err
	}
	return tx.mayCommit()
}

// beforeStatement makes the transaction ready for a statement that reads and writes tables whose rows it keeps back.
func (tx *Tx) beforeStatement(read, written driver.Tables) error {
	var err error
	switch {
	case written&documentTable != 0:
		err = tx.Documents.empty()
		clear(tx.Documents.missing)
	case read&documentTable != 0:
		err = tx.Documents.Write()
	}
	return errors.Join(err, tx.pending.beforeStatement(read, written))
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
	tx.checkpoint, tx.Before = cp, BeforeImages{p: tx.pending}
	tx.changes = changeWriter{c: tx.c}
	*tx.pending = newPending(tx.c)
	tx.Documents = newDocuments(tx.pending)
	tx.Documents.mayHaveTombstones, err = tx.c.Has("SELECT 1 FROM tombstone LIMIT 1")
	tx.loaded = err == nil
	return err
}

const checkpointColumns = "seq, position, time, changes, fold, event, digest, erasure"

// checkpointSQL reads the row for scanCheckpoint.
const checkpointSQL = "SELECT " + checkpointColumns + " FROM checkpoint WHERE id = 1"

// readCheckpoint returns the checkpoint, the zero value for a file without one.
func readCheckpoint(c *driver.Conn) (cp Checkpoint, err error) {
	_, err = c.QueryRow(checkpointSQL, func(r driver.Row) { cp = scanCheckpoint(r) })
	return cp, err
}

// scanCheckpoint returns the checkpoint in a row of checkpointSQL.
func scanCheckpoint(r driver.Row) Checkpoint {
	if r.Int(0) == 0 { // nothing is folded yet
		return Checkpoint{AsOf: fanfold.AsOf(r.Int(7))}
	}
	return Checkpoint{Seq: uint64(r.Int(0)), Position: fanfold.Position(r.Int(1)),
		Time: timeOf(r.Int(2)), Changes: r.Int(3), Fold: r.Text(4), Event: digestOf(r.Blob(5)), Digest: digestOf(r.Blob(6)), AsOf: fanfold.AsOf(r.Int(7))}
}

// digestOf returns the digest in a blob, the zero value where it is none.
func digestOf(blob []byte) (d fanfold.Digest) {
	copy(d[:], blob)
	return d
}

// timeOf returns the time of nanoseconds since 1970.
func timeOf(nanoseconds int64) time.Time { return time.Unix(0, nanoseconds).UTC() }

// EndWith makes every statement end with ctx's error once ctx has ended, until restore is called.
func (tx *Tx) EndWith(ctx context.Context) (restore func()) {
	return tx.c.EndWith(ctx)
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

// AddDigest extends the digest of all events folded by the digest of the event at seq, which is the next one.
func (tx *Tx) AddDigest(seq uint64, event fanfold.Digest) error {
	cp := &tx.checkpoint
	cp.Event, cp.Digest = event, cp.Digest.Followed(event)
	if seq%digestEvery != 0 {
		return nil
	}
	return tx.c.Exec("INSERT INTO log_digest (seq, digest) VALUES (?, ?)", int64(seq), cp.Digest[:])
}

// flush writes what the transaction has put off: the row cache, derived changes, pending rows, the collections' counts and the checkpoint.
func (tx *Tx) flush() error {
	if err := tx.Documents.Write(); err != nil {
		return err
	}
	if err := errors.Join(tx.changes.flush(), tx.pending.write(allTables), tx.Documents.counts.write(tx.c), tx.Indexes.writeCounts()); err != nil {
		return err
	}
	return writeCheckpoint(tx.c, tx.checkpoint)
}

// writeCheckpoint writes the row of table checkpoint.
func writeCheckpoint(c *driver.Conn, cp Checkpoint) error {
	return c.Exec(`INSERT INTO checkpoint (id, `+checkpointColumns+`) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, position = excluded.position, time = excluded.time,
		changes = excluded.changes, fold = excluded.fold, event = excluded.event, digest = excluded.digest, erasure = excluded.erasure`,
		int64(cp.Seq), int64(cp.Position), cp.Time.UnixNano(), cp.Changes, cp.Fold, cp.Event[:], cp.Digest[:], int64(cp.AsOf))
}
