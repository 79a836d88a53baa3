package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

const wrongModel = `
extra: 1
collections:
  9upper: {}
  list: []
  authors:
    colour: red
    unique: ["x[]", 7, y, y]
    relations:
      "a.b": {path: x, to: authors}
      nowhere: {path: x, to: nobody}
      half: {path: x}
      badpath: {path: "a[", to: authors}
      policy: {path: x, to: authors, onDelete: explode}
      later: {path: x, to: authors, onDelete: cascade, strict: true}
      own: {path: id, to: authors}
    derive:
      none: {}
      two: {copy: policy, count: authors.policy, value: doc.x}
      novalue: {copy: policy}
      syntax: {copy: policy, value: "doc."}
      clock: {copy: policy, value: "now()"}
      norel: {copy: nothing, value: doc.x}
      away: {count: authors.nothing}
      option: {count: authors.policy, limit: 3}
      limit: {ids: authors.policy, limit: 0}
      nonumber: {sum: authors.policy}
      deep: {max: authors.policy, of: "x[.y"}
      nofields: {recent: authors.policy, max: 3}
      nomax: {recent: authors.policy, fields: [id]}
      twice: {recent: authors.policy, max: 1, fields: [id, id]}
      toomany: {recent: authors.policy, max: 1001, fields: [id]}
      melting: {count: authors.policy, frozen: true}
      count: {count: authors.policy}
      id: {count: authors.policy}
      _x: {count: authors.policy}
      "l[]": {ids: authors.policy}
      word: 3
    release: 7
  paged:
    relations: {a: {path: a, to: authors}}
    pages: {by: b, size: 0, of: 3}
  unpaged: {pages: {}}
`

// TestModelMistakesAreAllListed: one answer names every mistake and where it is.
func TestModelMistakesAreAllListed(t *testing.T) {
	s := harness.OpenTemp(t, harness.RefusalModel)
	before := s.Want(200, "GET", "/v1/_model", "")
	paths := []string{"extra", "collections.9upper", "collections.list", "collections.authors.colour", "collections.authors.unique",
		`collections.authors.relations.a.b`, "collections.authors.relations.nowhere.to", "collections.authors.relations.half",
		"collections.authors.relations.badpath.path", "collections.authors.relations.policy.onDelete",
		"collections.authors.relations.own.path", "collections.authors.release",
		"collections.paged.pages.by", "collections.paged.pages.size", "collections.paged.pages.of", "collections.unpaged.pages"}
	for _, rule := range []string{"none", "two", "novalue", "syntax", "clock", "norel", "away", "option", "limit", "nonumber", "deep", "nofields", "nomax", "twice", "toomany", "melting", "id", "_x", "l[]", "word"} {
		paths = append(paths, fmt.Sprintf("collections.authors.derive[%q]", rule))
	}
	for _, query := range []string{"", "?dryRun=true"} {
		p := harness.Refuse(t, s, harness.Refusal{"", 400, "invalid", "PUT", "/v1/_model" + query, wrongModel, []string{"Content-Type", "application/yaml"}, nil})
		for _, want := range paths {
			found := false
			for _, got := range p.Problems {
				found = found || got.Detail != "" && (got.Path == want || strings.HasPrefix(got.Path, want+"."))
			}
			if !found {
				t.Errorf("%q: no problem at %s", query, want)
			}
		}
		if t.Failed() {
			t.Fatalf("problems: %v", p.Problems)
		}
	}
	if after := s.Want(200, "GET", "/v1/_model", ""); string(after.Body) != string(before.Body) || after.Header.Get("ETag") != before.Header.Get("ETag") {
		t.Errorf("the model is now %s", after.Body)
	}
}

func TestBadModels(t *testing.T) {
	var table []harness.Refusal
	for _, m := range []struct{ name, body, says string }{
		{"empty", ``, "mapping"}, {"word", `hello`, "mapping"}, {"not YAML", "a: [", "YAML"}, {"tabs", "collections:\n\tx: {}", "YAML"},
		{"not JSON", `{"collections":`, ""}, {"duplicate", "collections: {}\ncollections: {}", ""}, {"array", `[]`, "mapping"},
		{"bomb", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\ncollections: {}", ""},
		{"deep", "collections: " + strings.Repeat("{a: ", 200) + "1" + strings.Repeat("}", 200), ""},
		{"cycle", "collections: {a: {relations: {r: {path: r, to: a}}, derive: {x: {copy: r, value: doc.y}, y: {copy: r, value: doc.x}}}}", "itself"},
		{"cycle of aggregates", "collections: {a: {relations: {r: {path: r, to: b}}, derive: {x: {sum: b.s, of: y}}}, b: {relations: {s: {path: s, to: a}}, derive: {y: {count: a.r, where: doc.x > 1}}}}", "a.x -> b.y -> a.x"},
	} {
		table = append(table, harness.Refusal{m.name, 400, "invalid", "PUT", "/v1/_model", m.body, []string{"Content-Type", "application/yaml"}, []string{m.says}})
	}
	table = append(table, harness.Refusal{"type", 415, "unsupported-media", "PUT", "/v1/_model", `{}`, []string{"Content-Type", "text/plain"}, []string{"application/yaml"}},
		harness.Refusal{"dryRun", 400, "invalid", "PUT", "/v1/_model?dryRun=yes", `{}`, nil, []string{"dryRun=yes"}},
		harness.Refusal{"large", 413, "too-large", "PUT", "/v1/_model", strings.Repeat(" ", 2<<20+1), nil, []string{"2097152"}})
	harness.RefuseAll(t, table)
}
