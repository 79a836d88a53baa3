package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

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

// noteStill writes down that nobody has touched a file since it was closed. An error is returned, and is none of the file's.
func (n notes) noteStill() error {
	still := n.still()
	if still == "" {
		return nil
	}
	return writeNote(n.store.notePath(stillPrefix, n.number), still)
}

// still returns what the system says of the file and its marker: see sameboot.Still.
func (n notes) still() string {
	return sameboot.Still(n.store.notePath(markerPrefix, n.number), n.store.filePath(n.number))
}

// isStill tells whether the system says that nobody has touched the file since noteStill.
func (n notes) isStill() bool {
	noted, err := readNote(n.store.notePath(stillPrefix, n.number))
	return err == nil && noted == n.still()
}

// Hashing compares the file of a store with its hash while it is served, if nobody has touched it since its clean end, as the system says.
type Hashing struct {
	store *Store
	want  string
	over  chan struct{} // closed at its end; nil if there is nothing to compare
	err   error         // what it found, from then on
}

// Undisturbed returns whether nobody has touched the file between its clean end and the start.
func (h *Hashing) Undisturbed() bool { return h.over != nil }

// begin begins to compare a file that is open, and endedStill. Nothing is moved into the file before that is over. It returns at once.
func (h *Hashing) begin(db *DB) {
	file, release := db.file.WAL.Hold()
	h.over = make(chan struct{})
	go func() {
		defer close(h.over)
		have, err := sumOf(io.NewSectionReader(file, 0, math.MaxInt64), func() bool {
			by := h.store.closeBy.Load()
			return by != 0 && time.Now().UnixNano() > by
		})
		release()
		h.end(db, have, err)
	}()
}

// end takes note of a file's hash, or of the error of reading it.
func (h *Hashing) end(db *DB, have string, err error) {
	s := h.store
	s.mu.RLock() // a read within a read would wait for whoever waits to lock it for writing
	defer s.mu.RUnlock()
	switch {
	case s.current != db || errors.Is(err, os.ErrDeadlineExceeded): // it was replaced, or the store is about to be closed
	case err == nil && have == h.want:
		s.left.set(endedClean)
	default:
		s.left.set(endedUnknown)
		h.err = cmp.Or(err, errNotAsLeft)
		_ = os.Remove(s.notePath(tracePrefix, s.number)) // the hash is gone already, and without a trace the next start looks at all of it
	}
}

// wait waits until the file was compared, or ctx ends.
func (h *Hashing) wait(ctx context.Context) {
	if h.over == nil {
		return
	}
	select {
	case <-h.over:
	case <-ctx.Done():
	}
}

// errNotAsLeft is the error of a file with another hash.
var errNotAsLeft = errors.New("it is not as it was left")

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

// CheckFile ends the look at the current file that its opening began. Of one that nobody has touched since its clean end the hash is compared. If the
// file is Killed, CheckFile looks at all of it. It makes one that is damaged Unclean, and blocks until ctx ends at most. It returns what is wrong, or why
// the file cannot be read.
func (s *Store) CheckFile(ctx context.Context) error {
	if s.Hashing.wait(ctx); s.Unclean() && s.Hashing.err != nil {
		return s.Hashing.err
	}
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
	if s.left.get() == endedKilled { // it, or a copy of it
		s.left.set(endedUnknown)
		return errors.Join(err, os.Remove(s.notePath(tracePrefix, s.number)))
	}
	return err
}
