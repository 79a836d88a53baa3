package sqlite

import (
	"errors"
	"math"
	"os"
	"sync/atomic"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"github.com/fanfold/fanfold"
)

// When CheckpointWAL does something, in statements that wrote. A pass waits for the disk, and whoever else waits for it
// waits longer meanwhile: so passes are small while there is time between them.
const (
	fewWrites    = 1_000  // a pass begins in the background, if the last one ended long ago
	manyWrites   = 10_000 // it begins at once
	finishWrites = 20_000 // SQLite is to begin the WAL anew, once there is little left to move: passes have no pause until then
	leftWrites   = 2_000  // are little
	mustWrites   = 60_000 // it is to begin anew at once: it has grown long

	passPause     = 100 * time.Millisecond // between two small passes
	truncateAgain = 10 * time.Second       // until the file is truncated again where readers kept it from that

	// keptWAL is how many bytes of the file are left to be written again, until nothing is written for a while: to lengthen it
	// again and again costs a tenth of an import into a large store.
	keptWAL = 256 << 20

	// waitForReaders is how long the WAL does not begin anew because of readers that began before: some read all the time
	// while much is written, such as an import, but each briefly.
	waitForReaders = "busy_timeout=10"
)

// walCheckpointer moves SQLite's WAL into the file on connections of its own while the writer goes on, because most of that
// time is spent waiting for the disk.
type walCheckpointer struct {
	conn      *conn
	held      *conn         // keeps a pass from moving more than what was noted before it
	file      *os.File      // to sync it; closed when no connection is open: to close it takes away the locks of all
	busy      chan struct{} // has an element while a pass is under way
	lastErr   error         // of the last pass; read and written by whoever has put the element into busy
	lastEnded time.Time     // the same: when the last pass ended
	unmoved   int           // writes that no pass has looked at yet
	moved     int           // writes that passes have looked at since the WAL began anew
	left      bool          // the file is as long as it was when the WAL began anew, or as readers kept it
	notBefore time.Time     // RestWAL does nothing until then

	failed atomic.Pointer[error] // of a sync
}

// open opens the connections to the file at path.
func (w *walCheckpointer) open(path string) (err error) {
	w.busy = make(chan struct{}, 1)
	if w.file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the read model's file cannot be opened: %v", err)
	}
	if w.conn, err = openConn(dsn(path, "rw"), "busy_timeout=0", "wal_autocheckpoint=0"); err == nil {
		w.held, err = openConn(dsn(path, "ro"))
	}
	return translateError(err)
}

// begin puts the element into busy and returns the last pass's error. ok is false while a pass is under way.
func (w *walCheckpointer) begin() (ok bool, err error) {
	select {
	case w.busy <- struct{}{}:
		err, w.lastErr = w.lastErr, nil
		return true, err
	default:
		return false, nil
	}
}

// pass moves the WAL into the file up to the last transaction there is, after note was called with its last event, and
// syncs the file: SQLite does so only in the pass that moves the rest, and the writer would wait for all pages then.
func (w *walCheckpointer) pass(note func(seq uint64) error) error {
	err := readSnapshot(w.held, func(s *Snapshot) error {
		if note != nil {
			if err := note(s.Checkpoint.Seq); err != nil {
				return err
			}
		}
		_, err := w.conn.raw.Exec("PRAGMA main.wal_checkpoint(PASSIVE)", nil)
		return translateError(w.checkSync(err, note))
	})
	if err != nil {
		return err
	}
	if err := w.file.Sync(); err != nil {
		return w.fail(err, note)
	}
	return nil
}

// checkSync returns the error of a checkpoint, that of fail where SQLite could not sync a file.
func (w *walCheckpointer) checkSync(err error, note func(seq uint64) error) error {
	var e sqlite3.Error
	if errors.As(err, &e) && e.ExtendedCode == sqlite3.ErrIoErrFsync {
		return w.fail(err, note)
	}
	return err
}

// fail makes every later transaction fail, and the next start build the file anew: after a sync that failed the system may
// have dropped what was written, and the next one would succeed all the same (PostgreSQL's wiki, Fsync Errors).
func (w *walCheckpointer) fail(err error, note func(seq uint64) error) error {
	err = fanfold.Wrap(err, fanfold.Unavailable, "the read model's file could not be brought to the disk: check the disk and start the node again, which builds the file anew from the log: %v", err)
	if note != nil {
		err = errors.Join(err, note(math.MaxUint64)) // more than any file has
	}
	w.failed.Store(&err)
	return err
}

// failure returns the error of the sync that failed, nil if none did.
func (w *walCheckpointer) failure() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// close waits for the pass that is under way and closes the connections, and that of the writer, before the file. It
// returns failure too.
func (w *walCheckpointer) close(writer *conn) error {
	if w.busy != nil {
		w.busy <- struct{}{} // what the pass did not move is moved when the file is opened again
	}
	errs := []error{w.failure()}
	for _, c := range []*conn{w.conn, w.held, writer} {
		if c != nil {
			errs = append(errs, c.close())
		}
	}
	if w.file != nil {
		errs = append(errs, w.file.Close())
	}
	return errors.Join(errs...)
}

// noteMove calls beforeMove with the last event that is folded, unless a sync failed.
func (db *DB) noteMove() error {
	if err := db.walCheckpointer.failure(); err != nil {
		return err
	}
	if db.beforeMove == nil {
		return nil
	}
	cp, err := readCheckpoint(db.writer)
	if err != nil {
		return err
	}
	return db.beforeMove(cp.Seq)
}

// CheckpointWAL moves SQLite's WAL into the file if enough was written since it last did, as far as
// readers allow; where the WAL has grown long it waits for them, a few milliseconds. It is called between transactions, by the goroutine
// that calls Update. Most of the work goes on after it returns; an error of that part is returned
// by a later call. After a sync that failed every call returns that error and does nothing.
func (db *DB) CheckpointWAL() error {
	w, writes := &db.walCheckpointer, db.writer.writes
	if err := w.failure(); err != nil || writes == 0 {
		return err
	}
	db.writer.writes = 0
	w.unmoved += writes
	finish := w.moved >= finishWrites
	if w.unmoved < fewWrites && !finish {
		return nil
	}
	if w.unmoved+w.moved >= mustWrites {
		w.busy <- struct{}{}
		err := w.lastErr
		w.lastErr = nil
		return errors.Join(err, db.finishWAL("RESTART", waitForReaders))
	}
	ok, err := w.begin()
	if !ok {
		return nil
	}
	switch {
	case finish && w.unmoved < leftWrites:
		return errors.Join(err, db.finishWAL("PASSIVE", "busy_timeout=0"))
	case finish || w.unmoved >= manyWrites || time.Since(w.lastEnded) >= passPause:
		db.startPass()
		return err
	}
	<-w.busy
	return err
}

// startPass moves what is in the WAL into the file in the background, and takes the element out of busy then.
func (db *DB) startPass() {
	w := &db.walCheckpointer
	w.moved, w.unmoved = w.moved+w.unmoved, 0
	go func() {
		w.lastErr = w.pass(db.beforeMove)
		w.lastEnded = time.Now()
		<-w.busy
	}()
}

// RestWAL empties SQLite's WAL and gives its space back. It is called like CheckpointWAL, when nothing was written for a
// while, and again after a while where it returns true: the most of it is moved in the background first. Few writes stay
// in the WAL.
func (db *DB) RestWAL() (again bool, err error) {
	w := &db.walCheckpointer
	if err := w.failure(); err != nil {
		return false, err
	}
	w.unmoved += db.writer.writes
	db.writer.writes = 0
	switch {
	case w.unmoved+w.moved < fewWrites && !w.left:
		return false, nil
	case time.Now().Before(w.notBefore):
		return true, nil
	}
	ok, err := w.begin()
	switch {
	case !ok:
		return true, nil
	case w.unmoved > 0:
		db.startPass()
		return true, err
	}
	err = errors.Join(err, db.finishWAL("TRUNCATE", waitForReaders))
	if w.left && err == nil {
		w.notBefore = time.Now().Add(truncateAgain)
	}
	return w.left, err
}

// finishWAL moves what is left of the WAL in a mode of SQLite's wal_checkpoint, so that SQLite begins it anew, and takes the
// element out of busy. wait says how long for readers.
func (db *DB) finishWAL(mode, wait string) error {
	w := &db.walCheckpointer
	defer func() { w.lastEnded = time.Now(); <-w.busy }()
	if err := db.noteMove(); err != nil {
		return err
	}
	if err := db.pragmas(wait); err != nil {
		return err
	}
	readers := false
	_, err := db.writer.queryRow("PRAGMA main.wal_checkpoint("+mode+")", func(r []sqlValue) { readers = intOf(r[0]) != 0 })
	err = w.checkSync(err, db.beforeMove)
	if err = errors.Join(err, db.pragmas("busy_timeout=10000")); err != nil {
		return err
	}
	w.moved, w.unmoved, w.left = 0, 0, readers || mode != "TRUNCATE"
	return nil
}
