package jsondoc_test

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestOutline: the top level is as a whole tree has it, and what is in its members costs no memory.
func TestOutline(t *testing.T) {
	for _, text := range []string{`{}`, ` { } `, `[]`, `7`, `"x"`, `null`, `{"a":1}`, `{ "a" : { "b" : [ "}" , 1 ] } , "c\"" : [ [ ] ] , "d" : "\\" , "e" : tru` + `e }`, `[1,{"a":2},"]",[3]]`} {
		got, err := jsondoc.Outline([]byte(text), 4)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want := jsondoc.MustParse([]byte(text))
		g, w := got.First(jsondoc.Root), want.First(jsondoc.Root)
		for ; w != jsondoc.None; g, w = got.Next(g), want.Next(w) {
			if got.Kind(g) != want.Kind(w) || string(got.Raw(g)) != string(want.Raw(w)) || string(got.RawKey(g)) != string(want.RawKey(w)) || got.First(g) != jsondoc.None {
				t.Errorf("%s has %s, want %s", text, got.Raw(g), want.Raw(w))
			}
			if name := want.Key(w); want.Kind(jsondoc.Root) == jsondoc.Object && (!got.KeyIs(g, name) || !want.KeyIs(w, name) || got.KeyIs(g, name+"x")) {
				t.Errorf("%s: the member %q is not found", text, name)
			}
		}
		if g != jsondoc.None || got.Kind(jsondoc.Root) != want.Kind(jsondoc.Root) || string(got.Raw(jsondoc.Root)) != string(want.Raw(jsondoc.Root)) {
			t.Errorf("%s: more, or another root: %s", text, got.Raw(jsondoc.Root))
		}
	}
	for _, text := range []string{``, ` `, `{`, `[`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `[1,]`, `{a:1}`, `{"a":{`, `{"a":"`, `{} x`, `{"a":1]`, `[1}`, `[1 2]`, `x`, `[x]`, `[1,2,3,4,5]`} {
		if _, err := jsondoc.Outline([]byte(text), 4); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	text := []byte(`{"a":[` + strings.Repeat(`0,`, 1_000_000) + `0]}`)
	if took := testing.AllocsPerRun(10, func() {
		if _, err := jsondoc.Outline(text, 4); err != nil {
			t.Error(err)
		}
	}); took > 2 {
		t.Errorf("it takes %v allocations", took)
	}
}
