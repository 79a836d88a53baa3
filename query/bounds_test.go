package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/sqlite"
)

// TestBadRequests: what is wrong with a request is told before a document is looked at, by the parameter's name.
func TestBadRequests(t *testing.T) {
	many := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("m%d", i))
		}
		return list
	}
	for words, r := range map[string]query.Request{
		"limit":                              {Limit: 1001},
		"relation others.ref":                {Within: &query.Within{Relation: "others.ref", Target: "x"}},
		"maxScan":                            {MaxScan: 100_001},
		"filter: column 1":                   {Filter: "docs.a == 1"},
		"filter: column 3":                   {Filter: "1 + 1"},
		"filter: column 10: params.x is":     {Filter: "doc.a == params.x"},
		"filter: the expression has":         {Filter: `doc.a == "` + strings.Repeat("x", 4096) + `"`},
		"params":                             {Params: []byte("[]")},
		"params: the parameters have":        {Params: []byte(`{"a":"` + strings.Repeat("x", 16<<10) + `"}`)},
		"sort: \"-\"":                        {Sort: []string{"-"}},
		"sort goes through the array":        {Sort: []string{"tags[]"}},
		"sort has 9":                         {Sort: many(9)},
		"group has 5":                        {Grouped: true, Group: many(5)},
		"group: \"-a\"":                      {Grouped: true, Group: []string{"-a"}},
		"group: \"a\" is there twice":        {Grouped: true, Group: []string{"a", "a"}},
		"group goes through two":             {Grouped: true, Group: []string{"a[]", "b[]"}},
		"compute has 17":                     {Grouped: true, Compute: many(17)},
		"compute: \"median(a)\"":             {Grouped: true, Compute: []string{"median(a)"}},
		"compute: \"sum\"":                   {Grouped: true, Compute: []string{"sum"}},
		"compute: sum():":                    {Grouped: true, Compute: []string{"sum()"}},
		"compute: \"sum(a[])\"":              {Grouped: true, Compute: []string{"sum(a[])"}},
		"compute: \"sum(-a)\"":               {Grouped: true, Compute: []string{"sum(-a)"}},
		"filter: column 25: params.x is":     {Filter: "has(params.y) && 1.0 <= params.x"},
		"filter: line 2, column 6: params.x": {Filter: "true &&\n1 == params.x"},
		"sort[1]: column 6: ":                {Sort: []string{"a", " -foo(doc.a)"}},
		"sort: column 8: ":                   {Sort: []string{"ü", "-foo(doc.a)"}, Before: func(string, int) string { return "ü, " }},
		"group[2]: column 4: ":               {Grouped: true, Group: []string{"a", "b", "foo(doc.b)"}},
		"compute[1]: column 20: ":            {Grouped: true, Compute: []string{"count", "sum(doc.a + doc.b.c(1))"}},
		"compute: column 26: ":               {Grouped: true, Compute: []string{"count", "sum(doc.a + doc.b.c(1))"}, Before: func(string, int) string { return "count," }},
		"compute: \"count\" is there":        {Grouped: true, Compute: []string{"count", "count"}},
		"sort: \"b\" is an entry of":         {Grouped: true, Group: []string{"a"}, Sort: []string{"b"}},
		"cursor":                             {Cursor: "x"},
	} {
		r.Collection = "things"
		if r.Limit == 0 {
			r.Limit = 1
		}
		_, err := query.Compile(r, model.Empty())
		if fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// TestNeverThere: no index is proposed for a member that none of the documents has that were looked at. One that some document has
// after the first ones is proposed.
func TestNeverThere(t *testing.T) {
	w := bigShelf(t, 300, "{}")
	for _, r := range []query.Request{
		{Filter: "doc.nonesuch == 1", MaxScan: 50},
		{Sort: []string{"nonesuch"}, MaxScan: 50},
		{Filter: "doc.a == 1 && doc.nonesuch > 2", MaxScan: 50},
	} {
		r.Limit = 10
		_, err := w.ask(r)
		if e := needs(t, err); e.Suggest != nil || !strings.Contains(err.Error(), `None of the 50 documents that were looked at has a member "nonesuch"`) {
			t.Errorf("%+v: %v, %s", r, err, e.Suggest)
		}
	}
	w.apply(t, put("things", "d00045", `{"id":"d00045","nonesuch":1}`))
	_, err := w.ask(query.Request{Sort: []string{"nonesuch"}, MaxScan: 299, Limit: 10})
	if e := needs(t, err); e.Suggest == nil {
		t.Errorf("a member that some document has is taken for a wrong name: %v", err)
	}
}

// TestNeedsIndex: past maxScan the error has a line for the model, and explain answers.
func TestNeedsIndex(t *testing.T) {
	w := bigShelf(t, 300, "{ old: [s] }")
	r := query.Request{Filter: "doc.a == 1 && doc.n > 5", Sort: []string{"-n"}, MaxScan: 50, Limit: 10}
	_, err := w.ask(r)
	e := needs(t, err)
	if e.Line != "byA: [a, -n]" || string(e.Suggest) != `{"collections":{"things":{"indexes":{"byA":["a","-n"]}}}}` || !strings.Contains(err.Error(), "maxScan=50") || !strings.Contains(err.Error(), e.Line) {
		t.Errorf("%v: %s", err, e.Suggest)
	}
	r.Explain = true
	a := w.mustAsk(t, r)
	text, _ := json.Marshal(a.Plan)
	var plan map[string]any
	if err := json.Unmarshal(text, &plan); err != nil {
		t.Fatal(err)
	}
	delete(plan, "seconds")
	plan["rejected"] = plan["rejected"].([]any)[:1] // TestRejectedTellsWhy has the others
	text, _ = json.Marshal(plan)
	const want = `{"complete":false,"conditions":[],"documents":50,"entries":0,"index":null,"matched":15,"noValue":0,"order":"sorted","ranges":1,` +
		`"rejected":[{"index":"old","why":"the filter says nothing about s, and its order is another"}],"residual":"doc.a == 1 \u0026\u0026 doc.n \u003e 5",` +
		`"suggest":{"collections":{"things":{"indexes":{"byA":["a","-n"]}}}}}`
	if string(text) != want || len(a.ids) > 0 {
		t.Errorf("%s\nwant %s", text, want)
	}
	asked := 0
	whole := query.Request{Filter: r.Filter, Sort: r.Sort, Limit: 10, Suggest: func() bool { asked++; return asked == 1 }}
	if a := w.mustAsk(t, whole); string(a.Plan.Suggest) != string(e.Suggest) || len(a.ids) != 10 {
		t.Errorf("a request that looks at many documents is answered without a suggestion: %s", explain(a.Plan))
	}
	w.take(t, e.Suggest)
	if a := w.mustAsk(t, whole); a.Plan.Suggest != nil || asked != 2 {
		t.Errorf("where nobody wants it there is a suggestion: %s", explain(a.Plan))
	}
	if a = w.mustAsk(t, r); !a.Plan.Complete || *a.Plan.Index != "byA" || a.Plan.Order != "index" || a.Plan.Documents != 11 || a.Plan.Residual != "" || a.Plan.Suggest != nil ||
		!slices.Equal(a.Plan.Conditions, []string{"doc.a == 1", "doc.n > 5"}) {
		t.Errorf("with the index: %s", explain(a.Plan))
	}
	_, err = w.ask(query.Request{Filter: `doc.s.contains("no")`, MaxScan: 50})
	if e := needs(t, err); e.Suggest != nil || !strings.Contains(err.Error(), `No index decides doc.s.contains("no")`) {
		t.Errorf("%v: %s", err, e.Suggest)
	}
	_, err = w.ask(query.Request{Filter: `doc.a == 1 && doc.s.contains("no")`, MaxScan: 50})
	if e := needs(t, err); e.Suggest != nil { // it would leave 100 documents
		t.Errorf("%v: %s", err, e.Suggest)
	}
}

// TestGroupsAreBounded: a grouping has no more than 10,000 groups, unless an index gives them one after the other.
func TestGroupsAreBounded(t *testing.T) {
	w := bigShelf(t, 10_001, "{}")
	r := query.Request{Grouped: true, Group: []string{"n"}, MaxScan: query.MaxScan, Limit: 3}
	_, err := w.ask(r)
	e := needs(t, err)
	if e.Line != "byN: [n]" || !strings.Contains(err.Error(), "10000 groups") {
		t.Errorf("%v", err)
	}
	w.take(t, e.Suggest)
	if a := w.mustAsk(t, r); len(a.Groups) != 3 || a.Plan.Documents != 0 || a.Plan.Entries > 4 || a.Next == "" {
		t.Errorf("with the index: %s", explain(a.Plan))
	}
	if a := w.mustAsk(t, query.Request{Count: true, Limit: 1}); a.Count != 10_001 || a.Plan.Documents > 2 {
		t.Errorf("all count %d: %s", a.Count, explain(a.Plan))
	}
	if a := w.mustAsk(t, query.Request{Count: true, Limit: 1, Filter: "doc.n >= 1"}); a.Count != 10_000 || a.Plan.Documents > 2 {
		t.Errorf("most count %d: %s", a.Count, explain(a.Plan))
	}
}

// TestHeavy: a query that looks at more than 1,000 documents asks whether it may.
func TestHeavy(t *testing.T) {
	w := bigShelf(t, 1500, "{}")
	asked, may := 0, false
	r := query.Request{Filter: `doc.s.contains("none")`, Sharing: query.Sharing{Heavy: func() bool { asked++; return may }}}
	if _, err := w.ask(r); !errors.Is(err, query.ErrHeavy) {
		t.Errorf("the error is %v", err)
	}
	may = true
	if a := w.mustAsk(t, r); asked != 2 || a.Plan.Documents != 1500 {
		t.Errorf("asked %d times: %s", asked, explain(a.Plan))
	}
	r.Filter = `doc.id < "d00999"`
	w.mustAsk(t, r)
	if asked != 2 {
		t.Error("a light query asks")
	}
}

// TestQueriesEnd: a query ends with its context, and a heavy one makes its snapshot its own.
func TestQueriesEnd(t *testing.T) {
	w := bigShelf(t, 3000, "{ byS: [s] }")
	q, err := query.Compile(w.request(query.Request{Filter: `doc.s.contains("none")`}), w.model)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	ended, cancel := context.WithCancel(t.Context())
	err = w.store.Read(func(s *sqlite.Snapshot) error {
		_, err := q.Run(ended, counting{s, func() {
			if looked++; looked == 1000 {
				cancel()
			}
		}}, nil)
		return err
	})
	if !errors.Is(err, context.Canceled) || looked > 1001 {
		t.Errorf("%d documents were looked at, %v", looked, err)
	}
	var o owning
	err = w.store.Read(func(s *sqlite.Snapshot) error {
		o.Snapshot = s
		_, err := q.Run(t.Context(), &o, nil)
		return err
	})
	if err != nil || o.times != 1 {
		t.Errorf("a heavy query makes its snapshot its own %d times, %v", o.times, err)
	}
}

// owning is a snapshot that counts how often a query makes it its own.
type owning struct {
	*sqlite.Snapshot
	times int
}

func (o *owning) Own(ctx context.Context) error {
	o.times++
	return o.Snapshot.Own(ctx)
}

// counting is a snapshot that calls note for each document of a walk by id.
type counting struct {
	*sqlite.Snapshot
	note func()
}

func (c counting) EachByID(r model.IDRange, fn func(doc *fanfold.Document) (bool, error)) error {
	return c.Snapshot.EachByID(r, func(doc *fanfold.Document) (bool, error) {
		c.note()
		return fn(doc)
	})
}

// TestReferencedView: what is shown may be what was written, and the filter looks at the embedded view all the same.
func TestReferencedView(t *testing.T) {
	w := newWorld(t)
	w.setModel(t, `collections: { targets: {}, things: { relations: { ref: { path: ref, to: targets } }, derive: { name: { copy: ref, value: doc.name } }, indexes: { byName: [name] } } }`)
	w.apply(t, put("targets", "t1", `{"id":"t1","name":"Ann"}`), put("things", "d1", `{"id":"d1","ref":"t1"}`), put("things", "d2", `{"id":"d2","ref":"t2"}`))
	for _, sort := range [][]string{nil, {"-name"}, {"ref"}} {
		q, err := query.Compile(w.request(query.Request{Filter: `doc.name == "Ann"`, View: fanfold.Referenced, Sort: sort}), w.model)
		if err != nil {
			t.Fatal(err)
		}
		var bodies []string
		if err := w.store.Read(func(s *sqlite.Snapshot) error {
			_, err := q.Run(t.Context(), s, func(doc *fanfold.Document) (bool, error) {
				bodies = append(bodies, string(doc.Body))
				return true, nil
			})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(bodies, []string{`{"id":"d1","ref":"t1"}`}) {
			t.Errorf("by %v: %v", sort, bodies)
		}
	}
	w.apply(t, put("targets", "t1", `{"id":"t1","name":"Bob"}`))
	if a := w.mustAsk(t, query.Request{Filter: `doc.name == "Bob"`}); !slices.Equal(a.ids, []string{"d1"}) || *a.Plan.Index != "byName" {
		t.Errorf("after a rename: %v by %s", a.ids, explain(a.Plan))
	}
}

// TestPagesThatEndEarly: a document that is not taken begins the next page.
func TestPagesThatEndEarly(t *testing.T) {
	w := bigShelf(t, 30, "{ byA: [a, n] }")
	for name, r := range map[string]query.Request{"scan": {}, "index": {Filter: "doc.a == 1"}, "in order": {Filter: "doc.a == 1", Sort: []string{"-n"}}, "sorted": {Sort: []string{"s"}}, "counted": {Sort: []string{"-s"}, Count: true}, "counted plan": {Filter: `doc.s.contains("1")`, Count: true}} {
		all := w.mustAsk(t, r).ids
		var ids []string
		r = w.request(r)
		for page := 0; page == 0 || r.Cursor != ""; page++ {
			q, err := query.Compile(r, w.model)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.store.Read(func(s *sqlite.Snapshot) error {
				n := 0
				result, err := q.Run(t.Context(), s, func(doc *fanfold.Document) (bool, error) {
					if n == 3 {
						return false, nil
					}
					n++
					ids = append(ids, doc.Key.ID)
					return true, nil
				})
				if err == nil {
					r.Cursor = result.Next
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(ids, all) {
			t.Errorf("%s: %v, want %v", name, ids, all)
		}
	}
}
