package sqlite

import "errors"

// When a part of SQLite's log is brought into the file: after so many writes beside them, after
// so many to its end, between two transactions, so that SQLite begins it anew, and after one
// transaction of so many with the log cut to nothing.
const (
	passiveWrites  = 10_000
	completeWrites = 40_000
	truncateWrites = 200_000
)

// walCheckpointer brings SQLite's log into the file on a connection of its own, while the writer goes on:
// most of that time is spent waiting for the disk.
type walCheckpointer struct {
	c      *conn
	busy   chan struct{} // has an element while a pass runs
	failed error         // of the last pass, under busy
	behind int           // writes since the log was brought in to its end
}

func (t *walCheckpointer) open(path string) (err error) {
	t.busy = make(chan struct{}, 1)
	t.c, err = openConn(dsn(path, "rw"), "busy_timeout=0", "wal_autocheckpoint=0")
	return failure(err)
}

// start begins a pass, unless one runs.
func (t *walCheckpointer) start() {
	select {
	case t.busy <- struct{}{}:
	default:
		return
	}
	go func() {
		_, err := t.c.raw.Exec("PRAGMA main.wal_checkpoint(PASSIVE)", nil)
		t.failed = failure(err)
		<-t.busy
	}()
}

// wait returns how the last pass ended, once it has.
func (t *walCheckpointer) wait() error {
	t.busy <- struct{}{}
	defer func() { <-t.busy }()
	err := t.failed
	t.failed = nil
	return err
}

func (t *walCheckpointer) close() error {
	if t.c == nil {
		return nil
	}
	_ = t.wait() // the next one to open the file tries again
	return t.c.close()
}

// CheckpointWAL brings SQLite's log into the file now and then, as far as readers allow, and without
// waiting for them. It is called between transactions, by whom Update is called by; most of the
// work goes on after it returns, and what went wrong then is told by a later call.
func (db *DB) CheckpointWAL() error {
	wrote := db.writer.wrote
	if wrote < passiveWrites {
		return nil
	}
	db.writer.wrote = 0
	db.walCheckpointer.behind += wrote
	if db.walCheckpointer.behind < completeWrites {
		db.walCheckpointer.start()
		return nil
	}
	if err := db.walCheckpointer.wait(); err != nil {
		return err
	}
	mode := "PASSIVE"
	if wrote > truncateWrites {
		mode = "TRUNCATE"
	}
	if err := db.pragmas("busy_timeout=0", "main.wal_checkpoint("+mode+")", "busy_timeout=10000"); err != nil {
		return errors.Join(err, db.pragmas("busy_timeout=10000"))
	}
	db.walCheckpointer.behind = 0
	return nil
}
