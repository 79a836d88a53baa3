package sqlite

import "errors"

// The numbers of writes after which CheckpointWAL does something.
const (
	passiveWrites  = 10_000  // it begins to move the WAL into the file, in the background
	completeWrites = 40_000  // it moves all of it, so that SQLite begins the WAL anew
	truncateWrites = 200_000 // of one transaction: it also truncates the WAL
)

// walCheckpointer moves SQLite's WAL into the file on a connection of its own while the writer goes
// on, because most of that time is spent waiting for the disk.
type walCheckpointer struct {
	conn                *conn
	busy                chan struct{} // has an element while a pass is under way
	lastErr             error         // of the last pass; read and written by whoever has put the element into busy
	writesSinceComplete int           // writes since all of the WAL was moved
}

// open opens the connection to the file at path.
func (w *walCheckpointer) open(path string) (err error) {
	w.busy = make(chan struct{}, 1)
	w.conn, err = openConn(dsn(path, "rw"), "busy_timeout=0", "wal_autocheckpoint=0")
	return translateError(err)
}

// start begins a pass in the background, unless one is under way.
func (w *walCheckpointer) start() {
	select {
	case w.busy <- struct{}{}:
	default:
		return
	}
	go func() {
		_, err := w.conn.raw.Exec("PRAGMA main.wal_checkpoint(PASSIVE)", nil)
		w.lastErr = translateError(err)
		<-w.busy
	}()
}

// wait blocks until no pass is under way, and returns the error of the last one.
func (w *walCheckpointer) wait() error {
	w.busy <- struct{}{}
	defer func() { <-w.busy }()
	err := w.lastErr
	w.lastErr = nil
	return err
}

// close waits for the pass that is under way and closes the connection.
func (w *walCheckpointer) close() error {
	if w.conn == nil {
		return nil
	}
	_ = w.wait() // what the pass did not move is moved when the file is opened again
	return w.conn.close()
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
// readers allow and without waiting for them. It is called between transactions, by the goroutine
// that calls Update. Most of the work goes on after it returns; an error of that part is returned
// by a later call.
func (db *DB) CheckpointWAL() error {
	writes := db.writer.writes
	if writes < passiveWrites {
		return nil
	}
	if err := db.noteMove(); err != nil {
		return err
	}
	db.writer.writes = 0
	db.walCheckpointer.writesSinceComplete += writes
	if db.walCheckpointer.writesSinceComplete < completeWrites {
		db.walCheckpointer.start()
		return nil
	}
	if err := db.walCheckpointer.wait(); err != nil {
		return err
	}
	mode := "PASSIVE"
	if writes > truncateWrites {
		mode = "TRUNCATE"
	}
	if err := db.pragmas("busy_timeout=0", "main.wal_checkpoint("+mode+")", "busy_timeout=10000"); err != nil {
		return errors.Join(err, db.pragmas("busy_timeout=10000"))
	}
	db.walCheckpointer.writesSinceComplete = 0
	return nil
}
