package driver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/suite"
)

// openTestFile returns a file with tables for fold, open to readers, which is closed at the test's end.
func openTestFile(t *testing.T) *File {
	t.Helper()
	f, err := OpenFile(filepath.Join(t.TempDir(), "test.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(f.Writer.Exec("CREATE TABLE link (target TEXT, holder INTEGER, PRIMARY KEY (target, holder)) WITHOUT ROWID"),
		f.Writer.Exec("CREATE TABLE last (id INTEGER PRIMARY KEY, seq INTEGER)"), f.OpenReaders(1<<20)); err != nil {
		t.Fatal(err)
	}
	return f
}

// addLink writes a row.
func addLink(f *File, target string, holder int64) error {
	return f.Writer.Exec("INSERT INTO link (target, holder) VALUES (?, ?)", target, holder)
}

// fold writes some rows as the fold of the event at seq.
func fold(f *File, seq int64) error {
	return f.Update(func() error {
		for i := range int64(4) {
			if err := addLink(f, "x", seq*4+i); err != nil {
				return err
			}
		}
		return f.Writer.Exec("INSERT INTO last (id, seq) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq", seq)
	})
}

// lastFolded returns the last event that fold wrote.
func lastFolded(c *Conn) (seq int64, err error) {
	_, err = c.QueryRow("SELECT seq FROM last", func(r Row) { seq = r.Int(0) })
	return seq, err
}

// TestPassMovesWhatIsNoted: what is committed while the note is written stays in the WAL.
func TestPassMovesWhatIsNoted(t *testing.T) {
	f := openTestFile(t)
	if err := fold(f, 1); err != nil {
		t.Fatal(err)
	}
	noted := int64(0)
	f.WAL.NoteMove = func(c *Conn) (err error) {
		noted, err = lastFolded(c)
		return errors.Join(err, fold(f, 2))
	}
	if err := f.WAL.pass(); err != nil {
		t.Fatal(err)
	}
	f.WAL.NoteMove = nil
	text, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "moved.db")
	if err := os.WriteFile(moved, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(moved, ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	last, err := lastFolded(c)
	if err != nil || noted != 1 || last > noted { // SQLite leaves out a page that the WAL has a later one of
		t.Errorf("event %d was noted, and the file has event %d, %v", noted, last, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNoteWaitsForThePass: the last note is not written while a pass writes its own into the same file.
func TestNoteWaitsForThePass(t *testing.T) {
	f := openTestFile(t)
	if err := fold(f, 1); err != nil {
		t.Fatal(err)
	}
	var writing sync.Mutex
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	f.WAL.NoteMove = func(*Conn) error {
		if !writing.TryLock() {
			return errors.New("two notes are written at a time")
		}
		defer writing.Unlock()
		began <- struct{}{}
		<-goOn
		return nil
	}
	f.WAL.busy <- struct{}{}
	f.WAL.startPass()
	<-began
	noted := make(chan error, 1)
	go func() { noted <- f.WAL.Note() }()
	time.Sleep(20 * time.Millisecond) // in which a note that does not wait is refused
	close(goOn)
	if err := <-noted; err != nil {
		t.Error(err)
	}
}

// TestWALBeginsAnew: many small transactions do not make the WAL longer and longer.
func TestWALBeginsAnew(t *testing.T) {
	f := openTestFile(t)
	const transactions, most = 40_000, 128 << 20
	for seq := range int64(transactions) {
		if err := fold(f, seq+1); err != nil {
			t.Fatal(err)
		}
		if err := f.WAL.Checkpoint(); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(f.Path() + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > most {
		t.Errorf("after %d transactions the WAL has %d bytes, want %d at most", transactions, info.Size(), most)
	}
}

// truncate truncates the WAL.
func truncate(t *testing.T, f *File) {
	t.Helper()
	for {
		state, err := f.WAL.Truncate()
		if err != nil {
			t.Fatal(err)
		}
		if state == Truncated {
			return
		}
		f.WAL.AwaitPass()
	}
}

// TestLongWALIsUsedAgain: transactions that write very much write over the same WAL, and little of it is left where nothing
// more is written.
func TestLongWALIsUsedAgain(t *testing.T) {
	f := openTestFile(t)
	length := func() int64 {
		info, err := os.Stat(f.Path() + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	var first int64
	for round := range 4 {
		if err := f.Update(func() error {
			for i := range int64(mustWrites) {
				if err := addLink(f, strconv.Itoa(round), i); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := f.WAL.Checkpoint(); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			first = length()
		}
	}
	if now := length(); first == 0 || now > first*3/2 {
		t.Errorf("the WAL has %d bytes, and had %d after the first transaction", now, first)
	}
	truncate(t, f)
	if now := length(); now > smallWAL {
		t.Errorf("at rest the WAL has %d bytes", now)
	}
}

// TestWALIsKeptWithinItsBound: of a WAL that a transaction has made longer than keptWAL the next one leaves so much.
func TestWALIsKeptWithinItsBound(t *testing.T) {
	f := openTestFile(t)
	length := func() int64 {
		info, err := os.Stat(f.Path() + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	long := strings.Repeat("x", 1<<20)
	if err := f.Update(func() error {
		for i := range int64(maxReusedWAL>>20 + 16) {
			if err := addLink(f, long, i); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	before := length()
	f.Writer.Written = mustWrites
	if err := errors.Join(f.WAL.Checkpoint(), fold(f, 1)); err != nil {
		t.Fatal(err)
	}
	if after := length(); before <= maxReusedWAL || after > maxReusedWAL {
		t.Errorf("the WAL has %d bytes, and had %d", after, before)
	}
}

// TestReaderHoldsUpTruncation: a WAL that a reader holds on to is truncated once that has ended.
func TestReaderHoldsUpTruncation(t *testing.T) {
	suite.Concurrent(t)
	f := openTestFile(t)
	w := &f.WAL
	if err := fold(f, 1); err != nil {
		t.Fatal(err)
	}
	err := f.WithReader(func(c *Conn) error {
		return c.Read(func() error {
			if _, err := lastFolded(c); err != nil {
				return err
			}
			for seq := range int64(fewWrites) {
				if err := fold(f, seq+2); err != nil {
					return err
				}
			}
			for state := Moving; state != Held; f.WAL.AwaitPass() {
				var err error
				if state, err = f.WAL.Truncate(); state == Truncated || err != nil {
					return fmt.Errorf("Truncate will not try again: %w", err)
				}
			}
			if size, err := w.size(); size <= smallWAL || err != nil {
				return fmt.Errorf("the WAL of a reader has %d bytes, %w", size, err)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if state, err := f.WAL.Truncate(); state != Moving || err != nil {
		t.Errorf("Truncate does not try again at once: %v, %v", state, err)
	}
	truncate(t, f)
	if size, err := w.size(); size > 0 || err != nil {
		t.Errorf("the WAL has %d bytes, %v", size, err)
	}
}

// TestIdleWALIsTruncated: a WAL goes after the last write, if nothing more is written, also one that few writes have made long.
func TestIdleWALIsTruncated(t *testing.T) {
	suite.Concurrent(t)
	f := openTestFile(t)
	if err := addLink(f, strings.Repeat("x", 2*smallWAL), 1); err != nil {
		t.Fatal(err)
	}
	truncate(t, f)
	info, err := os.Stat(f.Path() + "-wal")
	if err != nil || info.Size() > 0 {
		t.Errorf("the WAL has %d bytes, %v", info.Size(), err)
	}
}

// TestLittleIsLeft: the writer itself moves little only. If more is left, another pass begins, without a pause.
func TestLittleIsLeft(t *testing.T) {
	f := openTestFile(t)
	w := &f.WAL
	seq := int64(0)
	write := func(writes int) {
		t.Helper()
		for f.Writer.Written < writes {
			if seq++; fold(f, seq) != nil {
				t.Fatalf("event %d cannot be folded", seq)
			}
		}
		if err := f.WAL.Checkpoint(); err != nil {
			t.Fatal(err)
		}
	}
	w.moved, w.lastEnded = finishWrites, time.Now().Add(time.Hour)
	if write(leftWrites); w.unmoved != 0 || w.moved < finishWrites+leftWrites {
		t.Fatalf("no pass began: %d writes were moved, %d were not", w.moved, w.unmoved)
	}
	w.busy <- struct{}{} // the pass has ended
	<-w.busy
	if write(1); w.unmoved != 0 || w.moved != 0 {
		t.Errorf("the WAL did not begin anew: %d writes were moved, %d were not", w.moved, w.unmoved)
	}
}

// TestHold: nothing is moved into a file that is held, however much is written. A writer whose WAL has grown long waits until it is released.
func TestHold(t *testing.T) {
	f := openTestFile(t)
	if err := errors.Join(fold(f, 1), f.WAL.pass()); err != nil {
		t.Fatal(err)
	}
	file, release := f.WAL.Hold()
	text := func() string {
		b, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<30))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	held, seq := text(), int64(1)
	write := func(more func() bool) (err error) {
		for err == nil && more() {
			seq++
			err = errors.Join(fold(f, seq), f.WAL.Checkpoint())
		}
		return err
	}
	if err := write(func() bool { return f.WAL.unmoved < mustWrites-1000 }); err != nil {
		t.Fatal(err)
	}
	if got, err := f.WAL.Truncate(); got != Moving || err != nil {
		t.Errorf("the WAL of a held file is truncated: %d, %v", got, err)
	}
	if text() != held {
		t.Error("a held file has changed")
	}
	written := make(chan error, 1)
	go func() { written <- write(func() bool { return f.WAL.unmoved > 0 }) }() // until everything was moved
	if now := text(); now != held {                                            // while the writer writes on, or waits
		t.Error("a held file has changed")
	}
	release()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if f.WAL.AwaitPass(); text() == held {
		t.Error("nothing is moved into a file that was released")
	}
}
