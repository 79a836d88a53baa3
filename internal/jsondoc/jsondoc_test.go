package jsondoc

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

func TestCheck(t *testing.T) {
	for src, want := range map[string]string{
		`{"a":1}`: "", `[1, {"a":[]}]`: "", `"x"`: "", `1e5`: "",
		``: "ends too early", `{`: "ends too early", `{"a":1,"a":2}`: "duplicate member", `{"a":1}x`: "", `nul`: "",
		`{"a":"` + "\xff" + `"}`: "UTF-8", `[[[[[]]]]]`: "nested deeper", `{"a":{"b":{"c":{"d":{}}}}}`: "nested deeper", "{\"a\":\"\n\"}": "",
	} {
		err := Check([]byte(src), 4)
		valid := json.Valid([]byte(src)) && want == ""
		if (err == nil) != valid || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
}

// TestKeyIs compares names however they are escaped.
func TestKeyIs(t *testing.T) {
	for text, names := range map[string][2]string{ // the name, and one that it is not
		`{"abc":1}`:                {"abc", "ab"},
		`{"\u0061\u0062c":1}`:      {"abc", "abcd"},
		`{"\u0061":1}`:             {"a", ""},
		`{"\\\"\/":1}`:             {`\"/`, `\\\"\/`},
		`{"\ud83d\ude00\u00e9":1}`: {"😀é", "😀e"},
		`{"":1}`:                   {"", "x"},
		`{"\n` + strings.Repeat("x", 1000) + `":1}`: {"\n" + strings.Repeat("x", 1000), "x"},
	} {
		tree := MustParse([]byte(text))
		n := tree.First(Root)
		if !tree.KeyIs(n, names[0]) || tree.KeyIs(n, names[1]) || tree.Key(n) != names[0] {
			t.Errorf("%s: is %q %v, is %q %v", text, names[0], tree.KeyIs(n, names[0]), names[1], tree.KeyIs(n, names[1]))
		}
	}
}

// TestLongNamesAreNotRead looks for a member beside one with a long name that has an escape: nothing of that is unquoted.
func TestLongNamesAreNotRead(t *testing.T) {
	tree := MustParse([]byte(`{"\n` + strings.Repeat("x", 1<<20) + `":0,"a":1}`))
	if took := testing.AllocsPerRun(10, func() { tree.Member(Root, "a") }); took > 0 {
		t.Errorf("a look for a member allocates %v times", took)
	}
}

func TestMerge(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":1, "b":2.50}`, `{"b":null,"c":3}`, `{"a":1,"c":3}`},
		{`{"b":2.50,"a":{"x":1,"y":2}}`, `{"a":{"y":null,"z":{"n":null,"k":1}}}`, `{"b":2.50,"a":{"x":1,"z":{"k":1}}}`},
		{`{"a":[1]}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		{`{"\u0061":1}`, `{"a":2}`, `{"\u0061":2}`},
		{`{"e":"\u00e9"}`, `{}`, `{"e":"\u00e9"}`},
		{`{}`, `{"z":1,"y":2,"x":3}`, `{"z":1,"y":2,"x":3}`},
	} {
		if got := string(Merge([]byte(c[0]), []byte(c[1]))); got != c[2] {
			t.Errorf("%s merged with %s is %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestApply(t *testing.T) {
	const doc = `{"a":[1,2.50,{"b":"\u00e9"}],"c":{"d":null},"e/f":{"~":1}}`
	for _, c := range [][2]string{
		{`[{"op":"add","path":"/a/1","value":9}]`, `{"a":[1,9,2.50,{"b":"\u00e9"}],"c":{"d":null},"e/f":{"~":1}}`},
		{`[{"op":"add","path":"/a/-","value":9}]`, `{"a":[1,2.50,{"b":"\u00e9"},9],"c":{"d":null},"e/f":{"~":1}}`},
		{`[{"op":"remove","path":"/a/0"},{"op":"remove","path":"/c"}]`, `{"a":[2.50,{"b":"\u00e9"}],"e/f":{"~":1}}`},
		{`[{"op":"replace","path":"/e~1f/~0","value":2}]`, `{"a":[1,2.50,{"b":"\u00e9"}],"c":{"d":null},"e/f":{"~":2}}`},
		{`[{"op":"move","from":"/a/2","path":"/a/0"}]`, `{"a":[{"b":"\u00e9"},1,2.50],"c":{"d":null},"e/f":{"~":1}}`},
		{`[{"op":"copy","from":"/a/2/b","path":"/x"}]`, `{"a":[1,2.50,{"b":"\u00e9"}],"c":{"d":null},"e/f":{"~":1},"x":"\u00e9"}`},
		{`[{"op":"test","path":"/a/1","value":2.5},{"op":"test","path":"/a/2","value":{"b":"é"}},{"op":"test","path":"/c/d","value":null}]`, doc},
		{`[{"op":"replace","path":"","value":{"n":1}}]`, `{"n":1}`},
		{`[{"op":"test","path":"/a/0","value":2}]`, ""},
		{`[{"op":"remove","path":"/nope"}]`, ""},
		{`[{"op":"remove","path":"/a/3"}]`, ""},
		{`[{"op":"add","path":"/a/4","value":1}]`, ""},
		{`[{"op":"add","path":"/a/01","value":1}]`, ""},
		{`[{"op":"move","from":"/c","path":"/c/d"}]`, ""},
		{`[{"op":"replace","path":"/nope","value":1}]`, ""},
		{`[{"op":"remove","path":""}]`, ""},
		{`[{"op":"add","path":"x","value":1}]`, ""},
		{`[{"op":"nope","path":"/a"}]`, ""},
		{`[{"op":"add","path":"/a"}]`, ""},
		{`[{"op":"test","path":"/~2","value":1}]`, ""},
		{`{}`, ""},
	} {
		ops, err := ParsePatch([]byte(c[0]))
		var got []byte
		if err == nil {
			got, err = Apply([]byte(doc), ops)
		}
		if (err != nil) != (c[1] == "") || string(got) != c[1] {
			t.Errorf("%s gives %s, %v; want %s", c[0], got, err, c[1])
		}
	}
}

func TestEqualNumbers(t *testing.T) {
	for _, c := range [][2]string{
		{"1", "1.0"}, {"100", "1e2"}, {"0", "-0.0"}, {"1.5e3", "1500"}, {"0.001", "1E-3"},
		{"12345678901234567890", "12345678901234567890.0"},
	} {
		if !Equal([]byte(c[0]), []byte(c[1])) {
			t.Errorf("%s and %s are not equal", c[0], c[1])
		}
	}
	for _, c := range [][2]string{{"1", "-1"}, {"12345678901234567890", "12345678901234567891"}, {"1", "10"}, {"1", `"1"`}} {
		if Equal([]byte(c[0]), []byte(c[1])) {
			t.Errorf("%s and %s are equal", c[0], c[1])
		}
	}
}

// FuzzTree holds the parser against encoding/json: whatever Check accepts is parsed to the
// same value, and compacting changes no token.
func FuzzTree(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":null}], "c":"\u00e9\\"}`, `[]`, ` "x" `, `{"":{"":[[]]}}`, `-1.5e+3`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if Check(src, 64) != nil {
			return
		}
		compact := Compact(nil, src)
		var want bytes.Buffer
		if err := json.Compact(&want, src); err != nil || !bytes.Equal(compact, want.Bytes()) {
			t.Fatalf("%q compacts to %q, want %q (%v)", src, compact, want.Bytes(), err)
		}
		a, b := value(t, rebuild(MustParse(src), Root)), value(t, src)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%q came back as %v", src, a)
		}
	})
}

// value reads JSON with numbers as they are written.
func value(t *testing.T, src []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// rebuild writes a tree from its nodes.
func rebuild(t *Tree, n Node) []byte {
	var out []byte
	switch t.Kind(n) {
	case Object:
		for c := t.First(n); c != None; c = t.Next(c) {
			out = append(append(append(append(out, ','), Quote(t.Key(c))...), ':'), rebuild(t, c)...)
		}
		return append(append([]byte{'{'}, bytes.TrimPrefix(out, []byte(","))...), '}')
	case Array:
		for c := t.First(n); c != None; c = t.Next(c) {
			out = append(append(out, ','), rebuild(t, c)...)
		}
		return append(append([]byte{'['}, bytes.TrimPrefix(out, []byte(","))...), ']')
	}
	return t.Raw(n)
}

// FuzzPatch holds our patches, which keep bytes and order, against a library's that does not.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"a":[1,2],"b":{"c":null}}`), []byte(`[{"op":"add","path":"/a/1","value":[]},{"op":"move","from":"/b","path":"/a/0"}]`))
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"b":null,"c":{"d":null}}}`))
	f.Add([]byte(`{"a":1}`), []byte(`[{"op":"test","path":"/a","value":1.0},{"op":"copy","from":"/a","path":"/b"}]`))
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		if Check(doc, 16) != nil || Check(patch, 16) != nil || MustParse(doc).Kind(Root) != Object {
			return
		}
		if MustParse(patch).Kind(Root) == Object {
			want, err := jsonpatch.MergePatch(doc, patch)
			got := Merge(doc, patch)
			// Patches with null are not compared: the library drops null members inside arrays, which RFC 7396 keeps.
			same := err != nil || Equal(got, want) || bytes.Contains(patch, []byte("null"))
			if err == nil && Check(got, 64) != nil || !same {
				t.Fatalf("%s merged with %s is %s, want %s", doc, patch, got, want)
			}
			return
		}
		ops, err := ParsePatch(patch)
		if err != nil {
			return
		}
		got, err := Apply(doc, ops)
		if err == nil && Check(got, 64) != nil {
			t.Fatalf("%s patched with %s is %s, which is not JSON", doc, patch, got)
		}
	})
}
