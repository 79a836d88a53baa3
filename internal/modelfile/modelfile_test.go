package modelfile

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
)

const bookshop = `
collections:
  authors:
    derive:
      countOfBooks: {count: books.authors}
      titles: {recent: books.authors, max: 3, fields: [title, shelf]}
  books:
    relations:
      authors: {path: "authors[].id", to: authors, onDelete: keep}
    derive:
      "authors[].name": {copy: authors, value: doc.firstName + ' ' + doc.lastName}
    unique: [isbn]
    schema: {type: object, required: [title]}
  shelves:
    relations:
      book: {path: book, to: books}
    derive:
      by: {copy: book, value: "doc.authors.map(a, a.name)"}
fanout: {limit: 5000}
`

// problems returns the mistakes of an error, each as "path: detail".
func problems(t *testing.T, err error) []string {
	t.Helper()
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Code != fanfold.Invalid {
		t.Fatalf("%v is not Invalid", err)
	}
	if len(e.Problems) == 0 {
		return []string{e.Message}
	}
	var out []string
	for _, p := range e.Problems {
		out = append(out, p.Path+": "+p.Detail)
	}
	return out
}

func TestParse(t *testing.T) {
	m, err := Parse([]byte(bookshop))
	if err != nil {
		t.Fatal(problems(t, err))
	}
	var order []string
	for i, r := range m.Rules {
		if r.Index != i {
			t.Errorf("rule %d has the index %d", i, r.Index)
		}
		order = append(order, r.Name())
	}
	if got, want := strings.Join(order, " "), "authors.countOfBooks authors.titles books.authors[].name shelves.by"; got != want {
		t.Errorf("the rules are %s, want %s", got, want)
	}
	if by := m.Rules[3]; by.Level != 1 || strings.Join(by.Reads, ",") != "authors" || by.Base != 0 {
		t.Errorf("shelves.by has level %d, reads %q and stands at %d", by.Level, by.Reads, by.Base)
	}
	if m.FanoutLimit != 5000 || m.Relation("books.authors").OnDelete != fanfold.Keep || len(m.Collection("books").Unique) != 1 {
		t.Errorf("limit %d, relation %+v", m.FanoutLimit, m.Relation("books.authors"))
	}
}

// TestParseItsOwnSource holds that the log's form of a model is read to the same model.
func TestParseItsOwnSource(t *testing.T) {
	for _, src := range []string{bookshop, `{"collections":{}}`, `collections: {a: {}}`, ` {"collections" : {"b":null}} `} {
		first, err := Parse([]byte(src))
		if err != nil {
			t.Fatal(src, problems(t, err))
		}
		for _, parse := range []func([]byte) (*fanfold.Model, error){Parse, ParseAccepted} {
			again, err := parse(first.Source)
			if err != nil {
				t.Fatal(string(first.Source), problems(t, err))
			}
			if !bytes.Equal(again.Source, first.Source) || len(again.Rules) != len(first.Rules) || again.FanoutLimit != first.FanoutLimit {
				t.Errorf("%s became %s", first.Source, again.Source)
			}
			for i, r := range again.Rules {
				if o := first.Rules[i]; !r.SameAs(o) || r.Name() != o.Name() || r.Level != o.Level {
					t.Errorf("rule %s became %s", o.Name(), r.Name())
				}
			}
		}
	}
}

func TestParseListsMistakes(t *testing.T) {
	for src, want := range map[string][]string{
		"collections: [":          {"the model is not YAML"},
		`{"collections":{},}`:     {"the model is not JSON"},
		`7`:                       {": the model must be a mapping with the member collections"},
		`{collections: {}, x: 1}`: {"the model is not JSON"}, // what begins with a brace is read as JSON
		"collections: {}\nx: 1":   {"x: unknown member; the model has collections, fanout and embedded"},
		"collections: {A: {}, b: 1, c: {colour: 1}}\nfanout: {limit: 0}": {
			"collections.A: cannot name a collection",
			"collections.b: must be a mapping",
			"collections.c.colour: unknown member",
			"fanout.limit: must be a whole number from 1 to",
		},
		"collections: {a: {relations: {r: {path: x, to: b}}, unique: ['l[]', x, x], schema: {type: text}}}": {
			`collections.a.unique: "l[]" goes through an array`,
			`collections.a.unique: "x" is listed twice`,
			"collections.a.schema: not a JSON Schema",
			`collections.a.relations.r.to: unknown collection "b"`,
		},
		"collections: {a: {relations: {r: {path: x, to: a}}, derive: {f: {copy: r}, g: {count: a.s}, h: {copy: r, value: doc.}, x: {ids: a.r}}}}": {
			`collections.a.derive["f"]: value is missing`,
			`collections.a.derive["h"].value: not a valid CEL expression`,
			`collections.a.derive["g"].count: unknown relation "a.s": relations to a are a.r`,
			`collections.a.derive["x"]: stands in the way of relation r`,
		},
		"collections: {a: {relations: {r: {path: x, to: a}}, derive: {f: {copy: r, value: doc.f}}}}": {
			`collections.a.derive["f"]: a derived value cannot depend on itself: a.f -> a.f`,
		},
		"collections: {a: {relations: {r: {path: x, to: a}}, derive: {f: {copy: r, value: doc.g}, g: {copy: r, value: doc.f}}}}": {
			`collections.a.derive["f"]: a derived value cannot depend on itself: a.f -> a.g -> a.f`,
		},
	} {
		_, err := Parse([]byte(src))
		got := problems(t, err)
		if len(got) != len(want) {
			t.Errorf("%s: %q, want %q", src, got, want)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("%s: %q, want %q", src, got[i], want[i])
			}
		}
	}
}

// TestParseAccepted holds that a schema which was accepted once is not refused later, and other mistakes still are.
func TestParseAccepted(t *testing.T) {
	const refused = `{"collections":{"a":{"schema":{"type":"text"}}}}`
	if _, err := Parse([]byte(refused)); fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("Parse: %v", err)
	}
	m, err := ParseAccepted([]byte(refused))
	if err != nil || string(m.Collection("a").Schema) != `{"type":"text"}` {
		t.Errorf("ParseAccepted: %v", err)
	}
	if _, err := ParseAccepted([]byte(`{"collections":{"A":{}}}`)); fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("ParseAccepted of another mistake: %v", err)
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse([]byte(bookshop)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseAccepted(b *testing.B) {
	m, err := Parse([]byte(bookshop))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := ParseAccepted(m.Source); err != nil {
			b.Fatal(err)
		}
	}
}
