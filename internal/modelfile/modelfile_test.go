package modelfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
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
	if m.FanoutLimit != 5000 || m.Relation("books.authors").OnDelete != model.Keep || len(m.Collection("books").Unique) != 1 {
		t.Errorf("limit %d, relation %+v", m.FanoutLimit, m.Relation("books.authors"))
	}
}

// TestRulesOverDerivedMembers holds which rules look at derived members of the documents that refer to one, and that each
// comes after those that give them.
func TestRulesOverDerivedMembers(t *testing.T) {
	m, err := Parse([]byte(`
collections:
  a:
    derive:
      all: {count: b.r}
      beside: {sum: b.r, of: stats.x}
      shown: {recent: b.r, max: 1, fields: [n]}
      some: {count: b.r, where: doc.stats.x > 1}
      sum: {sum: b.r, of: stats.n}
      any: {min: b.r, of: x, where: doc == doc}
      ordered: {recent: b.r, max: 1, fields: [x], orderBy: n}
  b:
    relations: {r: {path: r, to: a}}
    derive: {stats.n: {count: c.s}, n: {count: c.s}, more.n: {sum: c.s, of: n}}
  c: {relations: {s: {path: s, to: b}}}
`))
	if err != nil {
		t.Fatal(problems(t, err))
	}
	want := map[string]string{"all": "0 false []", "beside": "0 false []", "shown": "1 false [n]", "some": "1 true [stats]", "sum": "1 true [stats]",
		"any": "1 true []", "ordered": "1 true [x n]"}
	for _, r := range m.Collection("a").Rules {
		if got := fmt.Sprint(r.Level, " ", r.EntersDerived, " ", r.Reads); got != want[r.Path.String()] {
			t.Errorf("%s has level, looks at derived members and reads %s, want %s", r.Name(), got, want[r.Path.String()])
		}
	}
	if r := m.Collection("a").Rules[1]; r.Path.String() != "any" || r.Reads != nil {
		t.Errorf("%s reads %q, want any", r.Name(), r.Reads)
	}
}

// TestRelationsOverDerivedIDs holds which relations are over derived ids, at which level these are final, and that whatever
// goes by them comes after.
func TestRelationsOverDerivedIDs(t *testing.T) {
	m, err := Parse([]byte(`
collections:
  customers:
    derive: {comments: {count: comments.customer}, ids: {ids: comments.customer}, last: {recent: comments.customer, max: 1, fields: [text]}}
  tickets:
    relations: {customer: {path: customerId, to: customers}}
  comments:
    relations:
      ticket: {path: ticketId, to: tickets}
      customer: {path: customerId, to: customers, onDelete: cascade}
      all: {path: "seen[].id", to: customers, onDelete: restrict}
    derive:
      customerId: {copy: ticket, value: doc.customerId}
      customerName: {copy: customer, value: doc.name}
      seen: {value: doc.customerName + doc.seenBefore}
`))
	if err != nil {
		t.Fatal(problems(t, err))
	}
	for name, want := range map[string]string{"tickets.customer": "0 []", "comments.ticket": "0 []", "comments.customer": "1 [comments.customerId]", "comments.all": "3 [comments.seen]"} {
		r := m.Relation(name)
		var sources []string
		for _, source := range r.IDRules {
			sources = append(sources, source.Name())
		}
		if got := fmt.Sprint(r.Level, " ", sources); got != want || r.Derived() != (sources != nil) {
			t.Errorf("relation %s has level and sources %s, want %s", name, got, want)
		}
	}
	want := map[string]string{"comments": "1 true [customerId]", "ids": "1 true [customerId]", "last": "1 true [text customerId]"}
	for _, r := range m.Collection("customers").Rules {
		if got := fmt.Sprint(r.Level, " ", r.EntersDerived, " ", r.Reads); got != want[r.Path.String()] {
			t.Errorf("%s has level, looks at derived members and reads %s, want %s", r.Name(), got, want[r.Path.String()])
		}
	}
}

// TestParseItsOwnSource holds that the log's form of a model is read to the same model.
func TestParseItsOwnSource(t *testing.T) {
	for _, src := range []string{bookshop, `{"collections":{}}`, `collections: {a: {}}`, ` {"collections" : {"b":null}} `} {
		first, err := Parse([]byte(src))
		if err != nil {
			t.Fatal(src, problems(t, err))
		}
		for _, parse := range []func([]byte) (*model.Model, error){Parse, ParseAccepted} {
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
		"collections: [":     {"the model is not YAML"},
		`{"collections":{},`: {"the model is not JSON"},
		"collections: {orders: {}, Orders: {}, b: {}}": {`collections.orders: differs from "Orders" by case alone: names of collections are unique without case`},
		`7`:                       {": the model must be a mapping with the member collections"},
		`{collections: {}, x: 1}`: {"x: unknown member; the model has collections, functions, open, fanout and embedded"},
		"collections: {}\nx: 1":   {"x: unknown member; the model has collections, functions, open, fanout and embedded"},
		"collections: {1a: {}, b: 1, c: {colour: 1}}\nfanout: {limit: 0}": {
			"collections.1a: cannot name a collection",
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
		`collections: {a: {unique: [doc.email, "lower(email)", "lower(doc.x", [], [y], [y, y], [y, "l[]"], {z: 1}, [1, y], "doc + doc.x", "lower( doc.x )", "my.doc.x", "a b"]}}`: {
			`collections.a.unique: "doc.email" could be a path or an expression: write "email" for that member, or "(doc.doc.email)" for one inside a member doc`,
			`collections.a.unique: "lower(email)" is neither a path nor an expression`,
			`collections.a.unique: not a valid CEL expression`,
			`collections.a.unique: a list of what is unique together has two entries or more`,
			`collections.a.unique: a list of what is unique together has two entries or more`,
			`collections.a.unique: "y" is in one list twice`,
			`collections.a.unique: "l[]" goes through an array`,
			`collections.a.unique: must be a string that is not empty`,
			`collections.a.unique: must be a string that is not empty`,
			`collections.a.unique: "doc + doc.x" looks at doc as a whole`,
		},
		`collections: {a: {unique: [[x, f], "lower(doc.s.t)", ["doc.f + ''", y], nTruncated], relations: {r: {path: x, to: a}}, derive: {f: {count: a.r}, s.n: {count: a.r}, n: {ids: a.r}}}}`: {
			`collections.a.derive["f"]: stands in the way of unique member f`,
			`collections.a.unique: "lower(doc.s.t)" looks at s, in which s.n is derived`,
			`collections.a.unique: "doc.f + ''" looks at f, in which f is derived`,
			`collections.a.derive["n"]: stands in the way of unique member nTruncated`,
		},
		"collections: {a: {relations: {r: {path: x, to: a}}, derive: {f: {copy: r}, g: {count: a.s}, h: {copy: r, value: doc.}, x: {ids: a.r}}}}": {
			`collections.a.derive["f"]: value is missing`,
			`collections.a.derive["h"].value: not a valid CEL expression`,
			`collections.a.derive["g"].count: unknown relation "a.s": relations to a are a.r`,
		},
		"collections: {a: {relations: {r: {path: x, to: a}, s: {path: y, to: a}}, derive: {x.y: {copy: s, value: doc.id}}}}": {
			`collections.a.derive["x.y"]: stands in the way of relation r, whose ids are read at x`,
		},
		"collections: {a: {relations: {r: {path: x, to: a, strict: true, onDelete: unlink}, s: {path: y, to: a}}, derive: {x: {copy: s, value: doc.id}, f: {copy: r, value: doc.n, frozen: true}}}}": {
			`collections.a.relations.r.strict: the ids at x are derived by x: no write could be refused`,
			`collections.a.relations.r.onDelete: the ids at x are derived by x: nobody can take one out`,
			`collections.a.derive["f"].frozen: the ids of relation r are derived by x: they come and go without a write`,
		},
		`collections: {a: {derive: {"l[].a": {value: "element"}, "l[]": {value: "doc.x"}, "m[].b": {value: "element.c"}, "m[].c": {value: "doc.m"}, "k[].s": {sum: "k[].t"}, n: {sum: "k[].t", of: u, limit: 3}, o: {count: "k[]", where: "element.t > "}, p: {sum: "k[]", value: doc.x}, q: {value: "element.x"}, "j[].v": {value: "doc[element.x]"}, t: {sum: "k[].w", where: "doc.t > 1"}, d: {copy: "k[].w", value: doc.x}}}}`: {
			`collections.a.derive["n"].sum: "k[].t" says already where the numbers stand: leave out of`,
			`collections.a.derive["n"].limit: does not go with sum`,
			`collections.a.derive["o"].where: not a valid CEL expression`,
			`collections.a.derive["p"].value: does not go with sum`,
			`collections.a.derive["q"].value: not a valid CEL expression: column 1: there is no 'element' here`,
			`collections.a.derive["l[]"]: must name a member inside the array's elements`,
			`collections.a.derive["k[].s"]: sum stands once in a document, so its path cannot go through an array`,
			`collections.a.derive["d"].copy: unknown relation "k[].w": a has none`,
			`collections.a.derive["l[].a"]: stands in the way of "l[]": two rules cannot own one field`,
		},
		`collections: {a: {derive: {"l[].a": {value: "element"}}}}`:                                                                                         {`collections.a.derive["l[].a"]: a derived value cannot depend on itself: a.l[].a -> a.l[].a`},
		`collections: {a: {derive: {"l[].a": {value: "element.b"}, "l[].b": {value: "doc.t"}, t: {sum: "l[].a"}}}}`:                                         {`collections.a.derive["l[].a"]: a derived value cannot depend on itself: a.l[].a -> a.l[].b -> a.t -> a.l[].a`},
		`collections: {a: {derive: {"l[].a": {value: "doc.l[0].b"}}}}`:                                                                                      {`collections.a.derive["l[].a"]: a derived value cannot depend on itself: a.l[].a -> a.l[].a`},
		`collections: {a: {derive: {"j[].v": {value: "doc[element.x]"}}}}`:                                                                                  {`collections.a.derive["j[].v"].value: doc as a whole, or a member by a computed name, would hold the value itself`},
		`collections: {a: {derive: {t: {sum: "k[].w", where: "doc.t > 1"}}}}`:                                                                               {`collections.a.derive["t"]: a derived value cannot depend on itself: a.t -> a.t`},
		`collections: {a: {relations: {r: {path: x, to: b}}, derive: {"l[].a": {copy: r, value: doc.n}}}, b: {derive: {n: {sum: a.r, of: "l[].a"}}}}`:       {`collections.a.derive["l[].a"]: goes through an array that relation r (x) does not`},
		`collections: {a: {relations: {r: {path: "l[].x", to: b}}, derive: {"l[].a": {copy: r, value: doc.n}}}, b: {derive: {n: {sum: a.r, of: "l[].a"}}}}`: {`collections.a.derive["l[].a"]: a derived value cannot depend on itself: a.l[].a -> b.n -> a.l[].a`},
		"collections: {a: {relations: {r: {path: 'x[]', to: a}}, derive: {x: {ids: a.r}}}}": {
			`collections.a.derive["x"]: a derived value cannot depend on itself: a.x -> a.x`,
		},
		"collections: {a: {relations: {r: {path: x, to: b}}, derive: {x: {value: doc.name}, name: {copy: r, value: doc.n}}}, b: {derive: {n: {count: a.r}}}}": {
			`collections.a.derive["name"]: a derived value cannot depend on itself: a.name -> b.n -> a.x -> a.name`,
		},
		"collections: {a: {relations: {r: {path: x, to: a}}, derive: {f: {copy: r, value: doc.f}}}}": {
			`collections.a.derive["f"]: a derived value cannot depend on itself: a.f -> a.f`,
		},
		"collections: {a: {relations: {r: {path: x, to: a}}, derive: {f: {copy: r, value: doc.g}, g: {copy: r, value: doc.f}}}}": {
			`collections.a.derive["f"]: a derived value cannot depend on itself: a.f -> a.g -> a.f`,
		},
		"collections: {a: {relations: {r: {path: x, to: a}}, derive: {f: {sum: a.r, of: f}}}}": {
			`collections.a.derive["f"]: a derived value cannot depend on itself: a.f -> a.f`,
		},
		"collections: {a: {relations: {r: {path: x, to: b}}, derive: {f: {max: b.s, of: g}}}, b: {relations: {s: {path: y, to: a}}, derive: {g: {count: a.r, where: doc.f > 1}}}}": {
			`collections.a.derive["f"]: a derived value cannot depend on itself: a.f -> b.g -> a.f`,
		},
		"collections: {a: {relations: {r: {path: x, to: a}}, derive: {f: {recent: a.r, max: 1, fields: [id], orderBy: f.x}}}}": {
			`collections.a.derive["f"]: a derived value cannot depend on itself: a.f -> a.f`,
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
	if _, err := ParseAccepted([]byte(`{"collections":{"1a":{}}}`)); fanfold.CodeOf(err) != fanfold.Invalid {
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
