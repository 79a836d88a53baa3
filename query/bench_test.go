package query_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/sqlite"
)

// benchShelf returns a world of 10,000 documents of half a kilobyte.
func benchShelf(b *testing.B) *world {
	w := newWorld(b)
	w.setModel(b, "collections: { things: { indexes: { byA: [a, n], byStatus: [status, n], byText: [s, n] } } }")
	var events []*fanfold.Event
	for i := range 10_000 {
		events = append(events, put("things", fmt.Sprintf("d%05d", i),
			fmt.Sprintf(`{"id":"d%05d","a":%d,"n":%d,"status":"s%d","s":"text %d","filler":%q}`, i, i%3, i*7%10_000, i%5, i, strings.Repeat("word ", 85))))
	}
	w.apply(b, events...)
	return w
}

// BenchmarkQuery measures the kinds of queries on 10,000 documents.
func BenchmarkQuery(b *testing.B) {
	w := benchShelf(b)
	for _, c := range []struct {
		name string
		r    query.Request
	}{
		{"lookup", query.Request{Filter: `doc.s == params.s`, Params: []byte(`{"s":"text 77"}`)}},
		{"page", query.Request{Filter: `doc.a == 1`, Sort: []string{"n"}, Limit: 50}},
		{"merge", query.Request{Filter: `doc.a in [0, 1, 2]`, Sort: []string{"n"}, Limit: 50}},
		{"scan", query.Request{Filter: `doc.a > 1 && doc.s.contains("x9")`}},
		{"scan of all", query.Request{Filter: `doc.n > 1 && doc.filler.contains("x9")`}},
		{"sort", query.Request{Sort: []string{"filler"}, Limit: 50}},
		{"count", query.Request{Filter: `doc.a >= 1`, Count: true, Limit: 1}},
		{"group", query.Request{Grouped: true, Group: []string{"status"}, Compute: []string{"count", "sum(n)"}}},
		{"group of documents", query.Request{Grouped: true, Group: []string{"filler"}, Compute: []string{"count"}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.mustAsk(b, c.r)
			}
		})
	}
	b.Run("bare scan", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := w.store.Read(func(s *sqlite.Snapshot) error {
				_, err := s.EachListed("things", "", 20_000, fanfold.Embedded, func(*fanfold.Document) (bool, error) { return true, nil })
				return err
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
