package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
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

// keywordsOf has the keywords that say something of values of a type alone.
var keywordsOf = map[string][]string{
	"string":  {"minLength", "maxLength", "pattern", "format"},
	"integer": {"minimum", "maximum"},
	"number":  {"minimum", "maximum"},
	"array":   {"items", "minItems", "maxItems", "uniqueItems"},
	"object":  {"properties", "required", "additionalProperties", "minProperties", "maxProperties"},
}

// split makes a schema with several types one of several schemas, each with what is said of its type.
func split(v any) {
	each(v, func(o map[string]any) {
		types, several := o["type"].([]any)
		if !several || slices.Contains(types, any("null")) {
			return
		}
		var any []any
		for _, one := range types {
			branch := map[string]interface{}{"type": one}
			for _, keyword := range keywordsOf[one.(string)] {
				if value, said := o[keyword]; said {
					branch[keyword] = value
				}
			}
			any = append(any, branch)
		}
		for _, words := range keywordsOf {
			for _, keyword := range words {
				delete(o, keyword)
			}
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

// TestUnionsCanBeToldApart: of two branches of a union, each has another type of JSON, or one needs a member that the other one has not. Otherwise no client
// could tell which of them it has.
func TestUnionsCanBeToldApart(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	var whole any
	if err := json.Unmarshal(openAPI, &whole); err != nil {
		t.Fatal(err)
	}
	n := 0
	each(whole, func(o map[string]any) {
		for _, word := range []string{"anyOf", "oneOf"} {
			list, _ := o[word].([]any)
			var branches []*openapi3.Schema
			for _, one := range list {
				branches = append(branches, loaded(t, doc, one))
			}
			for i, a := range branches {
				for j, b := range branches[:i] {
					if n++; kindOf(a) == kindOf(b) && !needsOther(a, b) && !needsOther(b, a) {
						t.Errorf("%v and %v cannot be told apart", list[j], list[i])
					}
				}
			}
		}
	})
	if n < 30 {
		t.Errorf("%d pairs of branches were found", n)
	}
}

// loaded returns a schema of the document, which may be a reference.
func loaded(t *testing.T, doc *openapi3.T, of any) *openapi3.Schema {
	t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	ref := &openapi3.SchemaRef{}
	if err := ref.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	if name, ok := strings.CutPrefix(ref.Ref, schemasPath); ok {
		return doc.Components.Schemas[name].Value
	}
	return ref.Value
}

// kindOf returns the type of JSON that a schema lets, where it is one.
func kindOf(s *openapi3.Schema) string {
	switch {
	case s.Type == nil && s.AnyOf != nil:
		return "one of several"
	case s.Type == nil:
		return "any"
	case s.Type.Is("integer"):
		return "number"
	}
	return (*s.Type)[0]
}

// needsOther tells whether a schema needs a member that another one does not have.
func needsOther(a, b *openapi3.Schema) bool {
	if more := b.AdditionalProperties; more.Schema != nil || more.Has != nil && *more.Has {
		return false
	}
	return slices.ContainsFunc(a.Required, func(name string) bool { return b.Properties[name] == nil })
}
