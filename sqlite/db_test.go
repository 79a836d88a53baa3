package sqlite

import (
	"log/slog"
	"testing"

	"github.com/fanfold/fanfold"
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
	check := func(c *conn) error {
		_, err := c.queryRow("PRAGMA mmap_size", func(r []sqlValue) {
			if got := intOf(r[0]); got != want && (!atLeast || got < want) {
				t.Errorf("a connection maps %d bytes, want %d", got, want)
			}
		})
		return err
	}
	err := store.Use(func(db *DB) error {
		for range db.size {
			if err := db.withReader(check); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
