package sqlite_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

func openStore(tb testing.TB, dir string) *sqlite.Store {
	tb.Helper()
	store := openUnclosed(tb, dir)
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return store
}

// openUnclosed opens a store that the caller closes.
func openUnclosed(tb testing.TB, dir string) *sqlite.Store {
	tb.Helper()
	store, err := sqlite.OpenStore(dir, sqlite.Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

// BenchmarkInsert writes one document in each transaction.
func BenchmarkInsert(b *testing.B) {
	store := openStore(b, b.TempDir())
	body := `{"text":"` + strings.Repeat("x", 490) + `"}`
	seq := uint64(0)
	for b.Loop() {
		seq++
		if err := insert(store, seq, fanfold.Key{Collection: "c", ID: fmt.Sprint(seq)}, body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGet reads one of 1,000 documents at a time, from many goroutines.
func BenchmarkGet(b *testing.B) {
	store := openStore(b, b.TempDir())
	body := `{"text":"` + strings.Repeat("x", 490) + `"}`
	keys := make([]fanfold.Key, 1000)
	for i := range keys {
		keys[i] = fanfold.Key{Collection: "c", ID: fmt.Sprint(i)}
		if err := insert(store, uint64(i+1), keys[i], body); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if doc, _, err := store.Get(keys[i%len(keys)], fanfold.Embedded); err != nil || doc == nil {
				b.Error(doc, err)
				return
			}
		}
	})
}
