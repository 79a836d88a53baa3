package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/query"
)

// TestRejectedTellsWhy: explain says of everything that could serve without a declaration why it is not taken.
func TestRejectedTellsWhy(t *testing.T) {
	w := newWorld(t)
	w.setModel(t, `collections: { targets: {}, things: { unique: [isbn, lower(doc.mail), doc.n == 1], relations: { ref: { path: ref, to: targets }, refs: { path: "refs[]", to: targets }, derived: { path: copied, to: targets } },
		derive: { copied: { copy: ref, value: doc.next } } } }`)
	w.apply(t, put("targets", "t1", `{"id":"t1","next":"t1"}`), put("things", "d1", `{"id":"d1","ref":"t1","refs":["t1"],"isbn":"i1","mail":"A"}`))
	for filter, want := range map[string]string{
		``:                                  "id: says nothing|unique:isbn: no single value of isbn|unique:lower(doc.mail): no single value|unique:doc.n == 1: of a rule|relation:ref: no single value|relation:refs: no single value|relation:derived: no single value",
		`has(doc.id)`:                       "id: other values than texts",
		`doc.isbn == "i1"`:                  "!unique:isbn|relation:ref: no single value of ref",
		`doc.isbn == null`:                  "unique:isbn: no unique one",
		`doc.isbn in ["a", "b"]`:            "unique:isbn: no single value",
		`lower(doc.mail) == "a"`:            "!unique:lower(doc.mail)|unique:isbn: no single value",
		`doc.ref == "t1"`:                   "!relation:ref|id: says nothing",
		`doc.ref == 5`:                      "relation:ref: no text",
		`doc.ref == ""`:                     "relation:ref: no id",
		`"t1" in doc.refs`:                  "relation:refs: an index of refs[]",
		`doc.copied == "t1"`:                "relation:derived: are derived",
		`doc.id == "d1"`:                    "!id|unique:isbn: no single value",
		`doc.id == "d1" && doc.ref == "t1"`: "relation:ref: |!id",
	} {
		a := w.mustAsk(t, query.Request{Filter: filter, Explain: true})
		for part := range strings.SplitSeq(want, "|") {
			name, words, _ := strings.Cut(strings.TrimPrefix(part, "!"), ": ")
			if taken := strings.HasPrefix(part, "!"); taken == rejects(a.Plan, strings.TrimSuffix(name, ":"), words) {
				t.Errorf("%s: of %s: %s", filter, part, explain(a.Plan))
			}
		}
		if len(a.Plan.Rejected) != map[bool]int{true: 7, false: 6}[a.Plan.Index == nil] {
			t.Errorf("%s: %d are not taken: %s", filter, len(a.Plan.Rejected), explain(a.Plan))
		}
	}
	if a := w.mustAsk(t, query.Request{Within: &query.Within{Relation: "things.ref", Target: "t1"}, Explain: true}); *a.Plan.Index != "relation:ref" || rejects(a.Plan, "relation:ref", "") {
		t.Errorf("documents that refer to one: %s", explain(a.Plan))
	}
	if a := w.mustAsk(t, query.Request{Filter: `doc.isbn == null`}); len(a.Plan.Rejected) > 0 {
		t.Errorf("nobody asks: %s", explain(a.Plan))
	}
}

// TestWithinAsksLargeDocuments: a document with one entry for all its elements is asked whether it refers to the one that is meant.
func TestWithinAsksLargeDocuments(t *testing.T) {
	w := newWorld(t)
	w.setModel(t, `collections: { targets: {}, things: { relations: { ref: { path: ref, to: targets } }, indexes: { byRef: [ref, "tags[]"] } } }`)
	var tags strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&tags, ",%d", i)
	}
	w.apply(t, put("targets", "t1", `{"id":"t1"}`), put("things", "d1", `{"id":"d1","ref":"t1","tags":[1]}`), put("things", "d2", `{"id":"d2","ref":"t2","tags":[0`+tags.String()+`]}`))
	within := &query.Within{Relation: "things.ref", Target: "t1"}
	for _, r := range []query.Request{{Filter: `1 in doc.tags`, Sort: []string{"tags.x"}}, {Filter: "1 in doc.tags", Count: true}, {Grouped: true, Group: []string{"ref", "tags[]"}}} {
		r.Within = within
		a := w.mustAsk(t, r)
		if r.Grouped && len(a.Groups) != 1 || !r.Grouped && !slices.Equal(a.ids, []string{"d1"}) || r.Count && a.Count != 1 {
			t.Errorf("%s: %v, %d groups by %s", describe(r), a.ids, len(a.Groups), explain(a.Plan))
		}
	}
}

// rejects tells whether a plan says why an index was not taken, in these words.
func rejects(p *query.Plan, name, words string) bool {
	for _, r := range p.Rejected {
		if r.Index == name {
			return strings.Contains(r.Why, words)
		}
	}
	return false
}
