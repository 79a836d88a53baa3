package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fold writes some rows as the fold of the event at seq.
func fold(db *DB, seq uint64) error {
	return db.Update(func(tx *Tx) error {
		for i := range int64(4) {
			if err := tx.AddLink("a.b", "x", int64(seq)*4+i, false); err != nil {
				return err
			}
		}
		tx.SetCheckpoint(seq, time.Unix(0, 0), "example")
		return nil
	})
}

// TestPassMovesWhatIsNoted: what is committed while the note is written stays in the WAL.
func TestPassMovesWhatIsNoted(t *testing.T) {
	store, err := OpenStore(t.TempDir(), Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	db := store.current
	if err := fold(db, 1); err != nil {
		t.Fatal(err)
	}
	noted := uint64(0)
	if err := db.walCheckpointer.pass(func(seq uint64) error { noted = seq; return fold(db, 2) }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(db.path)
	if err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "moved.db")
	if err := os.WriteFile(moved, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c, cp, err := openSnapshot(moved)
	if err != nil {
		t.Fatal(err)
	}
	if noted != 1 || cp.Seq > noted { // SQLite leaves out a page that the WAL has a later one of
		t.Errorf("event %d was noted, and the file has event %d", noted, cp.Seq)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWALBeginsAnew: many small transactions do not make the WAL longer and longer.
func TestWALBeginsAnew(t *testing.T) {
	store, err := OpenStore(t.TempDir(), Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	const transactions, most = 40_000, 128 << 20
	for seq := range uint64(transactions) {
		if err := fold(store.current, seq+1); err != nil {
			t.Fatal(err)
		}
		if err := store.current.CheckpointWAL(); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(store.current.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > most {
		t.Errorf("after %d transactions the WAL has %d bytes, want %d at most", transactions, info.Size(), most)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLongWALIsUsedAgain: transactions that write very much write over the same WAL, of which nothing is left where nothing
// more is written.
func TestLongWALIsUsedAgain(t *testing.T) {
	store, err := OpenStore(t.TempDir(), Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	db := store.current
	length := func() int64 {
		info, err := os.Stat(db.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	var first int64
	for round := range 4 {
		if err := db.Update(func(tx *Tx) error {
			for i := range int64(mustWrites) {
				if err := tx.AddLink("a.b", strconv.Itoa(round), i, false); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := db.CheckpointWAL(); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			first = length()
		}
	}
	if now := length(); first == 0 || now > first*3/2 {
		t.Errorf("the WAL has %d bytes, and had %d after the first transaction", now, first)
	}
	for again := true; again; {
		if again, err = db.RestWAL(); err != nil {
			t.Fatal(err)
		}
	}
	if now := length(); now > 0 {
		t.Errorf("at rest the WAL has %d bytes", now)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWALIsKeptWithinItsBound: of a WAL that a transaction has made longer than keptWAL the next one leaves so much.
func TestWALIsKeptWithinItsBound(t *testing.T) {
	db := openInternal(t).current
	length := func() int64 {
		info, err := os.Stat(db.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	long := strings.Repeat("x", 1<<20)
	if err := db.Update(func(tx *Tx) error {
		for i := range int64(keptWAL>>20 + 16) {
			if err := tx.AddLink("a.b", long, i, false); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	before := length()
	db.writer.writes = mustWrites
	if err := errors.Join(db.CheckpointWAL(), fold(db, 1)); err != nil {
		t.Fatal(err)
	}
	if after := length(); before <= keptWAL || after > keptWAL {
		t.Errorf("the WAL has %d bytes, and had %d", after, before)
	}
}

// TestReaderHoldsUpTruncation: a WAL that a reader holds on to is truncated once that has ended.
func TestReaderHoldsUpTruncation(t *testing.T) {
	store := openInternal(t)
	db := store.current
	w := &db.walCheckpointer
	if err := fold(db, 1); err != nil {
		t.Fatal(err)
	}
	err := db.Read(func(*Snapshot) error {
		for seq := range uint64(fewWrites) {
			if err := fold(db, seq+2); err != nil {
				return err
			}
		}
		for w.notBefore.IsZero() {
			if again, err := db.RestWAL(); !again || err != nil {
				return fmt.Errorf("RestWAL will not try again: %w", err)
			}
		}
		if again, err := db.RestWAL(); !again || err != nil {
			return fmt.Errorf("RestWAL has given up: %w", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.notBefore = time.Now()
	if again, err := db.RestWAL(); again || err != nil {
		t.Fatalf("RestWAL did not truncate the WAL: %v", err)
	}
	if info, err := os.Stat(db.path + "-wal"); err != nil || info.Size() > 0 {
		t.Errorf("the WAL has %d bytes, %v", info.Size(), err)
	}
}

// TestWALAtRestIsTruncated: what was written last leaves no WAL behind where nothing more is written.
func TestWALAtRestIsTruncated(t *testing.T) {
	store, err := OpenStore(t.TempDir(), Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	db := store.current
	for seq := range uint64(fewWrites) {
		if err := fold(db, seq+1); err != nil {
			t.Fatal(err)
		}
	}
	for again := true; again; {
		if again, err = db.RestWAL(); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(db.path + "-wal")
	if err != nil || info.Size() > 0 {
		t.Errorf("the WAL has %d bytes, %v", info.Size(), err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// KeptBack returns how many rows the transaction keeps back, and knows.
func (tx *Tx) KeptBack() int {
	u := &tx.unwritten
	return len(u.links) + len(u.paged) + len(u.kept) + len(u.entries) + len(u.totals) + len(u.claims)
}

// TestFailedSync: when the file cannot be synced no transaction follows, and the next start builds the file anew, however
// the store was left.
func TestFailedSync(t *testing.T) {
	for _, closed := range []bool{true, false} {
		t.Run(fmt.Sprintf("closed=%v", closed), func(t *testing.T) {
			dir := t.TempDir()
			opt := Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)}
			store, err := OpenStore(dir, opt)
			if err != nil {
				t.Fatal(err)
			}
			db := store.current
			reader, writer, err := os.Pipe() // fsync of a pipe is EINVAL
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			file := db.walCheckpointer.file
			defer file.Close()
			db.walCheckpointer.file = writer
			if err := errors.Join(fold(db, 1), db.CheckpointWAL()); err != nil {
				t.Fatal(err)
			}
			db.walCheckpointer.busy <- struct{}{}
			db.startPass()
			db.walCheckpointer.busy <- struct{}{} // the pass has ended
			<-db.walCheckpointer.busy
			if err := fold(db, 2); !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "start the node again") {
				t.Fatalf("a transaction behind a failed sync: %v", err)
			}
			db.writer.writes = 1 // as those of a transaction beside the pass
			if err := db.CheckpointWAL(); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("CheckpointWAL behind a failed sync: %v", err)
			}
			if again, err := db.RestWAL(); again || !errors.Is(err, syscall.EINVAL) {
				t.Errorf("RestWAL behind a failed sync: %t, %v", again, err)
			}
			if !closed {
				if dir, err = copyOf(dir, t.TempDir()); err != nil { // as a killed process leaves it
					t.Fatal(err)
				}
			}
			if err := store.Close(); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("Close: %v", err)
			}
			if store, err = OpenStore(dir, opt); err != nil {
				t.Fatal(err)
			}
			cp, err := store.Checkpoint()
			if err != nil || cp.Seq != 0 {
				t.Errorf("the next start has the file of event %d (%v), want a new one", cp.Seq, err)
			}
			if err := errors.Join(fold(store.current, 1), store.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// copyOf copies the files of a directory and returns the copy.
func copyOf(dir, to string) (string, error) { return to, os.CopyFS(to, os.DirFS(dir)) }

// TestLittleIsLeft: the writer itself moves little only. Where more is left, another pass begins, without a pause.
func TestLittleIsLeft(t *testing.T) {
	db := openInternal(t).current
	w := &db.walCheckpointer
	seq := uint64(0)
	write := func(writes int) {
		t.Helper()
		for db.writer.writes < writes {
			if seq++; fold(db, seq) != nil {
				t.Fatalf("event %d cannot be folded", seq)
			}
		}
		if err := db.CheckpointWAL(); err != nil {
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
