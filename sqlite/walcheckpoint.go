package sqlite

import (
	"errors"
	"time"
)

// When CheckpointWAL does something, in statements that wrote. A pass waits for the disk, and whoever else waits for it
// waits longer meanwhile: so passes are small while there is time between them.
const (
	fewWrites    = 1_000  // a pass begins in the background, if the last one ended long ago
	manyWrites   = 10_000 // it begins at once
	finishWrites = 20_000 // SQLite is to begin the WAL anew, once there is little left to move
	mustWrites   = 60_000 // it is to begin anew at once: it has grown long

	passPause     = 100 * time.Millisecond // between two small passes
	truncateAgain = 10 * time.Second       // until the file is truncated again where readers kept it from that

	// keptWAL is how many bytes of the file are left to be written again, until nothing is written for a while: to lengthen it
	// again and again costs a tenth of an import into a large store.
	keptWAL = 128 << 20

	// waitForReaders is how long the WAL does not begin anew because of readers that began before: some read all the time
	// while much is written, such as an import, but each briefly.
	waitForReaders = "busy_timeout=10"
)

// walCheckpointer moves SQLite's WAL into the file on connections of its own while the writer goes on, because most of that
// time is spent waiting for the disk.
type walCheckpointer struct {
	conn      *conn
	held      *conn         // keeps a pass from moving more than what was noted before it
	busy      chan struct{} // has an element while a pass is under way
	lastErr   error         // of the last pass; read and written by whoever has put the element into busy
	lastEnded time.Time     // the same: when the last pass ended
	unmoved   int           // writes that no pass has looked at yet
	moved     int           // writes that passes have looked at since the WAL began anew
	left      bool          // the file is as long as it was when the WAL began anew, or as readers kept it
	notBefore time.Time     // RestWAL does nothing until then
}

// open opens the connections to the file at path.
func (w *walCheckpointer) open(path string) (err error) {
	w.busy = make(chan struct{}, 1)
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

// pass moves the WAL into the file up to the last transaction there is, after note was called with its last event.
func (w *walCheckpointer) pass(note func(seq uint64) error) error {
	return readSnapshot(w.held, func(s *Snapshot) error {
		if note != nil {
			if err := note(s.Checkpoint.Seq); err != nil {
				return err
			}
		}
		_, err := w.conn.raw.Exec("PRAGMA main.wal_checkpoint(PASSIVE)", nil)
		return translateError(err)
	})
}

// close waits for the pass that is under way and closes the connections.
func (w *walCheckpointer) close() error {
	if w.busy != nil {
		w.busy <- struct{}{} // what the pass did not move is moved when the file is opened again
	}
	var errs []error
	for _, c := range []*conn{w.conn, w.held} {
		if c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}

// noteMove calls beforeMove with the last event that is folded.
func (db *DB) noteMove() error {
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
// by a later call.
func (db *DB) CheckpointWAL() error {
	w, writes := &db.walCheckpointer, db.writer.writes
	if writes == 0 {
		return nil
	}
	db.writer.writes = 0
	w.unmoved += writes
	if w.unmoved < fewWrites && w.moved < finishWrites {
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
	case w.moved >= finishWrites && w.unmoved < fewWrites:
		return errors.Join(err, db.finishWAL("PASSIVE", "busy_timeout=0"))
	case w.unmoved >= manyWrites || w.unmoved >= fewWrites && time.Since(w.lastEnded) >= passPause:
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
	if err = errors.Join(err, db.pragmas("busy_timeout=10000")); err != nil {
		return err
	}
	w.moved, w.unmoved, w.left = 0, 0, readers || mode != "TRUNCATE"
	return nil
}
