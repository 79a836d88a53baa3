package modelfile

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

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
	"many bytes":          {strings.Repeat("# comment\n", 300_000), "bytes"},
}

// doubling returns lists that each hold the one before twice.
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
