package sqlite

import (
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// TestCacheIsBounded: no connection that reads the file for requests maps more of it than the option says, also after a
// swap, and a cache that cannot be is refused.
func TestCacheIsBounded(t *testing.T) {
	for cache, want := range map[int64]int64{0: 1 << 30, 1 << 20: 1 << 20, 4096: 4096} {
		store, err := OpenStore(t.TempDir(), Options{Cache: cache, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		requireMapped(t, store, cache == 0, want)
		next, err := store.Build()
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Swap(next); err != nil {
			t.Fatal(err)
		}
		requireMapped(t, store, cache == 0, want)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := OpenStore(t.TempDir(), Options{Cache: -1})
	if fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("a cache of -1 bytes is %v", err)
	}
}

// requireMapped checks how much of the file the connections of a store may map: want bytes, or more where atLeast is true.
func requireMapped(t *testing.T, store *Store, atLeast bool, want int64) {
	t.Helper()
	check := func(c *driver.Conn) error {
		_, err := c.QueryRow("PRAGMA mmap_size", func(r driver.Row) {
			if got := r.Int(0); got != want && (!atLeast || got < want) {
				t.Errorf("a connection maps %d bytes, want %d", got, want)
			}
		})
		return err
	}
	err := store.Use(func(db *DB) error {
		for range 4*runtime.GOMAXPROCS(0) + 8 {
			if err := db.file.WithReader(check); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// openInternal returns a store, which is closed at the test's end.
func openInternal(t *testing.T) *Store {
	t.Helper()
	store, err := OpenStore(t.TempDir(), Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// TestMissingKeysAreForgotten: which documents are not there is forgotten with a transaction that fails, which may have deleted some.
func TestMissingKeysAreForgotten(t *testing.T) {
	store := openInternal(t)
	var keys []fanfold.Key
	for i := range int64(100) {
		keys = append(keys, fanfold.Key{Collection: "c", ID: strconv.FormatInt(i, 10)})
	}
	failed := errors.New("failed")
	for _, end := range []error{nil, failed} {
		err := store.Use(func(db *DB) error {
			defer func() {
				if known := len(db.tx.Documents.missing); (known == 0) != (end != nil) {
					t.Errorf("after a transaction that ends with %v %d keys are known", end, known)
				}
			}()
			return db.Update(func(tx *Tx) error {
				if err := tx.Documents.FindMissing(keys); err != nil {
					return err
				}
				if len(tx.Documents.missing) != len(keys) {
					t.Errorf("%d keys are known", len(tx.Documents.missing))
				}
				return end
			})
		})
		if !errors.Is(err, end) {
			t.Error(err)
		}
	}
}

// TestFullFile: a transaction for which the file has no room leaves nothing, although SQLite may end it by itself while the fold goes on.
// The next one is as any other.
func TestFullFile(t *testing.T) {
	store := openInternal(t)
	fill := func(tx *Tx) error {
		for i := range int64(5000) {
			key := fanfold.Key{Collection: "c", ID: strconv.FormatInt(i, 10)}
			if err := tx.Documents.Insert(&Row{Number: i + 1, Key: key, Body: []byte(`{"text":"some text that takes some room"}`)}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := store.Use(func(db *DB) error {
		if err := db.file.Writer.Pragmas("max_page_count=100"); err != nil {
			return err
		}
		if err := db.Update(fill); fanfold.CodeOf(err) != fanfold.Unavailable {
			t.Errorf("a transaction without room ends with %v", err)
		}
		if err := db.file.Writer.Pragmas("max_page_count=100000"); err != nil {
			return err
		}
		if found, err := db.file.Writer.Has("SELECT 1 FROM document LIMIT 1"); err != nil || found {
			t.Errorf("documents are left: %v, %v", found, err)
		}
		return db.Update(fill)
	}); err != nil {
		t.Error(err)
	}
}
