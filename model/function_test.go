package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/model"
)

// TestGates: a collection that a function reads has a gate, and so has each that it derives from, over any number of hops. Others pay nothing.
func TestGates(t *testing.T) {
	m := parse(t, `
collections:
  countries: {}
  people:
    relations: {from: {path: from, to: countries}}
    derive: {country: {copy: from, value: doc.name}}
  books:
    relations: {by: {path: by, to: people, onDelete: cascade}}
    derive: {land: {copy: by, value: doc.country}, pages: {sum: "parts[].pages"}}
  shelves: {derive: {n: {count: copies.shelf}}}
  copies: {relations: {shelf: {path: shelf, to: shelves}, book: {path: book, to: books}}}
functions:
  lands: {reads: [books], source: "export default () => 1"}
  own: {source: "export default () => 1"}
`)
	for collection, want := range map[string][]string{
		"books": {"books", "countries", "people"}, "people": {"countries", "people"}, "countries": {"countries"},
		"shelves": {"copies", "shelves"}, "copies": {"copies"}, "undeclared": {"undeclared"},
	} {
		if got := m.GatesOf(collection); !slices.Equal(got, want) {
			t.Errorf("%s has the gates %v, want %v", collection, got, want)
		}
		gated := slices.Contains([]string{"books", "countries", "people"}, collection)
		if m.Gated(collection) != gated || m.Guards(collection, false) != gated || m.Guards(collection, true) != gated {
			t.Errorf("%s: gated %t, guards of a write %t and of a delete %t, want %t", collection, m.Gated(collection), m.Guards(collection, false), m.Guards(collection, true), gated)
		}
	}
	if f := m.Function("lands"); f == nil || f.Name != "lands" || !slices.Equal(f.Call, []string{model.RoleWrite}) {
		t.Errorf("lands: %+v", f)
	}
	if f := m.Function("no"); f != nil {
		t.Errorf("a function that is not there: %+v", f)
	}
	if model.Empty().Function("no") != nil || model.Empty().Gated("books") {
		t.Error("the empty model has a function, or a gate")
	}
}

// TestFunctionDetails: people are told which members of a function differ, and the first line of its source that does.
func TestFunctionDetails(t *testing.T) {
	before := parse(t, "{collections: {a: {}, b: {}}, functions: {f: {reads: [a], source: \"export default () => {\\n  return 1\\n}\"}}}")
	for declaration, want := range map[string]string{
		`reads: [a], source: "export default () => {\n  return 1\n}"`:                                            ``,
		`reads: [a], call: [write], source: "export default () => {\n  return 1\n}"`:                             ``,
		`reads: [b], source: "export default () => {\n  return 2\n}"`:                                            `functions.f.reads: ["b"], was ["a"]; functions.f.source: line 2 is "  return 2", was "  return 1"`,
		`reads: [a], source: "export default () => {\n  return 1\n}\n"`:                                          `functions.f.source: line 4 is "", was nothing`,
		`reads: [a], source: "export default () => {"`:                                                           `functions.f.source: line 2 is nothing, was "  return 1"`,
		`source: "export default () => {\n  return 1\n}", call: [admin], authority: model, args: {type: object}`: `functions.f.args: {"type":"object"}; functions.f.call: ["admin"]; functions.f.reads: ["a"]; functions.f.authority: "model"`,
	} {
		var told []string
		for _, d := range model.Compare(before, parse(t, "{collections: {a: {}, b: {}}, functions: {f: {"+declaration+"}}}")).Differences() {
			told = append(told, d.Path+": "+d.Detail)
		}
		if got := strings.Join(told, "; "); got != want {
			t.Errorf("%s: %s, want %s", declaration, got, want)
		}
	}
	long := parse(t, `{collections: {}, functions: {f: {source: "`+strings.Repeat("x", 5000)+`"}}}`)
	other := parse(t, `{collections: {}, functions: {f: {source: "`+strings.Repeat("y", 5000)+`"}}}`)
	if d := model.Compare(long, other).Differences(); len(d) != 1 || len(d[0].Detail) > 500 {
		t.Errorf("a long line is told as %v", d)
	}
}

// TestUnguardedHasNoTriggers: documents of an export come back as they were, so no trigger sees them.
func TestUnguardedHasNoTriggers(t *testing.T) {
	m := parse(t, `{collections: {a: {trigger: f}, b: {}}, functions: {f: {source: "export default () => 1"}}}`)
	if got := string(m.Unguarded()); got != `{"collections":{"a":{},"b":{}},"functions":{"f":{"source":"export default () => 1"}}}` {
		t.Errorf("the model is %s", got)
	}
	if got := parse(t, `{collections: {a: {}}, functions: {f: {source: "export default () => 1"}}}`).Unguarded(); got != nil {
		t.Errorf("without a trigger it is %s", got)
	}
}
