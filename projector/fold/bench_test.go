package fold_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// benchModel copies an author's name to the author's books, and counts them.
const benchModel = `
collections:
  authors: {derive: {books: {count: books.author}}}
  books:   {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}
`

// newBench returns a machine under benchModel.
func newBench(b *testing.B, opt fold.Options) *machine {
	b.Helper()
	m := newMachine(b)
	m.fold = fold.New(m.fold.Plan(), opt)
	parsed, err := modelfile.Parse([]byte(benchModel))
	if err != nil {
		b.Fatal(err)
	}
	m.apply(b, &fanfold.Event{Kind: fanfold.KindModel, Body: parsed.Source})
	return m
}

// apply folds events in one transaction, as the log's next ones.
func (m *machine) apply(tb testing.TB, events ...*fanfold.Event) {
	tb.Helper()
	for _, ev := range events {
		m.seq++
		ev.Seq, ev.Time = m.seq, time.Unix(int64(m.seq), 0)
	}
	if err := m.store.Use(func(db *sqlite.DB) error { return apply(db, m.fold, events) }); err != nil {
		tb.Fatal(err)
	}
}

// put returns the event of a put.
func put(collection, id, body string) *fanfold.Event {
	return &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: collection, ID: id}, Body: []byte(body)}
}

// books returns the puts of n books of author a.
func books(n int) []*fanfold.Event {
	events := make([]*fanfold.Event, n)
	for i := range events {
		events[i] = put("books", fmt.Sprint(i), fmt.Sprintf(`{"id":"%d","author":"a","title":"The book with number %d"}`, i, i))
	}
	return events
}

// BenchmarkPut folds one put of a document with a copy and a count on its target, a transaction each.
func BenchmarkPut(b *testing.B) {
	m := newBench(b, fold.Options{})
	m.apply(b, put("authors", "a", `{"id":"a","name":"Ann"}`))
	i := 0
	for b.Loop() {
		i++
		m.apply(b, put("books", fmt.Sprint(i), fmt.Sprintf(`{"id":"%d","author":"a"}`, i)))
	}
}

// BenchmarkRename folds a rename that changes the copies on 1,000 holders, document by document and by set-oriented SQL.
func BenchmarkRename(b *testing.B) {
	const holders = 1000
	for name, from := range map[string]int{"ByDocument": -1, "SetOriented": 0} {
		b.Run(name, func(b *testing.B) {
			m := newBench(b, fold.Options{SetOrientedFrom: from})
			m.apply(b, put("authors", "a", `{"id":"a","name":"Ann"}`))
			m.apply(b, books(holders)...)
			i := 0
			for b.Loop() {
				i++
				m.apply(b, put("authors", "a", fmt.Sprintf(`{"id":"a","name":"Ann %d"}`, i)))
			}
			b.ReportMetric(float64(b.N)*holders/b.Elapsed().Seconds(), "changes/s")
		})
	}
}

// BenchmarkReplay folds a model, 100 authors and 4,000 books into a new file, in batches as a replay does.
func BenchmarkReplay(b *testing.B) {
	const authors, perAuthor, batch = 100, 40, 1000
	for b.Loop() {
		b.StopTimer()
		var events []*fanfold.Event
		for a := range authors {
			events = append(events, put("authors", fmt.Sprint(a), fmt.Sprintf(`{"id":"%d","name":"Author %d"}`, a, a)))
			for i := range perAuthor {
				id := fmt.Sprintf("%d-%d", a, i)
				events = append(events, put("books", id, fmt.Sprintf(`{"id":"%s","author":"%d"}`, id, a)))
			}
		}
		b.StartTimer()
		m := newBench(b, fold.Options{})
		for len(events) > 0 {
			n := min(batch, len(events))
			m.apply(b, events[:n]...)
			events = events[n:]
		}
	}
	b.ReportMetric(float64(b.N)*authors*(1+perAuthor)/b.Elapsed().Seconds(), "events/s")
}
