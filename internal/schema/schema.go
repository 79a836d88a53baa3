// Package schema checks documents against JSON Schemas of draft 2020-12. Nothing that a schema refers to is fetched.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// draft is the only version of JSON Schema that is read.
const draft = "https://json-schema.org/draft/2020-12/schema"

// Schema is a compiled schema. It may be used from many goroutines.
type Schema struct{ compiled *jsonschema.Schema }

// noLoader refuses to fetch anything: what a schema refers to must stand in it.
type noLoader struct{}

// Load implements jsonschema.URLLoader; it always fails.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not in the schema, and nothing is fetched", url)
}

// Compile returns the schema of a JSON text. The error says what is wrong with it, and where.
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
	if p := extremeNumber(jsondoc.MustParse(source), jsondoc.Root, ""); p != nil {
		return nil, fmt.Errorf("at %q %s", p.Path, p.Detail)
	}
	compiled, err := compile(doc)
	if err != nil {
		return nil, err
	}
	var invalid *jsonschema.ValidationError
	if errors.As(compiled.Validate(map[string]any{}), &invalid) && circular(invalid) {
		return nil, errors.New("not a JSON Schema: it refers to itself without end")
	}
	return &Schema{compiled}, nil
}

// compile compiles a parsed schema. The error names the first place where it is none.
func compile(doc any) (*jsonschema.Schema, error) {
	const name = "urn:fanfold:schema"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(name)
	var refused *jsonschema.SchemaValidationError
	var invalid *jsonschema.ValidationError
	if errors.As(err, &refused) && errors.As(refused.Err, &invalid) {
		first := problemsOf(invalid)[0]
		return nil, fmt.Errorf("not a JSON Schema: at %q %s", first.Path, first.Detail)
	}
	return compiled, err
}

// circular tells whether a schema cannot be applied because it leads back to itself.
func circular(e *jsonschema.ValidationError) bool {
	_, cycle := e.ErrorKind.(*kind.RefCycle)
	return cycle || slices.ContainsFunc(e.Causes, circular)
}

// maxProblems is how many problems of one document Check returns at most.
const maxProblems = 20

// Check returns where a document, which must be JSON, does not fit the schema: the first 20 problems, or nil where
// it fits.
func (s *Schema) Check(doc []byte) []fanfold.Problem {
	t := jsondoc.MustParse(doc)
	if p := extremeNumber(t, jsondoc.Root, ""); p != nil {
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
	problems := problemsOf(invalid)
	return problems[:min(len(problems), maxProblems)]
}

// extremeNumber returns a problem for the first number that has too many digits, or too large or small a power of
// ten, to be compared in reasonable time; nil where there is none. at is the pointer to n.
func extremeNumber(t *jsondoc.Tree, n jsondoc.Node, at string) *fanfold.Problem {
	switch t.Kind(n) {
	case jsondoc.Number:
		if _, err := decimal.Parse(t.Text(n)); err != nil {
			return &fanfold.Problem{Path: at, Detail: "a number of more than 1000 digits, or beyond 1e±1000, cannot be checked"}
		}
	case jsondoc.Object, jsondoc.Array:
		i := 0
		for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
			name := strconv.Itoa(i)
			if t.Kind(n) == jsondoc.Object {
				name = jsondoc.PointerEscape(t.Key(c))
			}
			if p := extremeNumber(t, c, at+"/"+name); p != nil {
				return p
			}
			i++
		}
	}
	return nil
}

// problemsOf returns the innermost causes of e: a few more than maxProblems at most, and always one.
func problemsOf(e *jsonschema.ValidationError) []fanfold.Problem {
	if len(e.Causes) == 0 {
		var pointer strings.Builder
		for _, token := range e.InstanceLocation {
			pointer.WriteString("/" + jsondoc.PointerEscape(token))
		}
		detail := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		return []fanfold.Problem{{Path: pointer.String(), Detail: detail}}
	}
	var out []fanfold.Problem
	for _, cause := range e.Causes {
		out = append(out, problemsOf(cause)...)
		if len(out) > maxProblems {
			break
		}
	}
	return out
}
