package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

func TestCheckNewRefuses(t *testing.T) {
	for source, want := range map[string]string{
		`{`:               "EOF",
		`7`:               "not a JSON Schema",
		`{"type":"text"}`: `not a JSON Schema: at "/type"`,
		`{"properties":{"a/b":{"minLength":-1}}}`:                               `at "/properties/a~1b/minLength"`,
		`{"$schema":"http://json-schema.org/draft-07/schema"}`:                  "only " + draft + " is read",
		`{"$ref":"file:///etc/passwd"}`:                                         "nothing is fetched",
		`{"$ref":"#/$defs/none"}`:                                               "none",
		`{"$ref":"#"}`:                                                          "refers to itself without end",
		`{"properties":{"a":{"format":"phone"}}}`:                               `at "/properties/a" the format "phone" is not known here: those that are checked are date, `,
		`{"items":{"format":"regex"}}`:                                          `"regex" is not known`,
		`{"allOf":[{"$ref":"#/$defs/d"}],"$defs":{"d":{"format":"idn-email"}}}`: `at "/$defs/d"`,
		`{"maximum":1e2000}`:                                                    `at "/maximum" a number of more than 1000 digits`,
	} {
		if err := CheckNew([]byte(source)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct{ schema, doc, want string }{
		{`true`, `{"a":1}`, ""},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema#","type":"object"}`, `{}`, ""},
		{`{"required":["title"]}`, `{}`, ": missing property 'title'"},
		{`{"properties":{"a/b":{"type":"string"}}}`, `{"a/b":1}`, "/a~1b: got number, want string"},
		{`{"properties":{"l":{"items":{"minimum":1}}}}`, `{"l":[1,0.5,2]}`, "/l/1: minimum: got 0.5, want 1"},
		{`{"properties":{"n":{"const":1}}}`, `{"n":1.0}`, ""},
		{`{"properties":{"n":{"multipleOf":0.01}}}`, `{"n":1e-1001}`, "/n: a number of more than 1000 digits, or beyond 1e±1000, cannot be checked"},
		{`{"properties":{"format":{"const":"pdf"}},"examples":[{"format":"x"}]}`, `{"format":"pdf"}`, ""},
		{`{"properties":{"mail":{"type":"string","format":"email"}}}`, `{"mail":"ann"}`, "/mail: 'ann' is not valid email: missing @"},
		{`{"properties":{"mail":{"format":"email"}}}`, `{"mail":7}`, ""},
		{`{"type":"object","properties":{"child":{"$ref":"#"}}}`, `{"child":{"child":{}}}`, ""},
	} {
		s, err := Compile([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		var got []string
		for _, p := range s.Check([]byte(c.doc)) {
			got = append(got, p.Path+": "+p.Detail)
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s of %s: %q, want %q", c.schema, c.doc, text, c.want)
		}
	}
}

// TestCheckIsBounded checks that a document with very many mistakes gives the first of them.
func TestCheckIsBounded(t *testing.T) {
	s, err := Compile([]byte(`{"items":{"type":"string"}}`))
	if err != nil {
		t.Fatal(err)
	}
	problems := s.Check([]byte("[1" + strings.Repeat(",1", 1000) + "]"))
	if len(problems) != maxProblems || problems[19].Path != "/19" {
		t.Errorf("%d problems: %v", len(problems), problems)
	}
}

func ExampleSchema_Check() {
	s, err := Compile([]byte(`{"type":"object","required":["title"],"properties":{"year":{"type":"integer"}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Check([]byte(`{"title":"Emma","year":1815}`)))
	for _, p := range s.Check([]byte(`{"title":"Emma","year":"1815"}`)) {
		fmt.Println(p.Path, p.Detail)
	}
	// Output:
	// []
	// /year got string, want integer
}

const bookSchema = `{"type":"object","required":["title"],"additionalProperties":false,"properties":{
"id":{"type":["string","integer"]},"title":{"type":"string","minLength":1},"pages":{"type":"integer","minimum":1},
"tags":{"type":"array","uniqueItems":true,"items":{"type":"string"}}}}`

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile([]byte(bookSchema)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	s, err := Compile([]byte(bookSchema))
	if err != nil {
		b.Fatal(err)
	}
	doc := jsondoc.Compact(nil, []byte(`{"id": "b1", "title": "Emma", "pages": 474, "tags": ["novel", "irony"]}`))
	b.ReportAllocs()
	for b.Loop() {
		if problems := s.Check(doc); problems != nil {
			b.Fatal(problems)
		}
	}
}
