package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/sameboot"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// notes are the notes about the files of a read model that say how it was left.
type notes struct {
	store  *Store
	number int
}

// trace returns the trace of the files: the marker never changes, and the file is never replaced. It returns "" if nothing is known.
func (n notes) trace() string {
	return sameboot.Trace(n.store.notePath(markerPrefix, n.number), n.store.filePath(n.number))
}

// noteTrace writes down the trace of the files, which are sound and may change from now on. Without the note the next start
// after a kill looks at all of the file. An error is logged.
func (n notes) noteTrace() {
	trace := n.trace()
	if trace == "" {
		return
	}
	if err := writeNote(n.store.notePath(tracePrefix, n.number), trace); err != nil {
		n.store.opt.Logger.Warn("the start of the read model cannot be written down: after a kill the next start looks at all of it", "err", err)
	}
}

// checkTrace tells how a read model was left that was not closed. If it has the trace that was written down, the operating system has all that was
// written to its files, unless it tells that it lost some. No connection to the file may be open. The note cannot be
// read or removed where there is an error.
func (n notes) checkTrace() (ending, error) {
	note := n.store.notePath(tracePrefix, n.number)
	want, err := readNote(note)
	switch {
	case n.store.readOnly || errors.Is(err, errNoNote):
		return endedUnknown, nil
	case err != nil:
		return endedUnknown, err
	case want != n.trace():
		return endedUnknown, nil
	}
	file := n.store.filePath(n.number)
	for _, path := range []string{file, file + "-wal"} {
		if err := syncFile(path); err != nil {
			n.store.opt.Logger.Error("the read model's file could not be brought to the disk", "file", path, "err", err)
			return endedDamaged, errors.Join(os.Remove(note), syncDir(n.store.dir)) // it is told once
		}
	}
	return endedKilled, nil
}

// noteMoved writes down, before SQLite's WAL is moved into the file, up to which event it is. If less than that is there
// after a crash, the WAL was damaged while some of it was in the file already, and the file is of no use.
func (n notes) noteMoved(seq uint64) error {
	return writeNote(n.store.notePath(movedPrefix, n.number), fmt.Sprint(seq))
}

// checkMoved returns why a read model cannot be used that was not closed: it has fewer events than were moved into its file. It returns nil if it has all.
func (n notes) checkMoved(cp Checkpoint) error {
	moved := uint64(0)
	if text, err := readNote(n.store.notePath(movedPrefix, n.number)); err == nil {
		if _, err := fmt.Sscan(text, &moved); err != nil {
			return err
		}
	}
	if cp.Seq < moved {
		return fanfold.Errorf(fanfold.Internal, "the file ends at event %d and had event %d", cp.Seq, moved)
	}
	return nil
}

// checkStructure returns what is wrong with the structure of a file, nil for nothing. It reads all of it.
func checkStructure(c *driver.Conn) error {
	found := ""
	if _, err := c.QueryRow("PRAGMA quick_check(1)", func(r driver.Row) { found = r.Text(0) }); err != nil {
		return err
	}
	if found != "ok" {
		return fanfold.Errorf(fanfold.Internal, "%s", found)
	}
	return nil
}

// examine returns the checkpoint of a file that is open, and what is wrong with one that was not closed: nil for nothing. An error tells
// that it cannot be read.
func examine(db *DB, end ending, n notes) (cp Checkpoint, damage, err error) {
	if err := db.Read(func(snap *Snapshot) error { cp = snap.Checkpoint; return nil }); err != nil || end != endedKilled && end != endedUnknown {
		return cp, nil, err
	}
	if damage = n.checkMoved(cp); damage == nil && end == endedUnknown {
		damage = db.file.WithReader(checkStructure)
	}
	return cp, damage, nil
}

// syncFile makes a file durable that no connection is open to. It returns what the system could not write since somebody asked. A file that
// is not there is no error.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// CheckStructure looks at all of the current file if it is Killed, and makes it Unclean if its structure is damaged. It blocks until ctx ends
// at most. It returns what is wrong, or why the file cannot be read.
func (s *Store) CheckStructure(ctx context.Context) error {
	if !s.Killed() {
		return nil
	}
	var c *driver.Conn
	err := s.Use(func(db *DB) (err error) {
		c, _, err = openSnapshot(db.Path())
		return err
	})
	if err == nil {
		c.EndWith(ctx)
		err = errors.Join(checkStructure(c), c.Close())
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == endedKilled { // it, or a copy of it
		s.left = endedUnknown
		return errors.Join(err, os.Remove(s.notePath(tracePrefix, s.number)))
	}
	return err
}
