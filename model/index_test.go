package model_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
)

// indexOf returns an index with some components.
func indexOf(t *testing.T, components ...string) *model.Index {
	t.Helper()
	x := &model.Index{Collection: "c", Name: "i"}
	for _, text := range components {
		c, err := modelfile.ParseComponent(text)
		if err != nil {
			t.Fatal(err)
		}
		x.Components = append(x.Components, c)
	}
	return x
}

// keyOf returns the key of some values, JSON or "" for absent ones; those after a "-" descend.
func keyOf(values ...string) []byte {
	var key []byte
	for _, v := range values {
		text, descends := strings.CutPrefix(v, "-")
		start, none := len(key), jsondoc.MustParse([]byte("null"))
		if text == "" {
			key = sortkey.Append(key, none, jsondoc.None)
		} else {
			key = sortkey.Append(key, jsondoc.MustParse([]byte(text)), jsondoc.Root)
		}
		if descends {
			sortkey.Descend(key[start:])
		}
	}
	return key
}

// TestIndexKeys checks the keys of documents in indexes of every kind.
func TestIndexKeys(t *testing.T) {
	created, updated := time.Unix(3, 4), time.Unix(5, 6)
	long := strings.Repeat("x", 1100)
	for _, c := range []struct {
		components []string
		doc        string
		want       [][]byte
	}{
		{[]string{"a"}, `{"a":1.0}`, [][]byte{keyOf("1")}},
		{[]string{"a", "-b.c"}, `{"a":"x","b":{"c":2}}`, [][]byte{keyOf(`"x"`, "-2")}},
		{[]string{"a", "b.c"}, `{"b":"c"}`, [][]byte{keyOf("", "")}},
		{[]string{"-a"}, `{}`, [][]byte{keyOf("-")}},
		{[]string{"a"}, `{"a":null}`, [][]byte{keyOf("null")}},
		{[]string{"a"}, `{"a":"` + long + `"}`, [][]byte{keyOf(`"` + long[:1024] + `"`)}},
		{[]string{"_meta.createdAt", "-_meta.updatedAt"}, `{}`, [][]byte{keyOf("3000000004", "-5000000006")}},
		{[]string{"lower(doc.a)", "b"}, `{"a":"XY","b":true}`, [][]byte{keyOf(`"xy"`, "true")}},
		{[]string{"lower(doc.a)"}, `{"a":7}`, [][]byte{keyOf("")}},
		{[]string{"lower(doc.a)"}, `{}`, [][]byte{keyOf("")}},
		{[]string{"tags[]"}, `{"tags":["b","a","b",1,1.0,null]}`, [][]byte{keyOf("null"), keyOf("1"), keyOf(`"a"`), keyOf(`"b"`)}},
		{[]string{"a", "-tags[]"}, `{"a":1,"tags":["x","y"]}`, [][]byte{keyOf("1", `-"y"`), keyOf("1", `-"x"`)}},
		{[]string{"tags[]"}, `{"tags":[]}`, [][]byte{keyOf("")}},
		{[]string{"tags[]"}, `{}`, [][]byte{keyOf("")}},
		{[]string{"tags[]"}, `{"tags":"x"}`, [][]byte{keyOf("")}},
		{[]string{"tags[]"}, `{"tags":{}}`, [][]byte{keyOf("")}},
		{[]string{"tags[]"}, `{"tags":[["x"],{"y":1}]}`, [][]byte{keyOf("[]")}},
		{[]string{"lines[].sku", "lines[].n.m"}, `{"lines":[{"sku":"s","n":{"m":2}},{"sku":"r"},"text",{"n":{"m":1},"sku":"r"}]}`,
			[][]byte{keyOf("", ""), keyOf(`"r"`, ""), keyOf(`"r"`, "1"), keyOf(`"s"`, "2")}},
		{[]string{"deep.list[].x"}, `{"deep":{"list":[{"x":1}]}}`, [][]byte{keyOf("1")}},
	} {
		x := indexOf(t, c.components...)
		keys, overflow := x.Keys(nil, model.IndexFacts{Doc: jsondoc.MustParse([]byte(c.doc)), Created: created, Updated: updated})
		if overflow || !slices.EqualFunc(keys, c.want, bytes.Equal) {
			t.Errorf("%v of %.100s: %x, %t, want %x", c.components, c.doc, keys, overflow, c.want)
		}
	}
}

// TestIndexOverflow checks which documents have no list of keys: those with more different elements than an index takes, and those
// with an object in place of the array.
func TestIndexOverflow(t *testing.T) {
	elements := func(n int) string {
		out := []string{"0", "0.0", `"` + strings.Repeat("x", 1024) + `y"`, `"` + strings.Repeat("x", 1024) + `z"`}
		for i := range n - 2 { // two of those above are alike, and two more
			out = append(out, fmt.Sprint(i+1))
		}
		return `{"tags":[` + strings.Join(out, ",") + `]}`
	}
	before := [][]byte{{1}}
	for _, c := range []struct {
		doc      string
		keys     int
		overflow bool
	}{
		{elements(model.MaxIndexElements), model.MaxIndexElements, false},
		{elements(model.MaxIndexElements + 1), 0, true},
		{`{"tags":{"x":1}}`, 0, true},
	} {
		keys, overflow := indexOf(t, "tags[]").Keys(before, model.IndexFacts{Doc: jsondoc.MustParse([]byte(c.doc))})
		if len(keys) != 1+c.keys || overflow != c.overflow {
			t.Errorf("%.60s: %d keys, %t", c.doc, len(keys)-1, overflow)
		}
	}
}

// TestIndexFailures checks that what CEL cannot give is told, unless a member is missing.
func TestIndexFailures(t *testing.T) {
	var failed []string
	for _, doc := range []string{`{}`, `{"a":"x"}`, `{"a":1}`} {
		indexOf(t, "b", "lower(doc.a)").Keys(nil, model.IndexFacts{Doc: jsondoc.MustParse([]byte(doc)), Failed: func(c *model.Component, err error) {
			if err == nil {
				t.Error("a failure without an error")
			}
			failed = append(failed, c.Term()+doc)
		}})
	}
	if want := []string{`lower(doc.a){"a":1}`}; !slices.Equal(failed, want) {
		t.Errorf("told are %q, want %q", failed, want)
	}
}

// TestIndexReads checks which indexes a change of members concerns, and where one component alone looks at these members.
func TestIndexReads(t *testing.T) {
	for _, c := range []struct {
		components []string
		members    string
		reads      bool
		only       int // -1 for none
		separates  bool
		array      string
		tie        int64
	}{
		{[]string{"a.b", "c"}, "a", true, 0, true, "", 3},
		{[]string{"a.b", "c"}, "c", true, 1, true, "", 3},
		{[]string{"a", "-a.b"}, "a", true, -1, true, "", ^3},
		{[]string{"a", "c"}, "x", false, -1, true, "", 3},
		{[]string{"lower(doc.a)", "c"}, "a", true, 0, true, "", 3},
		{[]string{"doc.a + doc.c"}, "a", true, -1, false, "", 3},
		{[]string{"doc.a + doc.c"}, "a c", true, 0, true, "", 3},
		{[]string{`size(doc["a"]) + size(doc)`}, "x", true, -1, false, "", 3},
		{[]string{"_meta.createdAt", "a"}, "a", true, 1, true, "", 3},
		{[]string{"_meta.updatedAt"}, "a", false, -1, true, "", 3},
		{[]string{"x", "a[].b", "a[]"}, "a", true, -1, false, "a[]", 3},
		{[]string{"a[].b"}, "a", true, -1, false, "a[]", 3},
	} {
		x, members := indexOf(t, c.components...), map[string]bool{}
		for name := range strings.FieldsSeq(c.members) {
			members[name] = true
		}
		only, ok := x.Only(members)
		if !ok {
			only = -1
		}
		if x.ReadsAny(members) != c.reads || only != c.only || x.Separates(members) != c.separates || x.Array().String() != c.array || x.Tie(3) != c.tie {
			t.Errorf("%s and %s: reads %t, only %d, separates %t, array %q, tie %d", x, c.members, x.ReadsAny(members), only, x.Separates(members), x.Array(), x.Tie(3))
		}
	}
}
