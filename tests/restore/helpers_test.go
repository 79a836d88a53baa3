package restore_test

import (
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/tests/harness"
)

// restore restores the backup in a directory into a new data directory, up to a place, "" for all of it, and returns that directory.
func restore(t *testing.T, dir, to string) (data string, r *transfer.Restored) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	r, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: data, To: to})
	if err != nil {
		t.Fatal(err)
	}
	return data, r
}

// open opens a store that the test closes.
func open(t *testing.T, opt harness.Options) *harness.Store {
	t.Helper()
	s := harness.Open(t, opt)
	t.Cleanup(func() {
		s.Verify()
		s.Close()
	})
	return s
}

// scripted returns a store with everything that the script writes.
func scripted(t *testing.T, opt harness.Options) *harness.Store {
	t.Helper()
	s := open(t, opt)
	harness.RunScript(t, s, harness.CrashScript)
	s.Put("authors", "keyed", `{"name":"K"}`)
	s.Want(201, "PUT", "/v1/authors/once", `{"name":"O"}`, "Idempotency-Key", `"k1"`)
	return s
}

// requireReplayed compares a store's rows with its replay's, at a moment when no fence came between.
func requireReplayed(t *testing.T, s *harness.Store) {
	t.Helper()
	for try := 0; ; try++ {
		rows := s.Digest()
		s.Replay()
		if s.Digest() == rows {
			return
		}
		if try == 10 {
			t.Fatal("the rows are not those of a replay")
		}
	}
}

// digestUpTo returns the digest of all events of a log up to one.
func digestUpTo(t *testing.T, s *harness.Store, last uint64) (d fanfold.Digest) {
	t.Helper()
	err := s.Node.Log.Scan(t.Context(), 1, last, func(_ uint64, _ int, event fanfold.Digest) error {
		d = d.Followed(event)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
