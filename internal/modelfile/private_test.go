package modelfile

import (
	"fmt"
	"strings"
	"testing"
)

// TestPrivate: private members come back as they were declared, and each mistake is told at its place.
func TestPrivate(t *testing.T) {
	m, err := Parse([]byte(`collections: {a: {private: {revenue: [staff, audit], "lines[].cost": [], "x.y": [everyone]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(m.Collection("a").Private); got != "[{lines[].cost []} {revenue [audit staff]} {x.y [everyone]}]" {
		t.Errorf("private is %s", got)
	}
	if !m.HasRules() {
		t.Error("the model needs no version of the fold that knows private members")
	}
	const at = "collections.a.private"
	many := ""
	for i := range 33 {
		many += fmt.Sprintf("m%d: [a], ", i)
	}
	for text, want := range map[string]string{
		"[revenue]":                                at + ": must be a mapping",
		"{revenue: staff}":                         at + `["revenue"]: must be a list of roles`,
		"{revenue: [Staff]}":                       at + `["revenue"]: "Staff" cannot name a role`,
		"{'lines[]': [staff]}":                     at + `["lines[]"]: leads to elements of an array`,
		"{id: [staff]}":                            at + `["id"]: "id" is not private`,
		"{_meta: [staff]}":                         at + `["_meta"]: "_meta" is not private`,
		"{a: [staff], a.b: [staff]}":               at + `["a.b"]: stands in another private member`,
		"{'a[].b': [staff], a: [staff]}":           at + `["a"]: stands in another private member, or around it`,
		"{'a[': [staff]}":                          at + `["a["]: `,
		"{" + strings.TrimSuffix(many, ", ") + "}": at + `["m32"]: a collection has at most 32 private members`,
	} {
		_, err := Parse([]byte("collections: {a: {private: " + text + "}}"))
		if err == nil {
			t.Errorf("%s is taken", text)
			continue
		}
		if got := problems(t, err); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
