// Package schema checks documents against JSON Schemas of draft 2020-12. Nothing that a schema refers to is fetched.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/regex"
)

// draft is the only version of JSON Schema that is read.
const draft = "https://json-schema.org/draft/2020-12/schema"

// Bounds of the text of a new schema, in bytes.
const (
	MaxBytes    = 64 << 10
	maxPatterns = 8 << 10 // of all its regular expressions
)

// Schema is a compiled schema. It may be used from many goroutines; some wait for others if many documents are checked
// at once.
type Schema struct {
	source []byte
	idle   chan *instance
	room   chan struct{} // has an element for each instance that is not made yet
}

// noLoader refuses to fetch anything: what a schema refers to must stand in it.
type noLoader struct{}

// Load implements jsonschema.URLLoader; it always fails.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not in the schema, and nothing is fetched", url)
}

// CheckNew checks the JSON text of a new schema. The error says what is wrong with it and where, names a format that is
// not asserted, or says which bound it passes. The bounds are of its text, of its regular expressions, and of how many
// definitions come together at one value. A schema that was accepted before is compiled without these bounds.
func CheckNew(source []byte) error {
	if len(source) > MaxBytes {
		return fmt.Errorf("the schema has %d bytes; at most %d are taken", len(source), MaxBytes)
	}
	patterns, size := map[string]*regex.Regexp{}, 0
	root, err := compile(source, func(pattern string) (jsonschema.Regexp, error) {
		if known := patterns[pattern]; known != nil { // the library asks for each twice
			return known, nil
		}
		if size += len(pattern); size > maxPatterns {
			return nil, fmt.Errorf("the schema's regular expressions have more than %d bytes", maxPatterns)
		}
		re, err := regex.Compile(pattern)
		if err != nil {
			return nil, err
		}
		patterns[pattern] = re
		return re, nil
	})
	if err != nil {
		return err
	}
	g := newGraph(root)
	if err := g.checkFormats(); err != nil {
		return err
	}
	return g.check()
}

// Compile returns the schema of a JSON text. The error says what is wrong with it, and where.
func Compile(source []byte) (*Schema, error) {
	root, err := compile(source, compilePattern)
	if err != nil {
		return nil, err
	}
	s := &Schema{source: source, idle: make(chan *instance, instances), room: make(chan struct{}, instances)}
	s.idle <- newInstance(root)
	for range instances - 1 {
		s.room <- struct{}{}
	}
	return s, nil
}

// instances is how many documents are checked with one schema at a time. The other processors are left to other work.
var instances = max(1, runtime.GOMAXPROCS(0)/2)

// compile compiles a schema. The error names the first place where it is none.
func compile(source []byte, patterns jsonschema.RegexpEngine) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		return nil, err
	}
	if !json.Valid(source) {
		return nil, errors.New("not JSON")
	}
	if object, ok := doc.(map[string]any); ok {
		if version, given := object["$schema"]; given && strings.TrimSuffix(fmt.Sprint(version), "#") != draft {
			return nil, fmt.Errorf("$schema is %s; only %s is read", clip(fmt.Sprint(version)), draft)
		}
	}
	if p := extremeNumber(jsondoc.MustParse(source), jsondoc.Root); p != nil {
		return nil, fmt.Errorf("at %q %s", p.Path, p.Detail)
	}
	const name = "urn:fanfold:schema"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(patterns)
	c.AssertFormat()
	own, err := ownFormats()
	if err != nil {
		return nil, err
	}
	for _, f := range slices.Concat(own, unasserted(source)) {
		c.RegisterFormat(f)
	}
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

// place returns where a definition stands in its schema, as a JSON pointer.
func place(s *jsonschema.Schema) string {
	_, pointer, _ := strings.Cut(s.Location, "#")
	return clip(pointer)
}

// clip returns text, cut off where it is too long for a message.
func clip(text string) string {
	const longest = 500
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + fmt.Sprintf("... (%d bytes)", len(text))
}

// maxProblems is how many problems of one document Check returns at most.
const maxProblems = 20

// Check returns where a document, which must be JSON, does not fit the schema: the first 20 problems, or nil where
// it fits. A document for which that takes too many steps does not fit. It waits while other documents are checked.
func (s *Schema) Check(doc []byte) []fanfold.Problem {
	t := jsondoc.MustParse(doc)
	if p := extremeNumber(t, jsondoc.Root); p != nil {
		return []fanfold.Problem{*p}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err == nil {
		err = s.validate(value, s.work(doc))
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

// RefusesAt returns the first 20 problems that Check finds at a JSON pointer or inside it, whatever else the document has. It leaves
// out those in a oneOf or anyOf around it: beside other members the value may fit.
func (s *Schema) RefusesAt(doc []byte, pointer string) []fanfold.Problem {
	return s.refusesAt(doc, pointer, func(jsonschema.ErrorKind) bool { return true })
}

// RefusesKindAt does what RefusesAt does for those problems alone that other texts in the place of a text have, too: no text is taken there.
func (s *Schema) RefusesKindAt(doc []byte, pointer string) []fanfold.Problem {
	return s.refusesAt(doc, pointer, func(k jsonschema.ErrorKind) bool {
		switch k.(type) {
		case *kind.Type, *kind.FalseSchema, *kind.AdditionalProperties:
			return true
		}
		return false
	})
}

// refusesAt returns the problems of RefusesAt that are of some kinds.
func (s *Schema) refusesAt(doc []byte, pointer string, told func(jsonschema.ErrorKind) bool) (at []fanfold.Problem) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err == nil {
		err = s.validate(value, s.work(doc))
	}
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		at = appendRefusals(nil, invalid, pointer, told)
	}
	return at
}

// appendRefusals appends the causes of e that RefusesAt returns.
func appendRefusals(at []fanfold.Problem, e *jsonschema.ValidationError, pointer string, told func(jsonschema.ErrorKind) bool) []fanfold.Problem {
	here := jsondoc.Pointer(e.InstanceLocation)
	inside := here == pointer || strings.HasPrefix(here, pointer+"/")
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Not, *kind.Contains:
		if !inside {
			return at
		}
	}
	if (inside || isUndeclared(e, pointer)) && len(e.Causes) == 0 && told(e.ErrorKind) {
		at = append(at, problemsOf(e)...)
	}
	for _, cause := range e.Causes {
		if len(at) >= maxProblems {
			break
		}
		at = appendRefusals(at, cause, pointer, told)
	}
	return at
}

// isUndeclared tells whether an object of the schema takes no member at a pointer, or none around it.
func isUndeclared(e *jsonschema.ValidationError, pointer string) bool {
	k, ok := e.ErrorKind.(*kind.AdditionalProperties)
	return ok && slices.ContainsFunc(k.Properties, func(name string) bool {
		member := jsondoc.Pointer(append(slices.Clone(e.InstanceLocation), name))
		return pointer == member || strings.HasPrefix(pointer, member+"/")
	})
}

// work returns how many steps the check of a document may take.
func (s *Schema) work(doc []byte) int {
	return min(baseWork+len(s.source)/schemaPerWork+workPerByte*len(doc), maxWork)
}

// take returns an instance that no other document is checked with. It waits for one where there are enough. The error
// says that the schema, which was compiled before, cannot be compiled again.
func (s *Schema) take() (*instance, error) {
	select {
	case in := <-s.idle:
		return in, nil
	default:
	}
	select {
	case in := <-s.idle:
		return in, nil
	case <-s.room:
	}
	root, err := compile(s.source, compilePattern)
	if err != nil {
		s.room <- struct{}{}
		return nil, err
	}
	return newInstance(root), nil
}

// validate returns why a document does not fit, for which it takes at most work steps. The error is the library's, or
// says that they do not suffice.
func (s *Schema) validate(value any, work int) (err error) {
	in, err := s.take()
	if err != nil {
		return err
	}
	defer func() { s.idle <- in }()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case tooMuchWork:
			err = fmt.Errorf("checking it takes too many steps: more than %d, which is what a document of its size may take; simplify the schema", work)
		default:
			panic(r)
		}
	}()
	in.left = work
	in.spend(startWork(in.root))
	return in.root.Validate(value)
}

// extremeNumber returns a problem for the first number in n that cannot be compared in reasonable time. It has too
// many digits, or too large or small a power of ten. nil stands for none.
func extremeNumber(t *jsondoc.Tree, n jsondoc.Node) *fanfold.Problem {
	switch t.Kind(n) {
	case jsondoc.Number:
		if _, err := decimal.Parse(t.Text(n)); err != nil {
			return &fanfold.Problem{Path: clip(t.Pointer(n)), Detail: "a number of more than 1000 digits, or beyond 1e±1000, cannot be checked"}
		}
	case jsondoc.Object, jsondoc.Array:
		for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
			if p := extremeNumber(t, c); p != nil {
				return p
			}
		}
	}
	return nil
}

// problemsOf returns the innermost causes of e: a few more than maxProblems at most, and always one.
func problemsOf(e *jsonschema.ValidationError) []fanfold.Problem {
	if len(e.Causes) == 0 {
		detail := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		return []fanfold.Problem{{Path: clip(jsondoc.Pointer(e.InstanceLocation)), Detail: clip(detail)}}
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
