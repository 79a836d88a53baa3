// Package schema checks documents against JSON Schemas, draft 2020-12.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

const draft = "https://json-schema.org/draft/2020-12/schema"

// Schema is a compiled schema. It may be used from many goroutines.
type Schema struct{ compiled *jsonschema.Schema }

// local refuses to fetch anything: what a schema refers to stands in it.
type local struct{}

func (local) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not in the schema, and nothing is fetched", url)
}

// Compile reads a schema. The error says what is wrong with it.
func Compile(source []byte) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		return nil, err
	}
	if object, ok := doc.(map[string]any); ok {
		if version, given := object["$schema"]; given && strings.TrimSuffix(fmt.Sprint(version), "#") != draft {
			return nil, fmt.Errorf("$schema is %v; only %s is read", version, draft)
		}
	}
	if !json.Valid(source) {
		return nil, errors.New("not JSON")
	}
	if p := extreme(jsondoc.MustParse(source), jsondoc.Root, ""); p != nil {
		return nil, fmt.Errorf("at %q %s", p.Path, p.Detail)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(local{})
	const name = "urn:fanfold:schema"
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(name)
	if err != nil {
		var invalid *jsonschema.SchemaValidationError
		if errors.As(err, &invalid) {
			var at *jsonschema.ValidationError
			if errors.As(invalid.Err, &at) {
				problems := flatten(at)
				return nil, fmt.Errorf("not a JSON Schema: at %q %s", problems[0].Path, problems[0].Detail)
			}
		}
		return nil, err
	}
	var cycle *jsonschema.ValidationError
	if errors.As(compiled.Validate(map[string]any{}), &cycle) && circular(cycle) {
		return nil, errors.New("not a JSON Schema: it refers to itself without end")
	}
	return &Schema{compiled}, nil
}

// circular tells whether a schema could not be applied because it leads back to itself.
func circular(e *jsonschema.ValidationError) bool {
	_, own := e.ErrorKind.(*kind.RefCycle)
	return own || slices.ContainsFunc(e.Causes, circular)
}

// maxProblems is how many problems of one document are told.
const maxProblems = 20

// Check returns what does not fit of a document, JSON text that is known to be right, as JSON
// pointers and what is wrong there: nil where all fits, the first 20 problems otherwise.
func (s *Schema) Check(doc []byte) []fanfold.Problem {
	t := jsondoc.MustParse(doc)
	if p := extreme(t, jsondoc.Root, ""); p != nil {
		return []fanfold.Problem{*p}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err == nil {
		err = s.compiled.Validate(value)
	}
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []fanfold.Problem{{Detail: err.Error()}}
	}
	problems := flatten(invalid)
	return problems[:min(len(problems), maxProblems)]
}

// extreme finds a number that is too long, or too far from 1, to be compared in reasonable time.
func extreme(t *jsondoc.Tree, n jsondoc.Node, at string) *fanfold.Problem {
	switch t.Kind(n) {
	case jsondoc.Number:
		if _, err := decimal.Parse(t.Text(n)); err != nil {
			return &fanfold.Problem{Path: at, Detail: "a number of more than 1000 digits, or beyond 1e±1000, cannot be checked"}
		}
	case jsondoc.Object, jsondoc.Array:
		i := 0
		for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
			name := fmt.Sprint(i)
			if t.Kind(n) == jsondoc.Object {
				name = jsondoc.PointerEscape(t.Key(c))
			}
			if p := extreme(t, c, at+"/"+name); p != nil {
				return p
			}
			i++
		}
	}
	return nil
}

// flatten lists the innermost causes.
func flatten(e *jsonschema.ValidationError) []fanfold.Problem {
	if len(e.Causes) == 0 {
		var pointer strings.Builder
		for _, token := range e.InstanceLocation {
			pointer.WriteString("/" + jsondoc.PointerEscape(token))
		}
		return []fanfold.Problem{{Path: pointer.String(), Detail: e.ErrorKind.LocalizedString(message.NewPrinter(language.English))}}
	}
	var out []fanfold.Problem
	for _, cause := range e.Causes {
		out = append(out, flatten(cause)...)
		if len(out) > maxProblems {
			break
		}
	}
	return out
}
