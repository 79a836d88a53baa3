package driver

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
)

// When Checkpoint does something, in statements that wrote. A pass waits for the disk, and whoever else waits for it
// waits longer meanwhile: so passes are small while there is time between them.
const (
	fewWrites    = 1_000  // a pass begins in the background, if the last one ended long ago
	manyWrites   = 10_000 // it begins at once
	finishWrites = 20_000 // SQLite is to begin the WAL anew, once there is little left to move: passes have no pause until then
	leftWrites   = 2_000  // are little
	mustWrites   = 60_000 // it is to begin anew at once: it has grown long

	passPause = 100 * time.Millisecond // between two small passes

	// smallWAL is how many bytes of the file may stay where nothing is written.
	smallWAL = 1 << 20

	// maxReusedWAL is how many bytes of the file are kept to be written again, until nothing is written for a while. To lengthen it
	// again and again costs a tenth of an import into a large store.
	maxReusedWAL = 256 << 20

	// waitForReaders is how long readers that began before keep the WAL from beginning anew. While much is written, as by
	// an import, some always read, but each briefly.
	waitForReaders = "busy_timeout=10"
)

// WAL moves SQLite's WAL into the file on connections of its own while the writer goes on, because most of that
// time is spent waiting for the disk. Its methods are for the goroutine that writes.
type WAL struct {
	// NoteMove is called with a connection whose next query shows what is about to be moved into the file; nil for nothing.
	// It may be called from another goroutine, and so may NoteFailedSync.
	NoteMove func(c *Conn) error
	// NoteFailedSync is called when the file could not be brought to the disk; nil for nothing.
	NoteFailedSync func() error
	// Sync brings the file to the disk. OpenReaders sets it; tests replace it.
	Sync func() error

	writer       *Conn
	conn         *Conn
	snapshotConn *Conn         // keeps a pass from moving more than what was noted before it
	file         *os.File      // to sync it; closed when no connection is open: to close it takes away the locks of all
	busy         chan struct{} // has an element while a pass is under way
	lastErr      error         // of the last pass; read and written by whoever has put the element into busy
	lastEnded    time.Time     // the same: when the last pass ended
	unmoved      int           // writes that no pass has looked at yet
	moved        int           // writes that passes have looked at since the WAL began anew

	failed atomic.Pointer[error] // of a sync
}

// open opens the connections to the file at path.
func (w *WAL) open(path string) (err error) {
	w.busy = make(chan struct{}, 1)
	if w.file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the read model's file cannot be opened: %v", err)
	}
	w.Sync = w.file.Sync
	if w.conn, err = Open(path, ReadWrite, "busy_timeout=0", "wal_autocheckpoint=0"); err == nil {
		w.snapshotConn, err = Open(path, ReadOnly)
	}
	return err
}

// begin puts the element into busy and returns the last pass's error. ok is false while a pass is under way.
func (w *WAL) begin() (ok bool, err error) {
	select {
	case w.busy <- struct{}{}:
		err, w.lastErr = w.lastErr, nil
		return true, err
	default:
		return false, nil
	}
}

// pass moves the WAL into the file up to the last transaction there is, after NoteMove was called, and syncs the
// file. SQLite does so only in the pass that moves the rest, and the writer would wait for all pages then.
func (w *WAL) pass() error {
	err := w.snapshotConn.Read(func() error {
		if w.NoteMove != nil {
			if err := w.NoteMove(w.snapshotConn); err != nil {
				return err
			}
		}
		return w.checkSync(w.conn.Pragmas("main.wal_checkpoint(PASSIVE)"))
	})
	if err != nil {
		return err
	}
	if err := w.Sync(); err != nil {
		return w.fail(err)
	}
	return nil
}

// checkSync returns the error of a checkpoint, or fail's error if SQLite could not sync a file.
func (w *WAL) checkSync(err error) error {
	if isFailedSync(err) {
		return w.fail(err)
	}
	return err
}

// fail makes every later transaction fail, and the next start build the file anew. After a failed sync the system may have
// dropped written pages, and the next sync would succeed all the same (PostgreSQL's wiki, Fsync Errors).
func (w *WAL) fail(err error) error {
	err = fanfold.Wrap(err, fanfold.Unavailable, "the read model's file could not be brought to the disk: check the disk and start the node again, which builds the file anew from the log: %v", err)
	if w.NoteFailedSync != nil {
		err = errors.Join(err, w.NoteFailedSync())
	}
	w.failed.Store(&err)
	return err
}

// failure returns the error of the sync that failed, nil if none did.
func (w *WAL) failure() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// close waits for the pass that is under way, and closes its own connections and the writer's before the file. It
// returns failure too.
func (w *WAL) close() error {
	if w.busy != nil {
		w.busy <- struct{}{} // what the pass did not move is moved when the file is opened again
	}
	errs := []error{w.failure()}
	for _, c := range []*Conn{w.conn, w.snapshotConn, w.writer} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	if w.file != nil {
		errs = append(errs, w.file.Close())
	}
	return errors.Join(errs...)
}

// Note calls NoteMove for all that was written, unless a sync failed: before the last connection is closed, which moves it. It waits
// for the pass that is under way, which notes too. A file that is only read has no passes, and nothing to note.
func (w *WAL) Note() error {
	if w.busy == nil {
		return nil
	}
	w.busy <- struct{}{}
	defer func() { <-w.busy }()
	return w.note()
}

// note does what Note does while no pass is under way.
func (w *WAL) note() error {
	if err := w.failure(); err != nil || w.NoteMove == nil {
		return err
	}
	return w.NoteMove(w.writer)
}

// Checkpoint moves SQLite's WAL into the file if enough was written since it last did, as far as readers allow. If the WAL has grown
// long, it waits a few milliseconds for readers. It is called between transactions, by the goroutine that calls Update. Most of the work
// goes on after it returns; an error of that part is returned by a later call. After a sync that failed every call returns that error
// and does nothing.
func (w *WAL) Checkpoint() error {
	writes := w.writer.Written
	if err := w.failure(); err != nil || writes == 0 {
		return err
	}
	w.writer.Written = 0
	w.unmoved += writes
	finish := w.moved >= finishWrites
	if w.unmoved < fewWrites && !finish {
		return nil
	}
	if w.unmoved+w.moved >= mustWrites {
		w.busy <- struct{}{}
		err := w.lastErr
		w.lastErr = nil
		_, finishErr := w.finish("RESTART", waitForReaders)
		return errors.Join(err, finishErr)
	}
	ok, err := w.begin()
	if !ok {
		return nil
	}
	switch {
	case finish && w.unmoved < leftWrites:
		_, finishErr := w.finish("PASSIVE", "busy_timeout=0")
		return errors.Join(err, finishErr)
	case finish || w.unmoved >= manyWrites || time.Since(w.lastEnded) >= passPause:
		w.startPass()
		return err
	}
	<-w.busy
	return err
}

// startPass moves what is in the WAL into the file in the background, and takes the element out of busy then.
func (w *WAL) startPass() {
	w.moved, w.unmoved = w.moved+w.unmoved, 0
	go func() {
		w.lastErr = w.pass()
		w.lastEnded = time.Now()
		<-w.busy
	}()
}

// Hold returns the file's bytes, which stay as they are until release is called. Nothing is moved into the file meanwhile, and a WAL that has
// grown long makes the writer wait. It blocks while a pass is under way. The file is closed after release alone.
func (w *WAL) Hold() (file io.ReaderAt, release func()) {
	w.busy <- struct{}{}
	return w.file, func() { <-w.busy }
}

// AwaitPass waits until no pass is under way. Any goroutine may call it while the file is open.
func (w *WAL) AwaitPass() {
	w.busy <- struct{}{}
	<-w.busy
}

// Truncation says how far Truncate has come.
type Truncation int

// The results of Truncate.
const (
	Truncated Truncation = iota // the WAL is small
	Moving                      // a pass is under way: Truncate is to be called again after AwaitPass
	Held                        // readers kept SQLite from it: Truncate is to be called again after a while
)

// Truncate empties SQLite's WAL and gives its space back. It is called like Checkpoint, when nothing more is written for now. Most of the
// WAL is moved in the background first.
func (w *WAL) Truncate() (Truncation, error) {
	if err := w.failure(); err != nil {
		return Truncated, err
	}
	w.unmoved += w.writer.Written
	w.writer.Written = 0
	if size, err := w.size(); err != nil || size <= smallWAL {
		return Truncated, err
	}
	ok, err := w.begin()
	switch {
	case !ok:
		return Moving, nil
	case w.moved == 0 || w.unmoved >= leftWrites:
		w.startPass()
		w.moved = max(1, w.moved) // of a WAL that was there at the start
		return Moving, err
	}
	held, finishErr := w.finish("TRUNCATE", waitForReaders)
	if err = errors.Join(err, finishErr); !held || err != nil {
		return Truncated, err
	}
	return Held, nil
}

// size returns how many bytes the WAL's file has.
func (w *WAL) size() (int64, error) {
	info, err := os.Stat(w.file.Name() + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, "SQLite's log cannot be looked at: %v", err)
	}
	return info.Size(), nil
}

// finish moves what is left of the WAL in a mode of SQLite's wal_checkpoint, so that SQLite begins it anew, and takes the
// element out of busy. wait says how long for readers, and held whether they kept SQLite from it.
func (w *WAL) finish(mode, wait string) (held bool, err error) {
	defer func() { w.lastEnded = time.Now(); <-w.busy }()
	if err := w.note(); err != nil {
		return false, err
	}
	if err := w.writer.Pragmas(wait); err != nil {
		return false, err
	}
	_, err = w.writer.QueryRow("PRAGMA main.wal_checkpoint("+mode+")", func(r Row) { held = r.Int(0) != 0 })
	err = w.checkSync(err)
	if err = errors.Join(err, w.writer.Pragmas(waitLong)); err != nil {
		return held, err
	}
	w.moved, w.unmoved = 0, 0
	return held, nil
}
