package model

import "testing"

// TestSchemaLoses checks which schemas are told to take a constraint away, and which are not.
func TestSchemaLoses(t *testing.T) {
	const before = `{"title":"Book","type":"object","required":["title","isbn"],"properties":{"title":{"type":"string","minLength":1},"title2":{},"n":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":{"type":"integer","description":"how many"}}}`
	for after, want := range map[string]bool{
		before: false,
		`{}`:   true, `true`: true, `{"type":"object"}`: true, `{"title":"Book"}`: true,
		// The same without annotations, with more and with other values.
		`{"type":"object","required":["isbn","more","title"],"properties":{"title":{"type":"string","minLength":2,"maxLength":9},"title2":{},"n":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":{"type":"integer"}}}`: false,
		// Without one constraint each.
		`{"type":"object","required":["title"],"properties":{"title":{"type":"string","minLength":1},"title2":{},"n":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":{"type":"integer"}}}`:                   true,
		`{"type":"object","required":["title","isbn"],"properties":{"title2":{},"n":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":{"type":"integer"}}}`:                                                    true,
		`{"type":"object","required":["title","isbn"],"properties":{"title":{"type":"string"},"title2":{},"n":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":{"type":"integer"}}}`:                          true,
		`{"type":"object","required":["title","isbn"],"properties":{"title":true,"title2":{},"n":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":{"type":"integer"}}}`:                                       true,
		`{"type":"object","required":["title","isbn"],"properties":{"title":{"type":"string","minLength":1},"title2":{},"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`:                                         true,
		`{"type":"object","required":["title","isbn"],"properties":{"title":{"type":"string","minLength":1},"title2":{},"n":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":{"description":"how many"}}}`:    true,
		`{"type":"object","required":["title","isbn"],"properties":{"title":{"type":"string","minLength":1},"title2":true,"n":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":{"type":"integer"}},"x":null}`: false,
	} {
		if got := schemaLoses([]byte(before), []byte(after)); got != want {
			t.Errorf("%v: %s", got, after)
		}
	}
	for before, after := range map[string]string{`{}`: `{}`, `true`: `{}`, `{"a":1}`: `false`, `{"uniqueItems":false}`: `{"uniqueItems":true}`, `false`: `{"type":"object"}`} {
		if schemaLoses([]byte(before), []byte(after)) != (before == `false`) {
			t.Errorf("%s, then %s", before, after)
		}
	}
	if schemaLoses(nil, []byte(`{}`)) || !schemaLoses([]byte(`{"type":"object"}`), nil) || schemaLoses([]byte(`{}`), nil) {
		t.Error("without a schema")
	}
}
