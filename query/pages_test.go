package query_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/query"
)

// TestCursorsAcrossWrites: what stays in the answer and keeps its sort key comes exactly once, whatever else is written between two
// pages.
func TestCursorsAcrossWrites(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const most = 25
		s := newShelf(rt, most, wild)
		for range 3 {
			var f node
			r := query.Request{Params: params, Limit: rapid.IntRange(1, 5).Draw(rt, "limit"), Sort: sorts(rt)}
			if rapid.Bool().Draw(rt, "filtered") {
				f = filter(rt, 1)
				r.Filter = f.cel()
			}
			stays := map[string]*thing{} // in the answer since the beginning, and never written
			for _, d := range s.matching(f) {
				stays[d.id] = d
			}
			var ids []string
			for page := 0; page == 0 || r.Cursor != ""; page++ {
				a := s.mustAsk(rt, r)
				if page > 4*most {
					rt.Fatalf("%s: the pages have no end", describe(r))
				}
				ids = append(ids, a.ids...)
				r.Cursor = a.Next
				for range rapid.IntRange(0, 2).Draw(rt, "writes") {
					s.rewrite(rt, most)
				}
			}
			for id, d := range stays {
				if s.things[id] != d {
					continue
				}
				if n := countOf(ids, id); n != 1 {
					rt.Fatalf("%s: %s comes %d times in %v", describe(r), id, n, ids)
				}
			}
		}
	})
}

func countOf(list []string, s string) (n int) {
	for _, o := range list {
		if o == s {
			n++
		}
	}
	return n
}

// bigShelf returns a world of n documents under a model: member a is one of three, n counts.
func bigShelf(t *testing.T, n int, indexes string) *world {
	t.Helper()
	w := newWorld(t)
	w.setModel(t, "collections:\n  targets: {}\n  things:\n    unique: [u, [a, n], lower(doc.s)]\n    relations: { ref: { path: ref, to: targets }, all: { path: \"refs[]\", to: targets }, part: { path: \"parts[].of\", to: targets } }\n    indexes: "+indexes+"\n")
	var events []*fanfold.Event
	for i := range n {
		events = append(events, put("things", fmt.Sprintf("d%05d", i),
			fmt.Sprintf(`{"id":"d%05d","a":%d,"n":%d,"u":"u%d","s":"text %d","ref":"t%d","refs":["t%d","t%d"],"tags":["x%d","y%d"],"parts":[{"of":"t%d"}]}`, i, i%3, i, i, i%10, i%7, i%5, i%4, i%2, i%5, i%5)))
	}
	w.apply(t, events...)
	return w
}

// needs returns the error of a request that needs an index.
func needs(t *testing.T, err error) *query.NeedsIndex {
	t.Helper()
	var e *query.NeedsIndex
	if !errors.As(err, &e) || fanfold.CodeOf(err) != fanfold.NeedsIndex {
		t.Fatalf("the error is %v", err)
	}
	return e
}

// TestPartialPages: a page that may end early ends at a bound, and the next one goes on from there.
func TestPartialPages(t *testing.T) {
	w := bigShelf(t, 200, "{ byA: [a, n] }")
	for name, r := range map[string]query.Request{
		"a scan":                {Filter: `doc.s.contains("7")`, Limit: 5},
		"an index":              {Filter: `doc.a == 1 && doc.s.contains("7")`, Limit: 5},
		"an index in order":     {Filter: `doc.a == 1 && doc.s.contains("7")`, Sort: []string{"-n"}, Limit: 50},
		"several in one order":  {Filter: `doc.a in [1, 2] && doc.s.contains("7")`, Sort: []string{"n"}, Limit: 5},
		"references":            {Filter: `doc.s.contains("7")`, Within: &query.Within{Relation: "things.ref", Target: "t3"}, Limit: 5},
		"a full page at bounds": {Filter: `doc.a == 1`, Limit: 7},
	} {
		all := w.mustAsk(t, withLimit(r, 1000))
		r.MaxScan, r.Partial = 7, true
		var ids []string
		for pages := 0; pages == 0 || r.Cursor != ""; pages++ {
			a := w.mustAsk(t, r)
			if a.Plan.Documents > 8 || pages > 100 {
				t.Fatalf("%s: page %d looks at %d documents", name, pages, a.Plan.Documents)
			}
			ids, r.Cursor = append(ids, a.ids...), a.Next
		}
		if !slices.Equal(ids, all.ids) || len(ids) == 0 {
			t.Errorf("%s: pages have %v, all at once is %v", name, ids, all.ids)
		}
	}
	for _, r := range []query.Request{
		{Partial: true, Count: true}, {Partial: true, Grouped: true}, {Partial: true, Sort: []string{"s"}}, {Grouped: true, Count: true},
	} {
		if _, err := w.ask(r); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v", describe(r), err)
		}
	}
}

func withLimit(r query.Request, limit int) query.Request {
	r.Limit = limit
	return r
}

// TestPlansWithoutIndexes: links, ids and unique values serve what asks for one.
func TestPlansWithoutIndexes(t *testing.T) {
	w := bigShelf(t, 100, "{}")
	for filter, want := range map[string]struct {
		index           string
		documents, many int64
	}{
		`doc.ref == "t3"`:                        {"relation:ref", 14, 14},
		`doc.u == "u7"`:                          {"unique:u", 1, 1},
		`doc.u == "u7" && doc.a == 0`:            {"unique:u", 1, 0},
		`doc.u == "none"`:                        {"unique:u", 0, 0},
		`doc.n == 7.0 && doc.a == 1`:             {`unique:["a","n"]`, 1, 1},
		`doc.n == 7 && doc.a == 2`:               {`unique:["a","n"]`, 0, 0},
		`lower(doc.s) == "text 5"`:               {"unique:lower(doc.s)", 1, 1},
		`doc.u == null`:                          {"", 100, 0},
		`"t3" in doc.refs`:                       {"", 100, 40},
		`doc.parts.exists(x, x.of == "t3")`:      {"relation:part", 20, 20},
		`doc.id == "d00042"`:                     {"id", 1, 1},
		`doc.id in ["d00042", "d00007", "x"]`:    {"id", 2, 2},
		`doc.id > "d00097"`:                      {"id", 3, 2},
		`doc.id > "d00010" && doc.id < "d00013"`: {"id", 4, 2},
		`doc.id.startsWith("d0001")`:             {"id", 10, 10},
		`doc.id < "d00002" || doc.id == "x"`:     {"id", 3, 2},
		`doc.ref == "t3" && doc.id > "d00097"`:   {"id", 3, 0},
		`doc.ref == 3`:                           {"", 100, 0},
		`doc.id == 3`:                            {"", 100, 0},
	} {
		a := w.mustAsk(t, query.Request{Filter: filter, Explain: false})
		index := ""
		if a.Plan.Index != nil {
			index = *a.Plan.Index
		}
		if index != want.index || a.Plan.Documents != want.documents || int64(len(a.ids)) != want.many {
			t.Errorf("%s: %s, %d documents", filter, explain(a.Plan), len(a.ids))
		}
	}
	other := w.request(query.Request{Filter: `doc.ref == "t3"`})
	w.modelSeq++ // a model that the snapshot does not have
	if a := w.mustAsk(t, other); a.Plan.Index != nil || len(a.ids) != 14 {
		t.Errorf("under another model: %s", explain(a.Plan))
	}
	w.modelSeq--
}

// TestCursorRefusals: a cursor is of one request, and of one index.
func TestCursorRefusals(t *testing.T) {
	w := bigShelf(t, 20, "{ byA: [a, n] }")
	r := query.Request{Filter: "doc.a == params.a", Params: []byte(`{"a":1}`), Limit: 2}
	next := w.mustAsk(t, r).Next
	refused := func(what string, r query.Request, words string) {
		t.Helper()
		r.Cursor = next
		if _, err := w.ask(r); fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same := r
	same.Params, same.Cursor, same.Limit = []byte(`{ "a" : 1 }`), next, 3
	if a := w.mustAsk(t, same); !slices.Equal(a.ids, []string{"d00007", "d00010", "d00013"}) {
		t.Errorf("the second page has %v", a.ids)
	}
	for what, change := range map[string]func(r *query.Request){
		"another filter": func(r *query.Request) { r.Filter = "doc.a == 1" }, "other params": func(r *query.Request) { r.Params = []byte(`{"a":2}`) },
		"a sort": func(r *query.Request) { r.Sort = []string{"n"} }, "another collection": func(r *query.Request) { r.Collection = "targets" },
		"groups": func(r *query.Request) { r.Grouped = true }, "a relation": func(r *query.Request) { r.Within = &query.Within{Relation: "things.ref", Target: "t1"} },
	} {
		other := r
		change(&other)
		refused(what, other, "another request")
	}
	w.setModel(t, "collections: { things: {} }")
	refused("without its index", r, "begin again")
	next = "x" + next
	refused("damaged", r, "next")
	next = strings.Repeat("x", query.MaxCursor+1)
	refused("too long", r, "bytes")
}

// TestManyRanges: more values than ranges are walked are found in one range.
func TestManyRanges(t *testing.T) {
	w := bigShelf(t, 1500, "{ byN: [n], byDown: [-n, a], byA: [a, n] }")
	var list []string
	for i := range 1200 {
		list = append(list, fmt.Sprint(i*2))
	}
	r := query.Request{Filter: "doc.n in params.list", Params: []byte(`{"list":[` + strings.Join(list, ",") + "]}"), Limit: 1000, Count: true}
	for _, sort := range [][]string{nil, {"n"}, {"-n", "a"}, {"n", "-a"}} {
		r.Sort = sort
		a := w.mustAsk(t, r)
		if len(a.ids) != 750 || a.Count != 750 || a.Plan.Ranges != 1 || a.Plan.Documents != 750 || len(a.Plan.Residual) > 0 {
			t.Errorf("by %v: %d documents, %d counted: %s", sort, len(a.ids), a.Count, explain(a.Plan))
		}
	}
	r.Filter, r.Sort = "doc.a in [0, 1] && doc.n in params.list", []string{"-n"}
	a := w.mustAsk(t, r)
	if len(a.ids) != 500 || a.Count != 500 || *a.Plan.Index != "byA" || a.Plan.Order != "index" || a.ids[0] != "d01498" || a.ids[1] != "d01494" {
		t.Errorf("%d documents, from %s on: %s", len(a.ids), a.ids[:2], explain(a.Plan))
	}
}

// TestForgedCursors: a cursor that was made up begins somewhere else.
func TestForgedCursors(t *testing.T) {
	w := bigShelf(t, 60, "{ byA: [a, n], byDown: [-n, a] }")
	kinds := []query.Request{
		{}, {Filter: "doc.a == 1"}, {Filter: "doc.a in [0, 1]", Sort: []string{"n"}}, {Filter: "doc.a == 1", Sort: []string{"-n"}}, {Sort: []string{"s"}},
		{Grouped: true, Group: []string{"a"}}, {Grouped: true, Group: []string{"n"}}, {Grouped: true, Group: []string{"s"}, Sort: []string{"-count"}},
		{Within: &query.Within{Relation: "things.ref", Target: "t1"}}, {Filter: `doc.id > "d00030"`},
	}
	rapid.Check(t, func(rt *rapid.T) {
		r := rapid.SampledFrom(kinds).Draw(rt, "kind")
		all := w.mustAsk(rt, r)
		r.Limit = rapid.IntRange(1, 5).Draw(rt, "limit")
		next := w.mustAsk(rt, r).Next
		key := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 12), rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 3, 0xff, 0xfd, '1'}), 0, 9)).Draw(rt, "key")
		forged, ok := query.Forge(next, key, rapid.Int64().Draw(rt, "tie"))
		if r.Cursor = forged; !ok {
			return
		}
		a, err := w.ask(r)
		if err != nil {
			if fanfold.CodeOf(err) != fanfold.Invalid {
				rt.Fatalf("%s: %v", describe(r), err)
			}
			return
		}
		for _, id := range a.ids {
			if !slices.Contains(all.ids, id) {
				rt.Fatalf("%s gives %s, which is not in the answer", describe(r), id)
			}
		}
	})
}

// TestTwoRanges: ranges of a descending component are walked in its order, page by page.
func TestTwoRanges(t *testing.T) {
	w := bigShelf(t, 60, "{ byDown: [-n, a] }")
	for _, sort := range [][]string{nil, {"-n", "a"}, {"n", "-a"}} {
		r := query.Request{Filter: "doc.n < 3 || doc.n == 20 || doc.n > 56", Sort: sort, Limit: 2}
		var ids []string
		for page := 0; page < 10 && (page == 0 || r.Cursor != ""); page++ {
			a := w.mustAsk(t, r)
			if ids, r.Cursor = append(ids, a.ids...), a.Next; a.Plan.Ranges != 3 || a.Plan.Residual != "" {
				t.Errorf("by %v: %s", sort, explain(a.Plan))
			}
		}
		want := []string{"d00059", "d00058", "d00057", "d00020", "d00002", "d00001", "d00000"}
		if sort != nil && sort[0] == "n" {
			slices.Reverse(want)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("by %v: %v, want %v", sort, ids, want)
		}
	}
}

// TestCursorOfAnIndexThatOverflows: a cursor stays good when its index gives the order no more.
func TestCursorOfAnIndexThatOverflows(t *testing.T) {
	w := bigShelf(t, 20, "{ byN: [n, \"tags[]\"] }")
	r := query.Request{Filter: `"x0" in doc.tags`, Sort: []string{"n"}, Limit: 3}
	a := w.mustAsk(t, r)
	w.apply(t, put("things", "e", `{"id":"e","n":7,"tags":{"x0":1}}`))
	r.Cursor = a.Next
	if b := w.mustAsk(t, r); a.Plan.Order != "index" || b.Plan.Order != "sorted" || !slices.Equal(append(a.ids, b.ids...), []string{"d00000", "d00002", "d00004", "d00006", "e", "d00008"}) {
		t.Errorf("the pages have %v and %v: %s", a.ids, b.ids, explain(b.Plan))
	}
}
