package modelfile

import (
	"fmt"
	"strings"
	"testing"
)

// TestDefaults: defaults are filled in their order, each where its member is absent, and those that no document can have are refused.
func TestDefaults(t *testing.T) {
	m, err := Parse([]byte(`collections: {orders: {defaults: {status: new, address.country: DE, "address.city": "", lines: [], "a.b": 1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := m.Collection("orders")
	for body, want := range map[string]string{
		`{}`:                       `{"status":"new","address":{"country":"DE","city":""},"lines":[],"a":{"b":1}}`,
		`{"id":"1","status":null}`: `{"id":"1","status":null,"address":{"country":"DE","city":""},"lines":[],"a":{"b":1}}`,
		"{ \"address\": { \"x\": 1 } ,\n\"a\":2}":           "{ \"address\": { \"x\": 1 ,\"country\":\"DE\",\"city\":\"\"} ,\n\"a\":2,\"status\":\"new\",\"lines\":[]}",
		`{"status":"x","address":[],"lines":1,"a":{"b":0}}`: `{"status":"x","address":[],"lines":1,"a":{"b":0}}`,
	} {
		if got := string(c.Fill([]byte(body))); got != want {
			t.Errorf("%s becomes %s, want %s", body, got, want)
		}
	}
	for _, c := range []struct{ collection, want string }{
		{`{defaults: {"lines[].n": 1}}`, "goes through an array"},
		{`{defaults: {id: x}}`, "are the store's"},
		{`{defaults: {_a.b: x}}`, "are the store's"},
		{`{defaults: {total: 0}, derive: {total: {value: doc.n}}}`, `stands in the way of "total"`},
		{`{defaults: {n: 0}, sequences: {n: {}}}`, "stands in the way of sequence n"},
		{`{defaults: {a: 1}, derive: {a.total: {value: doc.n}}}`, `stands in the way of "a.total"`},
		{`{defaults: {a: {total: 1}}, derive: {a.total: {value: doc.n}}}`, `stands in the way of "a.total"`},
		{`{defaults: {a.total.b: 1}, derive: {a.total: {value: doc.n}}}`, `stands in the way of "a.total"`},
		{`{defaults: {lines: [{}, {n: 1}]}, derive: {"lines[].n": {value: element.m}}}`, `stands in the way of "lines[].n"`},
		{`{defaults: {lines: {}}, derive: {"lines[].n": {value: element.m}}}`, `stands in the way of "lines[].n"`},
		{`{defaults: {a.b: 1}, schema: {properties: {a: {properties: {b: {type: string}}}}}}`, "at /a/b"},
		{`{defaults: {a: {}}, schema: {properties: {a: {required: [b]}}}}`, "at /a "},
		{`{defaults: {n: 1e2000}}`, "a number of more than"},
		{`{defaults: {` + strings.Repeat("a.", 70) + `b: 1}}`, "a document with them is not taken"},
		{`{defaults: {` + entries(maxDefaults+1, `a#: 1`) + `}}`, "at most 100 defaults"},
		{`{defaults: {a: "` + strings.Repeat("x", maxDefaultBytes) + `"}}`, "at most 65536 are taken"},
	} {
		_, err := Parse([]byte(`{collections: {c: ` + c.collection + `}}`))
		if got := fmt.Sprint(problems(t, err)); !strings.Contains(got, c.want) {
			t.Errorf("%.80s: %s, want %s", c.collection, got, c.want)
		}
	}
	for _, collection := range []string{
		`{defaults: {` + entries(maxDefaults, `a#: 1`) + `}}`,
		`{defaults: {a: {}, lines: [{m: 1}]}, derive: {a.total: {value: doc.n}, "lines[].n": {value: element.m}}}`,
		`{defaults: {a: {}, a.b: 1}, schema: {properties: {a: {required: [b]}}}}`,
		`{defaults: {b: 1}, schema: {required: [x], oneOf: [{properties: {b: {const: 2}}}, {required: [y], properties: {b: {const: 1}}}]}}`,
	} {
		if _, err := Parse([]byte(`{collections: {c: ` + collection + `}}`)); err != nil {
			t.Errorf("%.80s: %v", collection, problems(t, err))
		}
	}
}
