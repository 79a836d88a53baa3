package query_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/sqlite"
)

// TestCountBesideOverflow: a count asks documents that have one entry for too many elements, also where no other entry is left.
func TestCountBesideOverflow(t *testing.T) {
	w := newWorld(t)
	w.setModel(t, "collections: { things: { indexes: { byTag: ['tags[]', -n] } } }")
	var tags []string
	for i := range 1500 {
		tags = append(tags, fmt.Sprintf(`"t%d"`, i))
	}
	w.apply(t, put("things", "many", `{"n":1,"tags":[`+strings.Join(tags, ",")+`]}`), put("things", "object", `{"n":2,"tags":{"t1":1}}`), put("things", "few", `{"n":3,"tags":["t1"]}`))
	for filter, want := range map[string]int64{
		`doc.tags.exists(t, t == "a" && t == "b")`:   0,
		`doc.tags.exists(t, t in [])`:                0,
		`doc.tags.exists(t, t > "t1" && t < "t1")`:   0,
		`doc.tags.exists(t, t == "t1")`:              3,
		`doc.tags.exists(t, t > "t1" && t < "t100")`: 1,
	} {
		a := w.mustAsk(t, query.Request{Filter: filter, Count: true, Limit: 1})
		if a.Count != want || a.Plan.Index == nil {
			t.Errorf("%s counts %d by %v, want %d", filter, a.Count, a.Plan.Index, want)
		}
	}
}

// manyKeys returns a world of more documents than there may be groups in one answer, each with an n of its own.
func manyKeys(t *testing.T, indexes string) *world {
	w := newWorld(t)
	w.setModel(t, "collections: { things: { indexes: { "+indexes+" } } }")
	var events []*fanfold.Event
	for i := range 10_100 {
		events = append(events, put("things", fmt.Sprint(i), fmt.Sprintf(`{"n":%d,"g":%d}`, i, i%3)))
	}
	w.apply(t, events...)
	return w
}

// TestGroupTakesTheOrder: of two indexes that hold what a grouping asks for, the one that gives the order of the groups is taken, so
// that pages of them have no bound.
func TestGroupTakesTheOrder(t *testing.T) {
	w := manyKeys(t, "a1: [g, -n], z1: [n, g]")
	for _, group := range [][]string{{"n"}, {"n", "g"}} {
		a := w.mustAsk(t, query.Request{Grouped: true, Group: group, Limit: 2})
		if len(a.Groups) != 2 || a.Next == "" || *a.Plan.Index != "z1" || a.Plan.Order != "index" {
			t.Errorf("%v: %d groups by %s, in order by %s", group, len(a.Groups), *a.Plan.Index, a.Plan.Order)
		}
	}
}

// TestUselessIndexes: an index is suggested only where it helps.
func TestUselessIndexes(t *testing.T) {
	w := manyKeys(t, "byN: [n, g]")
	for _, r := range []query.Request{
		{Grouped: true, Group: []string{"n"}, Sort: []string{"-count"}},
		{Grouped: true, Group: []string{"n", "g"}, Sort: []string{"-n"}},
		{Filter: "doc.n >= 0 && string(doc.g).contains('x')"},
	} {
		_, err := w.ask(r)
		var needs *query.NeedsIndex
		if !errors.As(err, &needs) || needs.Suggest != nil || strings.HasSuffix(needs.Why, " ") {
			t.Errorf("%s: %v", describe(r), err)
		}
	}
	if a := w.mustAsk(t, query.Request{Filter: "doc.n > 5000 && string(doc.g).contains('x')", Explain: true}); a.Plan.Suggest != nil {
		t.Errorf("suggested: %s", a.Plan.Suggest)
	}
}

// TestFewSlowDocuments: a query whose expressions take long asks whether it may, and ends with its context, however few documents it
// looks at.
func TestFewSlowDocuments(t *testing.T) {
	w := newWorld(t)
	w.setModel(t, "collections: { things: {} }")
	var events []*fanfold.Event
	list := strings.TrimSuffix(strings.Repeat("1,", 250), ",")
	for i := range 500 {
		events = append(events, put("things", fmt.Sprint(i), `{"n":[`+list+`]}`))
	}
	w.apply(t, events...)
	slow := query.Request{MaxScan: 900}
	for i := range 8 {
		slow.Sort = append(slow.Sort, fmt.Sprintf("size(doc.n.filter(a, doc.n.exists(b, b + a == -%d)))", i))
	}
	slow.Heavy = func() bool { return false }
	if _, err := w.ask(slow); !errors.Is(err, query.ErrHeavy) {
		t.Errorf("a slow query that may not is answered with %v", err)
	}
	asked := 0
	ctx, cancel := context.WithCancel(t.Context())
	slow.Heavy = func() bool { asked++; cancel(); return true }
	q, err := query.Compile(w.request(slow), w.model)
	if err != nil {
		t.Fatal(err)
	}
	err = w.store.Read(func(s *sqlite.Snapshot) error {
		_, err := q.RunLong(ctx, s, func(*fanfold.Document) (bool, error) { return true, nil })
		return err
	})
	if !errors.Is(err, context.Canceled) || asked != 1 {
		t.Errorf("a slow query whose client has left ends with %v, and has asked %d times", err, asked)
	}
}
