package sqlite

import (
	"os"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// BenchmarkBase writes and loads the base of a million documents with a link each.
func BenchmarkBase(b *testing.B) {
	store, err := OpenStore(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	db, err := store.Build()
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Update(func(tx *Tx) error {
		tx.checkpoint = Checkpoint{Seq: 1_000_000, Position: fanfold.At(1_000_000, 0), Time: time.Unix(1, 0), Changes: 1_000_000}
		for _, q := range []string{"WITH RECURSIVE n (v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 1000000) INSERT INTO document SELECT v, 'books', printf('%x', v * 2654435761 % 1000000007), v, v << 20, 1, 1," +
			" json_object('id', printf('%x', v * 2654435761 % 1000000007), 'text', hex(randomblob(120)), 'author', v % 1000), NULL, NULL, NULL, NULL FROM n",
			"INSERT INTO name (id, text) VALUES (1, 'books.author')",
			"INSERT INTO link (relation, target, holder) SELECT 1, CAST(number % 1000 AS TEXT), number FROM document"} {
			if err := tx.c.Exec(q); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	path := b.TempDir() + "/base"
	for b.Loop() {
		out, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		h, err := db.WriteBase(b.Context(), out)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(begun).Seconds(), "write-s")
		if _, err := out.Seek(0, 0); err != nil {
			b.Fatal(err)
		}
		next, err := store.Build()
		if err != nil {
			b.Fatal(err)
		}
		begun = time.Now()
		if _, err := next.LoadBase(b.Context(), out, h); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(begun).Seconds(), "load-s")
		info, _ := out.Stat()
		b.ReportMetric(float64(info.Size()), "file-B")
		if err := store.Discard(next); err != nil {
			b.Fatal(err)
		}
	}
}
