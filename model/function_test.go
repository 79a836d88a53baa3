package model_test

import (
	"slices"
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
