package modelfile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestIndexes reads indexes of every kind.
func TestIndexes(t *testing.T) {
	m, err := Parse([]byte(`
collections:
  tickets:
    indexes:
      newest: [-_meta.createdAt]
      byCustomer: [customerId, -openedAt]
      byLine: ["lines[].sku", "- lines[].qty", at]
      byMail: ["lower( doc.email )", "doc['a'].b", "(doc.x)"]
`))
	if err != nil {
		t.Fatal(problems(t, err))
	}
	var got []string
	for _, x := range m.Indexes() {
		got = append(got, x.String())
	}
	want := []string{"tickets.byCustomer [customerId, -openedAt]", "tickets.byLine [lines[].sku, -lines[].qty, at]", "tickets.byMail [lower(doc.email), a.b, x]", "tickets.newest [-_meta.createdAt]"}
	if !slices.Equal(got, want) {
		t.Errorf("indexes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if x := m.Collection("tickets").DeclaredIndex("byLine"); x.Array().String() != "lines[]" || x.Declaration() != `["lines[].sku","-lines[].qty","at"]` {
		t.Errorf("%s goes through %q and is declared by %s", x, x.Array(), x.Declaration())
	}
}

// TestIndexMistakes lists the mistakes in indexes with their places.
func TestIndexMistakes(t *testing.T) {
	for _, c := range []struct{ indexes, want string }{
		{`[]`, "collections.a.indexes: must be a mapping"},
		{`{"i":{}}`, "collections.a.indexes.i: must be a list of"},
		{`{"i":"a"}`, "collections.a.indexes.i: must be a list of"},
		{`{"i":[]}`, "collections.a.indexes.i: has no components"},
		{`{"i":[1]}`, "collections.a.indexes.i[0]: must be a string that is not empty"},
		{`{"i":["-"]}`, "collections.a.indexes.i[0]: \"-\" names nothing"},
		{`{"1i":["a"]}`, "collections.a.indexes.1i: cannot name an index"},
		{`{"":["a"]}`, "collections.a.indexes.: cannot name an index"},
		{`{"` + strings.Repeat("i", 65) + `":["a"]}`, "cannot name an index"},
		{`{"i":["a","-a"]}`, "collections.a.indexes.i[1]: \"a\" is in the index twice"},
		{`{"i":["(doc.a)","a"]}`, "\"a\" is in the index twice"},
		{`{"i":["a[][]"]}`, "goes through more than one array"},
		{`{"i":["a[].b","c","d[].e"]}`, "\"d[].e\" goes through an array that the index does not go through otherwise (a[])"},
		{`{"i":["a..b"]}`, "is not a path"},
		{`{"i":["_meta.revision"]}`, "of _meta there are createdAt and updatedAt"},
		{`{"i":["lower(doc.a"]}`, "collections.a.indexes.i[0]: column "},
		{`{"i":["lower(doc.a, 1)"]}`, "column "},
		{`{"i":["lower(a)"]}`, "neither a path nor an expression"},
		{`{"i":["doc.a"]}`, "could be a path or an expression"},
		{`{"i":["lower(doc.a + other.b)"]}`, "other"},
		{`{"i":["doc.a + \"` + strings.Repeat("x", 5000) + `\""]}`, "4096"},
		{`{"i":["` + strings.Repeat("x", 2001) + `"]}`, "at most 2000"},
		{`{"i":[` + entries(9, `"a#"`) + `]}`, "at most 8 components"},
		{`{` + entries(10, `"i#":["t[]","a","b","c","d","e","f"]`) + `}`, "have 70 components up to this one, and each element repeats them: at most 64"},
		{`{` + entries(65, `"i#":["a"]`) + `}`, "more than 64 indexes"},
	} {
		_, err := Parse([]byte(`{"collections":{"a":{"indexes":` + c.indexes + `}}}`))
		if got := strings.Join(problems(t, err), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%.60s: %.300s\nwant %s", c.indexes, got, c.want)
		}
	}
	var many []string
	for i := range 8 {
		many = append(many, fmt.Sprintf(`"c%d":{"indexes":{%s}}`, i, entries(63, `"i#":["a"]`)))
	}
	_, err := Parse([]byte(`{"collections":{` + strings.Join(many, ",") + `}}`))
	if got := problems(t, err); len(got) != 1 || !strings.Contains(got[0], "more than 500 indexes") {
		t.Errorf("504 indexes: %s", got)
	}
}

// TestIndexesAsAccepted reads a model that an earlier version accepted without the bounds of a new one.
func TestIndexesAsAccepted(t *testing.T) {
	m, err := ParseAccepted([]byte(`{"collections":{"a":{"indexes":{"i":[` + entries(9, `"a#"`) + `]}}}}`))
	if err != nil || len(m.Indexes()[0].Components) != 9 {
		t.Errorf("%v", err)
	}
}

// TestComponentsReadBack: what a component is called is read as the same one.
func TestComponentsReadBack(t *testing.T) {
	for _, text := range []string{"a", "-a.b", "tags[]", "- _meta.updatedAt", "lower(doc.a)", "-doc.a  +doc.b", "doc['a.b']", "(doc.a).b", `doc["a"] == 'x'`, "[doc.a,1.50]"} {
		c, err := ParseComponent(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := ParseComponent(c.String())
		if err != nil || again.String() != c.String() || again.Term() != c.Term() {
			t.Errorf("%s is called %s, which is read as %s, %v", text, c, again, err)
		}
	}
}

// TestQuotedPaths: a name between quotes is refused wherever a path is told, and read where a model has it already.
func TestQuotedPaths(t *testing.T) {
	for place, text := range map[string]string{
		"a relation":      `{"collections":{"a":{"relations":{"r":{"path":%s,"to":"b"}}},"b":{}}}`,
		"a derived field": `{"collections":{"a":{"derive":{%s:{"value":"doc.n"}}}}}`,
		"unique":          `{"collections":{"a":{"unique":[%s]}}}`,
		"unique together": `{"collections":{"a":{"unique":[["n",%s]]}}}`,
		"an index":        `{"collections":{"a":{"indexes":{"i":["n",%s]}}}}`,
		"what is summed":  `{"collections":{"a":{"derive":{"s":{"sum":"b.r","of":%s}}},"b":{"relations":{"r":{"path":"n","to":"a"}}}}}`,
		"an order":        `{"collections":{"a":{"derive":{"s":{"recent":"b.r","max":3,"fields":["id"],"orderBy":%s}}},"b":{"relations":{"r":{"path":"n","to":"a"}}}}}`,
	} {
		for _, path := range []string{`"a.b"`, `x."a.b"`, `'a'`} {
			src := []byte(fmt.Sprintf(text, jsondoc.Quote(path)))
			_, err := Parse(src)
			if err == nil || !strings.Contains(err.Error(), "have no quotes") {
				t.Errorf("%s at %s: %v, want that names have no quotes", path, place, err)
			}
			if _, err := ParseAccepted(src); err != nil {
				t.Errorf("%s at %s of a model that applies: %v", path, place, err)
			}
		}
		if _, err := Parse([]byte(fmt.Sprintf(text, `"o'k"`))); err != nil {
			t.Errorf("o'k at %s: %v", place, err)
		}
	}
	if _, err := ParseComponent(`-"a.b"`); err == nil || !strings.Contains(err.Error(), `doc["a.b"]`) {
		t.Errorf("a query sorts by a quoted name: %v", err)
	}
	if c, err := ParseComponent(`doc["a.b"]`); err != nil || c.Expression == "" {
		t.Errorf(`doc["a.b"]: %v`, err)
	}
}
