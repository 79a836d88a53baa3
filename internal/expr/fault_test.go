package expr

import (
	"slices"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestFault: the members come from the innermost part that has no value, along what is evaluated.
func TestFault(t *testing.T) {
	doc := jsondoc.MustParse([]byte(`{"a":"x","b":"2","list":["1","y"],"day":"2026-01-02","bad name":"z"}`))
	for source, want := range map[string][]string{
		`{'n': int(doc.b), 'm': int(doc.a)}`:                      {"a"},
		`{'n': int(doc['bad name'])}`:                             {"bad name"},
		`doc.b == '2' ? int(doc.a) : int(doc.b)`:                  {"a"},
		`doc.b == '' ? int(doc.a) : doc.missing`:                  {"missing"},
		`int(doc.missing) == 1 ? 1 : 2`:                           {"missing"},
		`[doc.b, int(doc.a + doc.b)]`:                             {"a", "b"},
		`{'x': doc.list.map(e, e), 'y': doc.list.map(e, int(e))}`: {"list"},
		`{'x': doc.b.split(',')[3]}`:                              {"b"},
		`timestamp(doc.day).getFullYear() + int(doc.a)`:           {"day"},
		`int(doc.b)`:        nil,
		`int('x')`:          nil,
		`not an expression`: nil,
	} {
		if got := Fault(source, doc); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", source, got, want)
		}
	}
}

// TestMembersNeeded: what has() asks for may be absent.
func TestMembersNeeded(t *testing.T) {
	for source, want := range map[string][]string{
		`{'a': doc.a, 'b': has(doc.b) ? doc.b : '', 'c': doc['c d']}`: {"a", "c d"},
		`doc.list.map(doc, doc.inner)`:                                {"list"},
		`doc`:                                                         nil,
	} {
		if got, err := MembersNeeded(source); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v, want %v", source, got, err, want)
		}
	}
	if _, err := MembersNeeded("doc."); err == nil {
		t.Error("no error for what is no expression")
	}
}
