package api

import (
	"strings"
	"testing"
)

// TestFields: a projection keeps the paths that are there, with the tokens and in the order of the document, and always the id.
func TestFields(t *testing.T) {
	const doc = `{ "b" : 1.0, "id":"x", "a":{"c":1e2,"d":[1, 2]}, "lines":[{"sku":"s","qty":2},{"qty":1},7,[{"sku":"n"}]], "q\u0075x":"\u0041", "tags":["t", {}] }`
	for fields, want := range map[string]string{
		"none":                `{"id":"x"}`,
		"b":                   `{"b":1.0,"id":"x"}`,
		"a,id":                `{"id":"x","a":{"c":1e2,"d":[1, 2]}}`,
		"a.c":                 `{"id":"x","a":{"c":1e2}}`,
		"a.z":                 `{"id":"x","a":{}}`,
		"a,a.c":               `{"id":"x","a":{"c":1e2,"d":[1, 2]}}`,
		"b.c":                 `{"id":"x"}`,
		"b[]":                 `{"id":"x"}`,
		"lines[].sku":         `{"id":"x","lines":[{"sku":"s"},{}]}`,
		"lines.sku":           `{"id":"x"}`,
		"lines[][].sku":       `{"id":"x","lines":[[{"sku":"n"}]]}`,
		"lines[].sku,lines[]": `{"id":"x","lines":[{"sku":"s","qty":2},{"qty":1},7,[{"sku":"n"}]]}`,
		"qux":                 `{"id":"x","q\u0075x":"\u0041"}`,
		"tags[]":              `{"id":"x","tags":["t",{}]}`,
	} {
		p, err := parseFields(strings.Split(fields, ","))
		if err != nil {
			t.Errorf("%s: %v", fields, err)
			continue
		}
		if got := string(p.show([]byte(doc))); got != want {
			t.Errorf("%s shows\n%s, want\n%s", fields, got, want)
		}
	}
	for _, wrong := range []string{"", "a..b", `"a.b"`, "a[", "[]", strings.TrimSuffix(strings.Repeat("a,", maxFields+1), ",")} {
		if _, err := parseFields(strings.Split(wrong, ",")); err == nil {
			t.Errorf("%.20q is taken for fields", wrong)
		}
	}
	if p, err := parseFields(nil); p != nil || err != nil || string(p.show([]byte(doc))) != doc {
		t.Errorf("no fields show %v, %v", p, err)
	}
}
