package drift

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/modelfile"
)

// TestCompare: each value is right, wrong, missing or orphaned, at the place where its rule gives it.
func TestCompare(t *testing.T) {
	m, err := modelfile.Parse([]byte(`
collections:
  a:
    derive:
      n:    { count: b.a }
      ids:  { ids: b.a, limit: 2 }
      mean: { avg: b.a, of: v }
      last: { recent: b.a, max: 2, fields: [id, v] }
  b:
    relations: { a: { path: "xs[].ys[].id", to: a } }
    derive:
      "xs[].ys[].t": { copy: a, value: doc.t }
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		collection, brought, shown string
		want                       []string
	}{
		{"a", `{"n":2.0,"ids":[2,"1"],"mean":0.33333333333333331,"last":[{"v":1,"id":"x"}]}`, `{"n":2,"ids":["1","2"],"mean":0.33333333333333333333,"last":[{"id":"x","v":1}]}`, nil},
		{"a", `{"n":"2","ids":["1","1"],"mean":0.3333,"last":[]}`, `{"n":2,"ids":["1","2"],"mean":0.33333333333333333333,"last":[{"id":"x"}]}`, []string{"wrong /n", "wrong /ids", "wrong /mean", "wrong /last"}},
		{"a", `{"ids":7}`, `{"n":1,"ids":["1"],"last":[]}`, []string{"wrong /ids", "missing /n"}},
		{"a", `{"ids":["3","1","2"]}`, `{"n":0,"ids":["1","2"],"idsTruncated":true}`, nil},
		{"a", `{"ids":["3","1"]}`, `{"ids":["1","2"],"idsTruncated":true}`, []string{"wrong /ids"}},
		{"b", `{"xs":[{"ys":[{"id":"1","t":"x"},{"id":2,"t":"y"},{"id":"3","t":"z"},{"id":"4"}]},7]}`, `{"xs":[{"ys":[{"id":"1","t":"x"},{"id":2},{"id":"3"},{"id":"4","t":1}]},7]}`,
			[]string{"orphaned /xs/0/ys/1/t", "wrong /xs/0/ys/2/t", "missing /xs/0/ys/3/t"}},
		{"b", `{"xs":{"ys":1}}`, `{"xs":{"ys":1}}`, nil},
		{"c", `{"t":1}`, `{}`, nil},
	} {
		c := New(m)
		var got []string
		p := Pair{tt.collection, "i", []byte(tt.brought), []byte(tt.shown)}
		if targets := c.Targets(p); len(targets) > 0 && !slices.Equal(targets, []Target{{"a", "2"}, {"a", "3"}}) {
			t.Errorf("%s: the targets are %v", tt.brought, targets)
		}
		if err := c.Compare(p, func(of Target) bool { return of.ID == "3" }, func(d Difference) error {
			got = append(got, d.Kind+" "+d.Path)
			_, err := json.Marshal(d)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s beside %s: %q, want %q", tt.brought, tt.shown, got, tt.want)
		}
		drifted := false
		for _, r := range c.Rules() {
			drifted = drifted || r.Drifted()
		}
		if drifted != (len(tt.want) > 0) {
			t.Errorf("%s: it has drifted: %t", tt.brought, drifted)
		}
	}
}

// TestExamplesAreBounded: what a report shows of each rule has a bound, and each value is told all the same.
func TestExamplesAreBounded(t *testing.T) {
	m, err := modelfile.Parse([]byte("collections:\n  a: {derive: {n: {count: b.a}}}\n  b: {relations: {a: {path: a, to: a}}}"))
	if err != nil {
		t.Fatal(err)
	}
	c := New(m)
	told := 0
	for i := range MaxExamples + 10 {
		brought := `{"n":"` + strings.Repeat("x", maxExampleBytes*(i%2)) + `"}`
		err := c.Compare(Pair{"a", strconv.Itoa(i), []byte(brought), []byte(`{"n":1}`)}, nil, func(Difference) error { told++; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	r := c.Rules()[0]
	text, err := json.Marshal(r)
	if err != nil || told != MaxExamples+10 || r.Wrong != told || len(r.Examples) != told/2 || len(text) > maxExampleBytes {
		t.Errorf("of %d values there are %d examples in %d bytes, %v; told were %d", r.Wrong, len(r.Examples), len(text), err, told)
	}
}
