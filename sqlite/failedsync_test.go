package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fold writes some rows as the fold of the event at seq.
func fold(db *DB, seq uint64) error {
	return db.Update(func(tx *Tx) error {
		for i := range int64(4) {
			if err := tx.Links.Add("a.b", "x", int64(seq)*4+i, false); err != nil {
				return err
			}
		}
		tx.SetCheckpoint(seq, time.Unix(0, 0), "example")
		return nil
	})
}

// PendingRows returns how many rows the transaction has pending, and knows.
func (tx *Tx) PendingRows() int {
	p := tx.pending
	return p.links.rows + len(p.paged) + p.keptValues.rows + p.entries.rows + len(p.totals) + len(p.claims)
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
			db.file.WAL.Sync = func() error { return syscall.EINVAL }
			seq := uint64(0)
			for err == nil { // until a pass has failed
				seq++
				err = errors.Join(fold(db, seq), db.CheckpointWAL())
			}
			if err := fold(db, seq+1); !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "start the node again") {
				t.Fatalf("a transaction behind a failed sync: %v", err)
			}
			if err := db.CheckpointWAL(); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("CheckpointWAL behind a failed sync: %v", err)
			}
			if _, err := db.TruncateWAL(); !errors.Is(err, syscall.EINVAL) {
				t.Errorf("TruncateWAL behind a failed sync: %v", err)
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
