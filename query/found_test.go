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
		_, err := q.Run(ctx, s, func(*fanfold.Document) (bool, error) { return true, nil })
		return err
	})
	if !errors.Is(err, context.Canceled) || asked != 1 {
		t.Errorf("a slow query whose client has left ends with %v, and has asked %d times", err, asked)
	}
}

// TestReferringByAnIndex: the documents that refer to one are walked by an index that begins with the relation's path, in its order.
// Numbers and texts that are the same id are found, and no other numbers of the same value. An id that is no JSON value is a text.
func TestReferringByAnIndex(t *testing.T) {
	w := newWorld(t)
	const relation = "collections: { parents: {}, things: { relations: { parent: { path: pid, to: parents } }, indexes: { %s } } }"
	w.setModel(t, fmt.Sprintf(relation, "byParent: [pid, -n]"))
	var events []*fanfold.Event
	for i, pid := range []string{`"p1"`, `"5"`, `5`, `5.0`, `"p1"`, `50e-1`, `"p2"`, `null`, `" "`, `"5,6"`, `"5 "`, `"{}"`} {
		events = append(events, put("things", fmt.Sprint(i), fmt.Sprintf(`{"n":%d,"pid":%s}`, i, pid)))
	}
	w.apply(t, events...)
	for target, want := range map[string]string{"p1": "[4 0]", "5": "[2 1]", "5.0": "[3]", "p3": "[]", " ": "[8]", "5,6": "[9]", "5 ": "[10]", "{}": "[11]", "-": "[]", "5,": "[]"} {
		r := query.Request{Within: &query.Within{Relation: "things.parent", Target: target}, Sort: []string{"-n"}, Count: true}
		a := w.mustAsk(t, r)
		if fmt.Sprint(a.ids) != want || a.Count != int64(len(a.ids)) || target[0] == 'p' && (*a.Plan.Index != "byParent" || a.Plan.Order != "index") {
			t.Errorf("%s has %v and counts %d by %s, %s; want %s", target, a.ids, a.Count, *a.Plan.Index, a.Plan.Order, want)
		}
	}
	w.setModel(t, fmt.Sprintf(relation, ""))
	r := query.Request{Within: &query.Within{Relation: "things.parent", Target: "p1"}, Sort: []string{"-n"}, MaxScan: 1}
	var needs *query.NeedsIndex
	if _, err := w.ask(r); !errors.As(err, &needs) || needs.Suggest == nil {
		t.Fatalf("%v", err)
	}
	w.setModel(t, fmt.Sprintf(relation, needs.Line))
	r.Limit = 1
	if a := w.mustAsk(t, r); fmt.Sprint(a.ids) != "[4]" || len(a.Plan.Conditions) != 1 {
		t.Errorf("by the index that was suggested it has %v", a.ids)
	}
}
