package modelfile

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// TestYAMLToJSON: what a model may hold comes out as the JSON it means.
func TestYAMLToJSON(t *testing.T) {
	for src, want := range map[string]string{
		"a: 1\nb: [x, 'y', \"z\"]":           `{"a":1,"b":["x","y","z"]}`,
		"a: true\nb: null\nc: ~\nd: yes":     `{"a":true,"b":null,"c":null,"d":"yes"}`,
		"a: 0x10\nb: 1_000\nc: .5\nd: 2.50":  `{"a":16,"b":1000,"c":0.5,"d":2.50}`,
		"a: \"\\a\\0\\u00e9\"":               `{"a":"\u0007\u0000é"}`,
		"a: &x {k: 1}\nb: *x\nc: [*x, *x]":   `{"a":{"k":1},"b":{"k":1},"c":[{"k":1},{"k":1}]}`,
		"# only\na:\n  - b: |\n      text\n": `{"a":[{"b":"text\n"}]}`,
		"1: x":                               `{"1":"x"}`,
		"when: 2026-01-02":                   `{"when":"2026-01-02"}`,
	} {
		got, err := toJSON([]byte(src))
		if err != nil || string(got) != want {
			t.Errorf("%q is %s, %v, want %s", src, got, err, want)
		}
	}
}

// TestYAMLInBraces: a text that begins with a brace is JSON or YAML, and is refused with a word of what it looks like.
func TestYAMLInBraces(t *testing.T) {
	for src, want := range map[string]string{
		"{collections: {a: {}, b: }}":               `{"collections":{"a":{},"b":null}}`,
		" {'collections': {a: {unique: [x, y]}}}\n": `{"collections":{"a":{"unique":["x","y"]}}}`,
		"{\"collections\": {a: {}}} # a comment":    `{"collections":{"a":{}}}`,
		"{\"a\": 2.50}":                             `{"a":2.50}`,
	} {
		if got, err := ToJSON([]byte(src)); err != nil || string(got) != want {
			t.Errorf("%q is %s, %v, want %s", src, got, err, want)
		}
	}
	for src, why := range map[string]string{
		`{"a": 1, "a": 2}`:                    "not JSON: ",
		`{"a": [}`:                            "not JSON: ",
		"{a: 1, a: 2}":                        "a",
		"{a: [}":                              "not YAML",
		"{a: &x [*x]}":                        "inside what it stands for",
		"{}\n---\n{}":                         "second document",
		"{" + strings.Repeat("{", 40_000):     "not YAML",
		`{"a":` + strings.Repeat("[", 40_000): "not JSON: ",
	} {
		if got, err := ToJSON([]byte(src)); fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), why) {
			t.Errorf("%.20q is %s, %v, want %q", src, got, err, why)
		}
	}
}

// hostile are texts that took gigabytes, or for ever, or that a model has no use for; each is refused with a word of
// why.
var hostile = map[string]struct{ src, why string }{
	"aliases that double": {"a0: &a0 [x]\n" + doubling(24), "aliases"},
	"an alias inside":     {"a: &a [*a]", "inside what it stands for"},
	"a member inside":     {"a: &a {b: *a}", "inside what it stands for"},
	"nested lists":        {strings.Repeat("[", 40_000), ""},
	"nested and closed":   {strings.Repeat("[", 70) + strings.Repeat("]", 70), "levels deep"},
	"nested dashes":       {strings.Repeat("- ", 100_000), ""},
	"quotes":              {strings.Repeat(`"`, 100_000), ""},
	"many values":         {"a: [" + strings.Repeat("a,", 400_000) + "]", "values"},
	"many documents":      {strings.Repeat("---\na: 1\n", 2), "second document"},
	"a tag":               {"a: !!binary aGk=", "tag"},
	"a merge key":         {"a: &a {b: 1}\nc: {<<: *a}", "merge key"},
	"no number":           {"a: .inf", "no number"},
	"a large number":      {"a: 0xffffffffffffffffff", ""},
	"nothing":             {"", "mapping"},
	"a list as a name":    {"[a]: b", "text"},
	"many bytes":          {strings.Repeat("# comment\n", 200_000), "bytes"},
}

// doubling returns lists each of which holds the one before twice.
func doubling(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	return b.String()
}

// TestHostileModels: each is an Invalid or TooLarge, within seconds and 64 MB of allocations.
func TestHostileModels(t *testing.T) {
	const maxTime, maxAllocated = 10 * time.Second, 64 << 20
	for name, c := range hostile {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := Parse([]byte(c.src))
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if code := fanfold.CodeOf(err); code != fanfold.Invalid && code != fanfold.TooLarge || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want a word of %q", name, err, c.why)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; took > maxTime || allocated > maxAllocated {
			t.Errorf("%s took %v and %d MB", name, took, allocated>>20)
		}
	}
}

// TestToYAML: a model comes back from its YAML as the same JSON.
func TestToYAML(t *testing.T) {
	for _, source := range []string{
		`{"collections":{"a":{"unique":["x"],"derive":{"b[].c":{"copy":"r","value":"doc.n + ' yes'","frozen":true}}},"n":{"v":"1","w":"true","x":1.50}}}`,
		`{"a":[1,-2.50,1e5,1E400,12345678901234567890123,true,false,null,{},[]],"":"","1":"1","null":"null","~":"~","<<":"a","=":"="}`,
		`{"a":["\u0000\u0007\u001b","a\nb\n","\n"," a ","a: b","# a","a\tb","a\rb","- a","!a","&a","*a","@","0x10","1_000","2026-01-02","yes","NaN",".inf"]}`,
		"{\"a\":[\"a\u0085b\",\"a\u2028\",\"\u2029\",\"a\u00a0b\",\"a\u007f\",\"\ufeffa\",\"\ufffea\",\"\U0001F600\"]}",
	} {
		text, err := ToYAML([]byte(source))
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		back, err := toJSON(text)
		if err != nil || string(back) != source {
			t.Errorf("%s comes back as %s, %v", text, back, err)
		}
	}
}
