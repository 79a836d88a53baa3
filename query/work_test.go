package query_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/sqlite"
)

// TestWorkIsBounded: a request past a bound of its work is refused by the bound's name, and one within it is answered. The least bound that
// answers it is looked for, so that none is far off.
func TestWorkIsBounded(t *testing.T) {
	w := bigShelf(t, 300, "{ byN: [n, s], byA: [a], byTag: [\"tags[]\", s] }")
	const terms = "lower(doc.s + doc.u)"
	for name, c := range map[string]struct {
		says    string
		request query.Request
		allow   func(q *query.Query, n int)
		low     int // so much is too little
		high    int // so much is enough
	}{
		"memory of a sort":        {"the sort takes more than", query.Request{Sort: []string{terms}, Limit: 200}, memory, 200 * 64, 200 * 200},
		"memory of groups":        {"the groups take more than", query.Request{Grouped: true, Group: []string{terms}}, memory, 300 * 200, 300 * 500},
		"memory of many groups":   {"the groups take more than", query.Request{Grouped: true, Group: []string{"refs[]", "u"}}, memory, 300 * 250, 600 * 500},
		"memory of an aggregate":  {"the groups take more than", query.Request{Grouped: true, Compute: []string{"distinct(u)"}}, memory, 300 * 64, 300 * 128},
		"memory by an index":      {"the groups take more than", query.Request{Grouped: true, Group: []string{"s", "n"}}, memory, 300 * 200, 300 * 500},
		"entries of a list":       {"entries of index byN", query.Request{Filter: "doc.n >= 0 && doc.s.startsWith(\"none\")"}, entries, 299, 300},
		"entries of a count":      {"entries of index byA", query.Request{Filter: "doc.a == 1", Count: true, Limit: 1}, entries, 99, 100},
		"entries of an array":     {"entries of index byTag", query.Request{Filter: "doc.tags.exists(t, t >= \"\" && t < \"z\")", Count: true}, entries, 299, 300},
		"entries of groups":       {"entries of index byN", query.Request{Grouped: true, Group: []string{"s"}}, entries, 299, 300},
		"cost of a sort":          {"expressions cost more than", query.Request{Sort: []string{terms, "upper(doc.s)"}}, cost, 300 * 4, 300 * 60},
		"cost of groups":          {"expressions cost more than", query.Request{Grouped: true, Group: []string{terms}}, cost, 300 * 4, 300 * 60},
		"cost of an aggregate":    {"expressions cost more than", query.Request{Grouped: true, Compute: []string{"sum(doc.n * 2)"}}, cost, 299, 300 * 30},
		"cost of a filter":        {"expressions cost more than", query.Request{Filter: `upper(doc.s) != lower(doc.s)`}, cost, 300, 300 * 60},
		"cost of filter and sort": {"expressions cost more than", query.Request{Filter: `upper(doc.s) != lower(doc.s)`, Sort: []string{terms}}, cost, 300 * 9, 300 * 90},
	} {
		w.allow = func(q *query.Query) { c.allow(q, c.low) }
		_, err := w.ask(c.request)
		var e *query.NeedsIndex
		if !errors.As(err, &e) || !strings.Contains(e.Why, c.says) {
			a, _ := w.ask(c.request)
			t.Errorf("%s: past its bound a request ends with %v %s", name, err, explain(a.Plan))
			continue
		}
		explained := c.request
		explained.Explain = true
		if a := w.mustAsk(t, explained); a.Plan.Complete {
			t.Errorf("%s: past its bound a request is explained by %s", name, explain(a.Plan))
		}
		w.allow = func(q *query.Query) { c.allow(q, c.high) }
		if _, err := w.ask(c.request); err != nil {
			t.Errorf("%s: within its bound a request ends with %v", name, err)
		}
	}
}

func memory(q *query.Query, n int)  { q.Allow(0, n, 0) }
func entries(q *query.Query, n int) { q.Allow(int64(n), 0, 0) }
func cost(q *query.Query, n int)    { q.Allow(0, 0, n) }

// TestPagesPastEntries: pages that may end early go on from page to page past a bound on entries, and have every document once.
func TestPagesPastEntries(t *testing.T) {
	w := bigShelf(t, 300, "{ byN: [n, s] }")
	r := query.Request{Filter: `doc.n >= 0 && doc.s < "text 2"`, Partial: true}
	want := w.mustAsk(t, r).ids
	w.allow = func(q *query.Query) { q.Allow(40, 0, 0) }
	var got []string
	pages := 0
	for ; pages == 0 || r.Cursor != ""; pages++ {
		a := w.mustAsk(t, r)
		got, r.Cursor = append(got, a.ids...), a.Next
	}
	if strings.Join(got, " ") != strings.Join(want, " ") || pages < 7 {
		t.Errorf("%d pages have %v, want %v", pages, got, want)
	}
}

// TestCostIsThatOfARun: a query that begins anew has spent nothing.
func TestCostIsThatOfARun(t *testing.T) {
	w := bigShelf(t, 100, "{}")
	q, err := query.Compile(w.request(query.Request{Sort: []string{"lower(doc.s)"}}), w.model)
	if err != nil {
		t.Fatal(err)
	}
	q.Allow(0, 0, 100*20)
	for i := range 20 {
		if err := w.store.Read(func(s *sqlite.Snapshot) error {
			_, err := q.Run(t.Context(), s, func(*fanfold.Document) (bool, error) { return true, nil })
			return err
		}); err != nil {
			t.Fatalf("run %d ends with %v", i, err)
		}
	}
}

// TestWalksEnd: a walk over entries of an index ends with its context within 1,000 of them.
func TestWalksEnd(t *testing.T) {
	w := bigShelf(t, 3000, "{ byN: [n, s] }")
	for name, r := range map[string]query.Request{
		"list":  {Filter: `doc.n >= 0 && doc.s.startsWith("none")`},
		"count": {Filter: `doc.n >= 0 && doc.s.startsWith("none")`, Count: true},
		"group": {Grouped: true, Group: []string{"s"}},
	} {
		q, err := query.Compile(w.request(r), w.model)
		if err != nil {
			t.Fatal(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		looked := 0
		err = w.store.Read(func(s *sqlite.Snapshot) error {
			_, err := q.Run(ended, walked{s, func() {
				if looked++; looked == 500 {
					cancel()
				}
			}}, func(*fanfold.Document) (bool, error) { return true, nil })
			return err
		})
		if !errors.Is(err, context.Canceled) || looked < 500 || looked > 1500 {
			t.Errorf("%s: %d entries were walked, %v", name, looked, err)
		}
		cancel()
	}
}

// walked is a snapshot that calls note for each entry and key of a walk.
type walked struct {
	*sqlite.Snapshot
	note func()
}

func (w walked) EachEntry(walk model.Walk, documents bool, fn func(e model.Entry) (bool, error)) error {
	return w.Snapshot.EachEntry(walk, documents, func(e model.Entry) (bool, error) {
		w.note()
		return fn(e)
	})
}

func (w walked) EachKey(walk model.Walk, fn func(key []byte, entries, number int64) (bool, error)) error {
	return w.Snapshot.EachKey(walk, func(key []byte, entries, number int64) (bool, error) {
		w.note()
		return fn(key, entries, number)
	})
}
