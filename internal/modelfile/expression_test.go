package modelfile

import (
	"strings"
	"testing"
	"time"
)

// TestExpressionBounds: expressions that would take long to check are refused before, with the rule's path.
func TestExpressionBounds(t *testing.T) {
	model := func(expression string) []byte {
		return []byte(`{"collections":{"as":{},"bs":{"relations":{"a":{"path":"a","to":"as"}},"derive":{"n":{"copy":"a","value":"` + expression + `"}}}}}`)
	}
	nested := func(n int) string { return strings.Repeat("[", n) + "doc.a" + strings.Repeat("]", n) }
	for expression, want := range map[string]string{
		nested(32):                           "",
		nested(33):                           "32 deep",
		nested(240):                          "32 deep",
		"'" + strings.Repeat("[", 100) + "'": "",
		"doc.a" + strings.Repeat(" + doc.a", 2000): "8192",
		strings.Repeat("-", 4000) + "1":            "",
	} {
		began := time.Now()
		_, err := Parse(model(expression))
		if took := time.Since(began); took > time.Second {
			t.Errorf("%.20s took %v", expression, took)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `derive["n"]`)) {
			t.Errorf("%.20s: %v, want %q", expression, err, want)
		}
	}
}
