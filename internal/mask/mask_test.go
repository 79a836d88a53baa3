package mask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// of returns the mask of some paths.
func of(t testing.TB, texts ...string) *Mask {
	t.Helper()
	var paths []model.Path
	for _, text := range texts {
		path, err := model.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return Of(paths)
}

// TestCut: a document lacks its masked members, whatever they are, and has all others as they were.
func TestCut(t *testing.T) {
	m := of(t, "revenue", "lines[].cost", "a.b", "grid[][].x")
	for _, c := range [][3]string{
		{`{"id":"1","revenue":7}`, `{"id":"1"}`, "/revenue"},
		{`{"id":"1"}`, `{"id":"1"}`, ""},
		{`{"revenue":{"lines":[]},"lines":[{"cost":1.50,"n":2.50},{"cost":null},3,[{"cost":1}]]}`, `{"lines":[{"n":2.50},{},3,[{"cost":1}]]}`, "/revenue /lines/0/cost /lines/1/cost"},
		{`{"lines":{"cost":1},"a":[{"b":1}]}`, `{"lines":{"cost":1},"a":[{"b":1}]}`, ""},
		{`{"a":{"b":1,"c":{"b":2}},"b":3}`, `{"a":{"c":{"b":2}},"b":3}`, "/a/b"},
		{`{"a":{"\u0062":1}}`, `{"a":{}}`, "/a/b"}, // the name is b
		{`{"grid":[[{"x":1,"y":2}],[],[1]]}`, `{"grid":[[{"y":2}],[],[1]]}`, "/grid/0/0/x"},
	} {
		shown, found := m.Cut([]byte(c[0])), strings.Join(m.Found([]byte(c[0])), " ")
		if string(shown) != c[1] || found != c[2] {
			t.Errorf("%s: %s, %q; want %s, %q", c[0], shown, found, c[1], c[2])
		}
	}
	var none *Mask
	if shown := none.Cut([]byte(` {"a":1}`)); string(shown) != ` {"a":1}` || none.Found(shown) != nil {
		t.Errorf("without a mask: %s", shown)
	}
	if with := m.Cut([]byte(`{"id": "1", "revenue": 7}`)); string(with) != `{"id":"1"}` {
		t.Errorf("space tells that something is masked: %s", with)
	}
}

// TestHides: a place is masked at and below a masked member, and what touches one is above it, too.
func TestHides(t *testing.T) {
	m := of(t, "revenue", "lines[].cost", "a.b")
	for _, c := range []struct{ path, hides, touches string }{
		{"revenue", "revenue", "revenue"},
		{"revenue.x", "revenue", "revenue"},
		{"lines", "", "lines[].cost"},
		{"lines[]", "", "lines[].cost"},
		{"lines[].cost", "lines[].cost", "lines[].cost"},
		{"lines[].cost.x", "lines[].cost", "lines[].cost"},
		{"lines[].name", "", ""},
		{"lines.cost", "", ""},
		{"a", "", "a.b"},
		{"a.c", "", ""},
		{"b", "", ""},
	} {
		path, err := model.ParsePath(c.path)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, step := range path {
			name := step.Name
			if step.Each() {
				name = "12"
			}
			names = append(names, name)
		}
		if got := m.Hides(names); got != c.hides {
			t.Errorf("%s is masked by %q, want %q", c.path, got, c.hides)
		}
		if got := m.Touches(path); got != c.touches {
			t.Errorf("%s touches %q, want %q", c.path, got, c.touches)
		}
	}
}

// TestRestore: what somebody writes who does not see everything keeps what is masked, where it was.
func TestRestore(t *testing.T) {
	m := of(t, "revenue", "lines[].cost", "a.b")
	for _, c := range []struct{ doc, was, want string }{
		{`{"id":"1","n":2}`, `{"id":"1","revenue":7,"n":1}`, `{"id":"1","revenue":7,"n":2}`},
		{`{"n":2}`, `{"revenue":7,"n":1}`, `{"revenue":7,"n":2}`},
		{`{"n":2}`, `{"n":1}`, `{"n":2}`},
		{`{"n":2}`, `{"a":{"b":1,"c":2}}`, `{"a":{"b":1},"n":2}`},
		{`{"a":{"d":1}}`, `{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"d":1}}`},
		{`{"a":7}`, `{"a":{"b":1}}`, "a.b"},
		{`{"a":7}`, `{"a":{"c":1}}`, `{"a":7}`},
		{`{"lines":[{"n":2},{"n":1}]}`, `{"lines":[{"n":1,"cost":1},{"n":2,"cost":2}]}`, `{"lines":[{"n":2,"cost":2},{"n":1,"cost":1}]}`},                 // the order is another one
		{`{"lines":[{"n":1},{"n":2},{"n":3}]}`, `{"lines":[{"n":1,"cost":1},{"n":2,"cost":2}]}`, `{"lines":[{"n":1,"cost":1},{"n":2,"cost":2},{"n":3}]}`}, // one is new
		{`{"lines":[{"n":3},{"n":1},{"n":2}]}`, `{"lines":[{"n":1,"cost":1},{"n":2,"cost":2}]}`, `{"lines":[{"n":3},{"n":1,"cost":1},{"n":2,"cost":2}]}`}, // in front
		{`{"lines":[{"n":1},{"n":9}]}`, `{"lines":[{"n":1,"cost":1},{"n":2,"cost":2}]}`, `{"lines":[{"n":1,"cost":1},{"n":9,"cost":2}]}`},                 // one is changed
		{`{"lines":[{"n":1}]}`, `{"lines":[{"n":1,"cost":1},{"n":2,"cost":2}]}`, "lines[].cost"},                                                          // one goes, with its cost
		{`{"lines":[{"n":1}]}`, `{"lines":[{"n":1,"cost":1},{"n":2}]}`, `{"lines":[{"n":1,"cost":1}]}`},                                                   // one goes that has none
		{`{"lines":[{"n":9},{"n":8},{"n":2}]}`, `{"lines":[{"n":1,"cost":1},{"n":2,"cost":2}]}`, "lines[].cost"},                                          // which one was the first?
		{`{"lines":[{"n":1},{"n":1}]}`, `{"lines":[{"n":1,"cost":1},{"n":1,"cost":2}]}`, `{"lines":[{"n":1,"cost":1},{"n":1,"cost":2}]}`},                 // equal but for the cost
		{`{}`, `{"lines":[{"n":1,"cost":1}]}`, "lines[].cost"},                                                                                            // all go
		{`{}`, `{"lines":[{"n":1}]}`, `{}`},                                                                                                                       // nothing was masked
		{`{"lines":{}}`, `{"lines":[{"cost":1}]}`, "lines[].cost"},                                                                                                // it is no array any more
		{`{"lines":[{"n":1.0}]}`, `{"lines":[{"n":1.00,"cost":1}]}`, `{"lines":[{"n":1.0,"cost":1}]}`},                                                            // one for one
		{`{"lines":[ {"n": 1} , {"m":2}]}`, `{"lines":[{"m":2,"cost":2},{"n":1,"cost":1}]}`, `{"lines":[{"n":1,"cost":1},{"m":2,"cost":2}]}`},                     // space does not count
		{`{"a":{"x":1}}`, `{"a":{"x":1,"b":{"deep":[1,2]}},"revenue":null}`, `{"a":{"x":1,"b":{"deep":[1,2]}},"revenue":null}`},                                   // whatever it is
		{`{"":1}`, `{"":1,"revenue":2}`, `{"revenue":2,"":1}`},                                                                                                    // a member without a name
		{`{"lines":[]}`, `{"lines":[]}`, `{"lines":[]}`},                                                                                                          //
		{`{"lines":[1,{"n":1}]}`, `{"lines":[{"n":1,"cost":3},1]}`, `{"lines":[1,{"n":1,"cost":3}]}`},                                                             // values of any kind
		{`{"lines":[{"n":1},{"n":2}]}`, `{"lines":[{"n":7},{"n":1,"cost":3},{"n":8}]}`, `{"lines":[{"n":1,"cost":3},{"n":2}]}`},                                   // of those that go none has one
		{`{"x":{"lines":[{"n":1}]}}`, `{"x":{"lines":[{"n":1,"cost":1}]}}`, `{"x":{"lines":[{"n":1}]}}`},                                                          // another place
		{`{"z":1,"y":2,"x":3}`, `{"x":1,"revenue":2,"y":3,"z":4}`, `{"z":1,"y":2,"x":3,"revenue":2}`},                                                             // after the same member
		{`{"lines":[{"n":5},{"n":6}]}`, `{"lines":[{"n":1,"cost":1},{"n":2,"cost":2}]}`, `{"lines":[{"n":5,"cost":1},{"n":6,"cost":2}]}`},                         // both are changed
		{`{"a":null,"n":1}`, `{"a":null,"n":0}`, `{"a":null,"n":1}`},                                                                                              //
		{`{"lines":[{"cost":1}]}`[:10] + `]}`, `{"lines":[]}`, `{"lines":[]}`},                                                                                    //
		{`{"a":{},"lines":[{}]}`, `{"a":{"b":false},"lines":[{"cost":"x"}]}`, `{"a":{"b":false},"lines":[{"cost":"x"}]}`},                                         // nothing else is left of them
		{`{"a":{},"lines":[{},{}]}`, `{"lines":[{"cost":"x"}]}`, `{"a":{},"lines":[{"cost":"x"},{}]}`},                                                            // the place decides
		{`{"lines":[{"n":1},{"n":2},{"n":3}]}`, `{"lines":[{"n":1,"cost":1},{"n":5},{"n":3,"cost":3}]}`, `{"lines":[{"n":1,"cost":1},{"n":2},{"n":3,"cost":3}]}`}, // what is left had nothing
	} {
		got, err := m.Restore([]byte(c.doc), []byte(c.was))
		switch {
		case !strings.HasPrefix(c.want, "{"):
			if fanfold.CodeOf(err) != fanfold.Forbidden || !strings.Contains(problems(err), c.want) {
				t.Errorf("%s over %s: %s, %v, want a refusal of %s", c.doc, c.was, got, err, c.want)
			}
		case err != nil || string(got) != c.want:
			t.Errorf("%s over %s: %s, %v, want %s", c.doc, c.was, got, err, c.want)
		}
	}
}

// TestRestoreKeeps: of random documents, a write shows what its writer wrote, loses nothing masked, and writes what was read as it was.
func TestRestoreKeeps(t *testing.T) {
	m := of(t, "revenue", "lines[].cost", "a.b")
	scalar := rapid.SampledFrom([]string{"1", "2", `"x"`, "null"})
	document := rapid.Custom(func(t *rapid.T) []byte {
		object := func(names ...string) string {
			var members []string
			for _, name := range names {
				if rapid.Bool().Draw(t, "has") {
					members = append(members, fmt.Sprintf("%q:%s", name, scalar.Draw(t, "value")))
				}
			}
			return "{" + strings.Join(members, ",") + "}"
		}
		var lines []string
		for range rapid.IntRange(0, 4).Draw(t, "lines") {
			lines = append(lines, object("n", "cost"))
		}
		members := []string{`"n":` + scalar.Draw(t, "n"), `"lines":[` + strings.Join(lines, ",") + "]", `"a":` + object("b", "c"), `"revenue":` + scalar.Draw(t, "revenue")}
		return []byte("{" + strings.Join(rapid.Permutation(members).Draw(t, "order")[:rapid.IntRange(0, 4).Draw(t, "members")], ",") + "}")
	})
	rapid.Check(t, func(t *rapid.T) {
		was, other := document.Draw(t, "was"), document.Draw(t, "other")
		shown := m.Cut(was)
		if same, err := m.Restore(shown, was); err != nil || !jsondoc.Equal(same, was) {
			t.Fatalf("%s, read as %s, is written as %s, %v", was, shown, same, err)
		}
		written := m.Cut(other)
		stored, err := m.Restore(written, was)
		if err != nil {
			return
		}
		if got, want := masked(stored), masked(was); got != want {
			t.Fatalf("%s over %s is %s: masked is %s, and was %s", written, was, stored, got, want)
		}
		again := m.Cut(stored)
		if !json.Valid(stored) || !jsondoc.Equal(without(again), without(written)) {
			t.Fatalf("%s over %s is %s, which is shown as %s", written, was, stored, again)
		}
	})
}

// without returns a document without an empty object a, which a masked member needs around it.
func without(doc []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(bytes.ReplaceAll(doc, []byte(`"a":{},`), nil), []byte(`,"a":{}`), nil), []byte(`"a":{}`), nil)
}

// problems returns the paths of an error's problems.
func problems(err error) (paths string) {
	var e *fanfold.Error
	if errors.As(err, &e) {
		for _, p := range e.Problems {
			paths += p.Path
		}
	}
	return paths
}

// masked returns what the mask of TestRestoreKeeps hides in a document, in any order.
func masked(doc []byte) string {
	t := jsondoc.MustParse(doc)
	costs := map[string]int{}
	for line := t.First(t.Member(jsondoc.Root, "lines")); line != jsondoc.None; line = t.Next(line) {
		if cost := t.Member(line, "cost"); cost != jsondoc.None {
			costs[string(t.Raw(cost))]++
		}
	}
	at := func(n jsondoc.Node) string {
		if n == jsondoc.None {
			return "none"
		}
		return string(t.Raw(n))
	}
	return fmt.Sprint(at(t.Member(jsondoc.Root, "revenue")), costs, at(t.Member(t.Member(jsondoc.Root, "a"), "b")))
}
