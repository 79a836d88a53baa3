package typed_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fanfold/fanfold/api/internal/typed"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// everything is a reader who may know and do everything.
type everything struct{}

func (everything) Reads(string) bool          { return true }
func (everything) Sees(string, []string) bool { return true }
func (everything) Values(string) bool         { return true }
func (everything) Writes(string) bool         { return true }
func (everything) Follows(string) bool        { return true }

// nothing is a reader who may know nothing.
type nothing struct{}

func (nothing) Reads(string) bool          { return false }
func (nothing) Sees(string, []string) bool { return false }
func (nothing) Values(string) bool         { return false }
func (nothing) Writes(string) bool         { return false }
func (nothing) Follows(string) bool        { return false }

// described returns openapi.json, and a model that a text declares.
func described(t *testing.T, text string) ([]byte, *model.Model) {
	t.Helper()
	openapi, err := os.ReadFile("../../openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return openapi, m
}

// TestWith: the description with types is valid OpenAPI whatever collections are called, every operation has a name of its own, and nothing of a template is
// left in it.
func TestWith(t *testing.T) {
	text, err := os.ReadFile("../../../tests/openapi/model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	openapi, m := described(t, string(text))
	got := typed.New(openapi).With(m, everything{})
	doc, err := openapi3.NewLoader().LoadFromData(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	ids := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if ids[strings.ToLower(op.OperationID)] {
				t.Errorf("%s %s has the name of another one: %s", method, path, op.OperationID)
			}
			ids[strings.ToLower(op.OperationID)] = true
		}
	}
	for _, left := range []string{"@Type@", "@Child@", "@collection@", "@child@"} {
		if bytes.Contains(got, []byte(left)) {
			t.Errorf("%s is left", left)
		}
	}
	for _, path := range []string{"/v1/books", "/v1/books/_query", "/v1/books/{id}", "/v1/books/{id}/_revert", "/v1/authors/{id}/books", "/v1/pub-houses/{id}/books"} {
		item := doc.Paths.Find(path)
		if item == nil {
			t.Fatalf("there is no %s", path)
		}
		for method, op := range item.Operations() {
			for _, p := range op.Parameters {
				if name := p.Value.Name; name == "collection" || name == "child" || name == "fields" || name == "dryRun" || name == "compute" || name == "group" || name == "explain" || name == "page" {
					t.Errorf("%s %s has the parameter %s", method, path, name)
				}
			}
			for status, answer := range op.Responses.Map() {
				body := answer.Value.Content.Get("application/json")
				if status < "3" && body != nil && (body.Schema.Ref == "" || strings.HasSuffix(body.Schema.Ref, "/Document") || strings.HasSuffix(body.Schema.Ref, "/List")) {
					t.Errorf("%s %s %s is one of several, or of any collection", method, path, status)
				}
			}
		}
	}
}

// TestWithNothing: who may know nothing is told what everybody is.
func TestWithNothing(t *testing.T) {
	openapi, m := described(t, "collections: { books: { schema: { properties: { title: {} } } } }")
	got := typed.New(openapi).With(m, nothing{})
	if _, none := described(t, "{}"); !bytes.Equal(got, typed.New(openapi).With(none, everything{})) {
		t.Error("the description tells of a collection")
	}
}

// TestLargest: the description of a model of as many collections, relations and rules as there may be is bounded.
func TestLargest(t *testing.T) {
	openapi, m := described(t, largest())
	got := typed.New(openapi).With(m, everything{})
	if n := len(got); n > typed.MaxBytes || n < 1<<20 {
		t.Errorf("it has %d bytes, at most %d are due", n, typed.MaxBytes)
	}
}

// largest returns a model of 1,000 collections with long names, 500 relations and 1,000 rules.
func largest() string {
	var text strings.Builder
	text.WriteString("collections:\n")
	name := func(i int) string { return fmt.Sprintf("c%04d%s", i, strings.Repeat("x", 59)) }
	for i := range 1000 {
		fmt.Fprintf(&text, "  %s:\n    schema: { properties: { m%d: { type: string, maxLength: 100 } } }\n", name(i), i)
		if i >= 500 {
			fmt.Fprintf(&text, "    relations: { r: { path: r, to: %s } }\n    derive: { d: { copy: r, value: doc.m%d }, e: { copy: r, value: doc.m%d } }\n", name(i-500), i-500, i-500)
		}
	}
	return text.String()
}

// BenchmarkLargest measures the description of the largest model.
func BenchmarkLargest(b *testing.B) {
	openapi, err := os.ReadFile("../../openapi.json")
	if err != nil {
		b.Fatal(err)
	}
	m, err := modelfile.Parse([]byte(largest()))
	if err != nil {
		b.Fatal(err)
	}
	of := typed.New(openapi)
	b.ReportAllocs()
	for b.Loop() {
		of.With(m, everything{})
	}
}

// TestOperationsOfChildren: each operation has a name of its own, also where two names of types beside one another read as two other ones.
func TestOperationsOfChildren(t *testing.T) {
	openapi, m := described(t, `
collections:
  x: {}
  xInY: {relations: {x: {path: x, to: x}}}
  yInZ: {relations: {x: {path: x, to: x}, other: {path: other, to: x}}}
  z: {relations: {y: {path: y, to: xInY}}}
`)
	got := typed.New(openapi).With(m, everything{})
	for id, times := range map[string]int{"listChildrenOfXInXInY": 1, "listChildrenOfXInYInZ": 1, "listChildrenOfXInYInZ2": 1} {
		if n := bytes.Count(got, []byte(`"operationId":"`+id+`"`)); n != times {
			t.Errorf("%d operations are called %s", n, id)
		}
	}
}
