package modeltypes_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/modeltypes"
	"github.com/fanfold/fanfold/model"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

// TestTypeScript: the types of a model with each kind of rule stand in the golden file, which make js compiles.
func TestTypeScript(t *testing.T) {
	src, err := os.ReadFile("testdata/model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	holdGolden(t, "testdata/model.ts", modeltypes.TypeScript(m))
}

// holdGolden fails where a golden file has another text, which -rewrite writes.
func holdGolden(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(got) != string(want) {
		t.Errorf("the types are\n%s\nwant\n%s%v", got, want, err)
	}
}

// TestEmpty: a model without collections has types without members.
func TestEmpty(t *testing.T) {
	m, err := modelfile.Parse([]byte("collections: {}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(modeltypes.TypeScript(m)); got != modeltypes.Header+"\nexport interface Models {\n}\n" {
		t.Errorf("the types are\n%s", got)
	}
}

// parsed returns a model that a text declares.
func parsed(t *testing.T, text string) *model.Model {
	t.Helper()
	m, err := modelfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// anyName lets every name be one of a type.
func anyName(string) bool { return true }

// TestJSONSchemas: the schemas of a model with each kind of rule stand in the golden file.
func TestJSONSchemas(t *testing.T) {
	src, err := os.ReadFile("testdata/model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, of := range modeltypes.JSONSchemas(parsed(t, string(src)), nil, anyName) {
		for _, one := range []struct {
			name string
			text []byte
		}{{"In", of.In}, {"Referenced", of.Referenced}, {"", of.Embedded}} {
			fmt.Fprintf(&out, "%s%s of %s\n", of.Name, one.name, of.Collection)
			if err := json.Indent(&out, one.text, "", " "); err != nil {
				t.Fatal(err)
			}
			out.WriteByte('\n')
		}
	}
	holdGolden(t, "testdata/model.schemas.txt", out.Bytes())
}

// TestUnions: a union has one branch for each type of JSON, and so every generator can tell which it has.
func TestUnions(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{`{ type: [string, "null"] }`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		{`{ enum: [a, b] }`, `{"type":"string","enum":["a","b"]}`},
		{`{ enum: [a, b, 3, 4, null, true, false] }`, `{"anyOf":[{"type":"string","enum":["a","b"]},{"type":"number","x-go-type":"json.Number","enum":[3,4]},{"type":"null"},{"type":"boolean"}]}`},
		{`{ const: a }`, `{"type":"string","const":"a"}`},
		{`{ anyOf: [{ const: a }, { type: string }] }`, `{"type":"string"}`},
		{`{ oneOf: [{ type: object, properties: { a: {} } }, { type: object, properties: { b: {} } }] }`, `{"type":"object","additionalProperties":{"x-go-type":"json.RawMessage"}}`},
		{`{ anyOf: [{ type: array, items: { type: string } }, { type: array, items: { type: number } }, { anyOf: [{ type: integer }, { type: number }] }] }`, `{"anyOf":[{"type":"array","items":{"x-go-type":"json.RawMessage"}},{"type":"number","x-go-type":"json.Number"}]}`},
		{`{ anyOf: [{ type: string }, {}] }`, `{"x-go-type":"json.RawMessage","anyOf":[{},{"type":"null"}]}`},
		{`{ type: string, format: date-time, minLength: 3 }`, `{"type":"string","x-go-type":"string","format":"date-time","minLength":3}`},
	} {
		m := parsed(t, "collections: { books: { schema: { type: object, properties: { x: "+c.schema+" } } } }")
		var in struct {
			Properties struct{ X json.RawMessage }
		}
		if err := json.Unmarshal(modeltypes.JSONSchemas(m, nil, anyName)[0].In, &in); err != nil || string(in.Properties.X) != c.want {
			t.Errorf("%s is %s, want %s, %v", c.schema, in.Properties.X, c.want, err)
		}
	}
}

// TestNames: no two collections have types of one name, whatever the case, and none has a name that is taken.
func TestNames(t *testing.T) {
	m := parsed(t, "collections: { a-b: {}, aB: {}, taken: {} }")
	var names []string
	for _, of := range modeltypes.JSONSchemas(m, nil, func(name string) bool { return name != "Taken" }) {
		names = append(names, of.Name)
	}
	if want := []string{"AB", "AB2", "CTaken"}; !slices.Equal(names, want) {
		t.Errorf("the names are %q, want %q", names, want)
	}
}

// TestTypesAreBounded: copies of lists of copies, which grow by powers, and schemas that lead into themselves end.
func TestTypesAreBounded(t *testing.T) {
	var text strings.Builder
	text.WriteString("collections:\n  c0: { schema: { type: object, properties: { m: { type: object, properties: { " + strings.Repeat("long", 10_000) + ": {} } }, tree: { $ref: '#/$defs/tree' } }, $defs: { tree: { type: object, properties: { left: { $ref: '#/$defs/tree' }, right: { $ref: '#' } } } } } }\n")
	for i := 1; i <= 12; i++ {
		fmt.Fprintf(&text, "  c%d:\n    relations: { r: { path: r, to: c%d } }\n    derive: {", i, i-1)
		for n := range 50 {
			value := "doc.m"
			if i > 1 {
				value = "doc.d" + fmt.Sprint(n)
			}
			fmt.Fprintf(&text, " d%d: { copy: r, value: %s },", n, value)
		}
		fmt.Fprintf(&text, " }\n")
	}
	for i := 1; i <= 12; i++ {
		fmt.Fprintf(&text, "  e%d:\n    relations: { r: { path: r, to: e%d } }\n", i, i+1)
		if i > 1 {
			text.WriteString("    derive: {")
			for n := range 10 {
				fmt.Fprintf(&text, " d%d: { recent: e%d.r, fields: [d0, d1, d2, d3, d4, d5, d6, d7, d8, d9], max: 1 },", n, i-1)
			}
			text.WriteString(" }\n")
		}
	}
	text.WriteString("  e13: {}\n")
	m := parsed(t, text.String())
	size := len(modeltypes.TypeScript(m))
	for _, of := range modeltypes.JSONSchemas(m, nil, anyName) {
		if size += len(of.In) + len(of.Referenced) + len(of.Embedded); !json.Valid(of.Embedded) {
			t.Errorf("%s is no JSON", of.Name)
		}
	}
	if size > 20<<20 {
		t.Errorf("the types have %d bytes", size)
	}
}
