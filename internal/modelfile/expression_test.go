package modelfile

import (
	"fmt"
	"strings"
	"testing"
)

// copies returns a model with copies by one relation, whose values are given.
func copies(values ...string) string {
	var b strings.Builder
	b.WriteString(`{"collections":{"as":{},"bs":{"relations":{"a":{"path":"a","to":"as"}},"derive":{`)
	for i, value := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"n%d":{"copy":"a","value":"%s"}`, i, value)
	}
	return b.String() + `}}}}`
}

// repeated returns n times s.
func repeated(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

// TestExpressionBounds: expressions that would take long to check are refused before, with the rule's path, each and all
// of a model together.
func TestExpressionBounds(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + "doc.a" + strings.Repeat("]", n) }
	for _, c := range []struct{ name, model, want, at string }{
		{"24 deep", copies(nested(24)), "", ""},
		{"25 deep", copies(nested(25)), "24 deep", `derive["n0"].value`},
		{"240 deep", copies(nested(240)), "24 deep", `derive["n0"].value`},
		{"long", copies("doc.a" + strings.Repeat(" + doc.a", 2000)), "4096", `derive["n0"].value`},
		{"many parts", copies("[1" + strings.Repeat(",1", 400) + "]"), "400", `derive["n0"].value`},
		{"a long pattern", copies("doc.a.matches('" + strings.Repeat("a", 3000) + "')"), "2048", `derive["n0"].value`},
		{"in all", copies(repeated("'"+strings.Repeat("a", 3999)+"'", 9)...), "more than 32768 bytes", `derive["n8"].value`},
		{"parts in all", copies(repeated("["+strings.Repeat("1,", 390)+"1]", 21)...), "more than 8000 parts", `derive["n20"].value`},
		{"as many as are taken", copies(repeated("doc.firstName + ' ' + doc.last", 1000)...), "", ""},
	} {
		_, err := Parse([]byte(c.model))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.at)) {
			t.Errorf("%s: %.300v, want %q", c.name, err, c.want)
		}
	}
	if _, err := ParseAccepted([]byte(copies("[1" + strings.Repeat(",1", 500) + "]"))); err != nil {
		t.Errorf("what was accepted before: %v", err)
	}
}
