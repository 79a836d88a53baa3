package query_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/query"
)

// groupOf is a group as the oracle has it.
type groupOf struct {
	key    []value
	shown  []value // of the first document
	first  *thing
	values map[string]value
	things []*thing
}

// groupTerms are what documents are grouped by besides terms.
var groupTerms = []string{"tags[]", "lines[].k", "lines[].q", "_meta.createdAt", bySecond}

// termValues returns the values of a term of a group in each element of its array, or its one value.
func termValues(d *thing, names []string) (tuples [][]value) {
	array := ""
	for _, name := range names {
		if root, _, is := strings.Cut(name, "[]"); is {
			array = root
		}
	}
	list, ok := at(d.body, array).([]any)
	if array == "" || !ok || len(list) == 0 {
		list = []any{nil}
	}
	for _, element := range list {
		tuple := make([]value, len(names))
		for i, name := range names {
			if root, member, is := strings.Cut(name, "[]"); is && root == array {
				if tuple[i] = element; member != "" {
					tuple[i] = at(element, member[1:])
				}
				continue
			}
			tuple[i] = termValue(d, name)
		}
		tuples = append(tuples, tuple)
	}
	return tuples
}

// compareTuples compares the keys of groups.
func compareTuples(a, b []value) int {
	return slices.CompareFunc(a, b, order)
}

// group groups documents.
func group(things []*thing, r query.Request) (out []*groupOf) {
	things = slices.Clone(things)
	slices.SortFunc(things, func(a, b *thing) int { return int(a.number - b.number) })
	if len(r.Group) == 0 {
		out = append(out, &groupOf{})
	}
	for _, d := range things {
		var mine []*groupOf
		for _, tuple := range termValues(d, r.Group) {
			i := slices.IndexFunc(out, func(g *groupOf) bool { return compareTuples(g.key, tuple) == 0 })
			if i < 0 {
				i = len(out)
				out = append(out, &groupOf{key: tuple, shown: tuple, first: d})
			}
			if !slices.Contains(mine, out[i]) {
				mine = append(mine, out[i])
				out[i].things = append(out[i].things, d)
			}
		}
	}
	for _, g := range out {
		g.values = map[string]value{}
		for _, name := range r.Compute {
			if v := compute(g.things, name); v != nil {
				g.values[name] = v
			}
		}
		for i, name := range r.Group {
			if n, ok := g.shown[i].(*big.Rat); ok && name == "_meta.createdAt" {
				g.shown[i] = time.Unix(0, n.Num().Int64()).UTC().Format(time.RFC3339Nano)
			}
		}
	}
	return out
}

// compute returns the value of an aggregate, nil for none.
func compute(things []*thing, name string) value {
	if name == "count" {
		return big.NewRat(int64(len(things)), 1)
	}
	function, of, _ := strings.Cut(strings.TrimSuffix(name, ")"), "(")
	if strings.HasPrefix(of, "lower") {
		of = "lower(doc.s)"
	}
	var numbers []*big.Rat
	var different []value
	for _, d := range things {
		v := termValue(d, of)
		if v != nil && !slices.ContainsFunc(different, func(o value) bool { return order(o, v) == 0 }) {
			different = append(different, v)
		}
		if n, ok := v.(*big.Rat); ok && !strings.HasPrefix(of, "_meta") {
			numbers = append(numbers, n)
		}
	}
	if function == "distinct" {
		return big.NewRat(int64(len(different)), 1)
	}
	sum := new(big.Rat)
	if len(numbers) == 0 && function != "sum" {
		return nil
	}
	for _, n := range numbers {
		sum.Add(sum, n)
	}
	switch function {
	case "min":
		return slices.MinFunc(numbers, (*big.Rat).Cmp)
	case "max":
		return slices.MaxFunc(numbers, (*big.Rat).Cmp)
	case "avg":
		return sum.Quo(sum, big.NewRat(int64(len(numbers)), 1))
	}
	return sum
}

// sameValue tells whether an answer's value is what the oracle has: a mean to 20 digits.
func sameValue(name string, got, want value) bool {
	if g, ok := got.(*big.Rat); ok && strings.HasPrefix(name, "avg") {
		w, ok := want.(*big.Rat)
		if !ok {
			return false
		}
		difference := new(big.Rat).Sub(g, w)
		bound := new(big.Rat).Mul(w, big.NewRat(1, 1e18))
		return difference.Abs(difference).Cmp(bound.Abs(bound)) <= 0
	}
	if g, ok := got.(*big.Rat); ok {
		w, ok := want.(*big.Rat)
		return ok && g.Cmp(w) == 0
	}
	return reflect.DeepEqual(normal(got), normal(want))
}

// normal returns a value in a form that compares.
func normal(v value) any {
	switch v := v.(type) {
	case *big.Rat:
		return v.RatString()
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = normal(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name := range v {
			out[name] = normal(v[name])
		}
		return out
	}
	return v
}

// sameGroup compares a group of an answer with one of the oracle's.
func sameGroup(g query.Group, want *groupOf, r query.Request) string {
	key, values := parse(string(g.Key)).(map[string]any), parse(string(g.Values)).(map[string]any)
	n := 0
	for i, name := range r.Group {
		if want.shown[i] != nil {
			n++
		}
		if got := at(key, name); !sameValue("", got, want.shown[i]) && (got != nil || want.shown[i] != nil) {
			return fmt.Sprintf("key %s, want %v", g.Key, want.shown)
		}
	}
	if n != len(key) {
		return fmt.Sprintf("key %s, want %v", g.Key, want.shown)
	}
	for name, v := range want.values {
		if got := at(values, name); got == nil || !sameValue(name, got, v) {
			return fmt.Sprintf("values %s of %s, want %v", g.Values, g.Key, want.values)
		}
	}
	if len(values) != len(want.values) {
		return fmt.Sprintf("values %s of %s, want %v", g.Values, g.Key, want.values)
	}
	return ""
}

// drawGroups draws what a request groups by, computes and sorts by.
func drawGroups(t *rapid.T, s *shelf) (r query.Request) {
	r = query.Request{Grouped: true, Params: params, Limit: rapid.IntRange(1, 8).Draw(t, "limit")}
	all := append(slices.Sorted(maps.Keys(terms)), groupTerms...)
	array := ""
	if list := s.model.Collection("things").Indexes; len(list) > 0 && rapid.Bool().Draw(t, "by an index") {
		for _, c := range rapid.SampledFrom(list).Draw(t, "index").Components {
			if name := c.Term(); len(r.Group) < 2 && name != "id" && name != "_meta.updatedAt" {
				r.Group = append(r.Group, name)
			}
		}
		return r
	}
	for range rapid.IntRange(0, 3).Draw(t, "groups") {
		name := rapid.SampledFrom(all).Draw(t, "group")
		root, _, is := strings.Cut(name, "[]")
		if slices.Contains(r.Group, name) || is && array != "" && array != root {
			continue
		}
		if is {
			array = root
		}
		r.Group = append(r.Group, name)
	}
	for range rapid.IntRange(0, 4).Draw(t, "computes") {
		name := "count"
		if function := rapid.SampledFrom([]string{"count", "sum", "min", "max", "avg", "distinct"}).Draw(t, "function"); function != "count" {
			name = function + "(" + rapid.SampledFrom([]string{"n", "a", "o.x", "s", "lower(doc.s)", "_meta.createdAt"}).Draw(t, "of") + ")"
		}
		if !slices.Contains(r.Compute, name) {
			r.Compute = append(r.Compute, name)
		}
	}
	if entries := slices.Concat(r.Group, r.Compute); len(entries) > 0 && rapid.Bool().Draw(t, "sorted") {
		for range rapid.IntRange(1, 2).Draw(t, "sorts") {
			name := rapid.SampledFrom(entries).Draw(t, "sort")
			if rapid.Bool().Draw(t, "descending") {
				name = "-" + name
			}
			r.Sort = append(r.Sort, name)
		}
	}
	return r
}

// compareGroups orders groups by a sort, then by their keys.
func compareGroups(a, b *groupOf, r query.Request) int {
	for _, s := range r.Sort {
		name, down := strings.CutPrefix(s, "-")
		var c int
		if i := slices.Index(r.Group, name); i >= 0 && !slices.Contains(r.Compute, name) {
			c = order(a.key[i], b.key[i])
		} else {
			c = order(rounded(name, a.values[name]), rounded(name, b.values[name]))
		}
		if down {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return compareTuples(a.key, b.key)
}

// rounded returns a mean as the store has it, so that those that differ beyond its digits are alike.
func rounded(name string, v value) value {
	n, ok := v.(*big.Rat)
	if !ok || !strings.HasPrefix(name, "avg") {
		return v
	}
	f := new(big.Float).SetPrec(400).SetMode(big.ToNearestEven).SetRat(n)
	out, _ := new(big.Rat).SetString(f.Text('e', 19))
	return out
}

// TestRandomGroups compares groups with an oracle.
func TestRandomGroups(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		s := newShelf(rt, 25, short)
		for range 10 {
			r := drawGroups(rt, s)
			var f node
			if rapid.Bool().Draw(rt, "filtered") {
				f = filter(rt, 1)
				r.Filter = f.cel()
			}
			wanted := r
			if len(r.Compute) == 0 {
				wanted.Compute = []string{"count"}
			}
			r.Within = within(rt)
			want := group(referring(s.matching(f), r.Within), wanted)
			slices.SortFunc(want, func(a, b *groupOf) int { return compareGroups(a, b, wanted) })
			if len(want) > 100 {
				r.Limit *= 100
			}
			var got []query.Group
			var plan *query.Plan
			for page := 0; page == 0 || r.Cursor != ""; page++ {
				a := s.mustAsk(rt, r)
				if page > 3000 {
					rt.Fatalf("%s: the pages have no end: %s", describe(r), explain(a.Plan))
				}
				if len(a.Groups) > r.Limit || a.Next != "" && len(a.Groups) != r.Limit {
					rt.Fatalf("%s: page %d has %d groups", describe(r), page, len(a.Groups))
				}
				got, plan, r.Cursor = append(got, a.Groups...), a.Plan, a.Next
			}
			text, _ := json.Marshal(got)
			if len(got) != len(want) {
				rt.Fatalf("%s: %d groups %s, want %d\n%s", describe(r), len(got), text, len(want), explain(plan))
			}
			for i := range got {
				if why := sameGroup(got[i], want[i], wanted); why != "" {
					rt.Fatalf("%s: group %d of %s: %s\n%s", describe(r), i, text, why, explain(plan))
				}
			}
			kind := "documents " + plan.Order
			if plan.Documents == 0 && plan.Entries > 0 {
				kind = "entries " + plan.Order
			}
			seen[kind]++
		}
	})
	t.Log(seen)
	for _, kind := range []string{"documents sorted", "entries sorted", "entries index"} {
		if seen[kind] == 0 && !t.Failed() {
			t.Errorf("no groups were made from %s", kind)
		}
	}
}

// TestGroupsOfManyElements: a document is counted once under each of its elements, however many it has, with an index and without.
func TestGroupsOfManyElements(t *testing.T) {
	for _, indexes := range []string{"{}", `{ byTag: ["tags[]"] }`, `{ byTag: ["-tags[]"] }`} {
		w := newWorld(t)
		w.setModel(t, "collections: { things: { indexes: "+indexes+" } }")
		w.apply(t, put("things", "d1", `{"id":"d1","tags":`+manyTags+`}`), put("things", "d2", `{"id":"d2","tags":["a","a",5]}`), put("things", "d3", `{"id":"d3","tags":{"a":1}}`), put("things", "d4", `{"id":"d4"}`))
		r := query.Request{Grouped: true, Group: []string{"tags[]"}, Sort: []string{"-count", "-tags[]"}, Limit: 3}
		a := w.mustAsk(t, r)
		text, _ := json.Marshal(a.Groups)
		if want := `[{"key":{"tags[]":"a"},"values":{"count":2}},{"key":{"tags[]":5},"values":{"count":2}},{"key":{},"values":{"count":2}}]`; string(text) != want {
			t.Errorf("with %s: %s", indexes, text)
		}
		r.Sort, r.Limit = nil, 1000
		n := len(w.mustAsk(t, r).Groups)
		r.Cursor = w.mustAsk(t, r).Next
		if n += len(w.mustAsk(t, r).Groups); n != 1003 {
			t.Errorf("with %s: %d groups", indexes, n)
		}
	}
}
