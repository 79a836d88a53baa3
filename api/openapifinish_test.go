package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// finished returns a document in the form that generators of clients take: no type is a list of types besides null, and answers are open to
// new members. x-complete says that an answer of this version has the named members alone; the tests hold it to that.
func finished(t *testing.T, text []byte) []byte {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var doc map[string]any
	if err := in.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	split(doc)
	f := finish{schemas: member(doc, "components", "schemas"), asked: map[string]bool{}}
	for _, item := range member(doc, "paths") {
		for _, op := range item.(map[string]any) {
			if op, ok := op.(map[string]any); ok {
				f.ask(op["requestBody"])
			}
		}
	}
	for name, s := range f.schemas {
		if !f.asked[name] {
			open(s)
		}
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// member returns an object within others.
func member(in map[string]any, names ...string) map[string]any {
	for _, name := range names {
		in = in[name].(map[string]any)
	}
	return in
}

// each calls fn for an object and all within it.
func each(v any, fn func(object map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		fn(v)
		for _, below := range v {
			each(below, fn)
		}
	case []any:
		for _, below := range v {
			each(below, fn)
		}
	}
}

// split makes a schema with several types one of several schemas.
func split(v any) {
	each(v, func(o map[string]any) {
		types, several := o["type"].([]any)
		if !several || slices.Contains(types, any("null")) {
			return
		}
		var any []any
		for _, one := range types {
			any = append(any, map[string]interface{}{"type": one})
		}
		delete(o, "type")
		o["anyOf"] = any
	})
}

// open opens a schema of answers.
func open(v any) {
	each(v, func(o map[string]any) {
		if closed, said := o["additionalProperties"].(bool); said && !closed {
			delete(o, "additionalProperties")
			o["x-complete"] = true
		}
	})
}

// finish knows which schemas requests have.
type finish struct {
	schemas map[string]any
	asked   map[string]bool
}

// ask notes the schemas that a request leads to.
func (f *finish) ask(v any) {
	each(v, func(o map[string]any) {
		ref, _ := o["$ref"].(string)
		if name, ok := strings.CutPrefix(ref, schemasPath); ok && !f.asked[name] {
			f.asked[name] = true
			f.ask(f.schemas[name])
		}
	})
}
