package modelfile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/yamltext"
)

// maxParse bounds how long any text may take to be read, in a test on a busy machine.
const maxParse = 10 * time.Second

// FuzzParse: any text is a model, or is refused with a reason, in bounded time. A model is read again to the same, as JSON and as YAML.
func FuzzParse(f *testing.F) {
	for _, c := range hostile {
		if len(c.src) < 10_000 {
			f.Add([]byte(c.src))
		}
	}
	for _, src := range []string{bookshop, `{"collections":{"a":{}}}`, `{"collections":{"a":{"relations":{"r":{"path":"x[].y","to":"a"}},"derive":{"x[].z":{"copy":"r","value":"doc.l.map(x, x)"}},"unique":["u"],"schema":{"properties":{"x":{"pattern":"^a+$"}},"$defs":{"d":{"$ref":"#"}}}}},"fanout":{"limit":3}}`,
		`{"collections":{"a":{"trigger":"f"}},"functions":{"f":{"args":{"type":"object"},"call":["write"],"reads":["a"],"authority":"model","source":"export default (ctx) => {\n\t// \"x\"\n  return 1\n}\n"}}}`,
		"collections: {a: {}}\nfunctions:\n  f:\n    source: |+2\n        \tx\n\n\n",
		"collections: {a: {schema: {enum: [\"\\a\\0\", 1E400, .5, ~, 'it''s', 2026-01-02, |\n  text\n  ]}}}"} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 64<<10 {
			return
		}
		began := time.Now()
		m, err := Parse(src)
		if took := time.Since(began); took > maxParse {
			t.Errorf("it took %v", took)
		}
		var e *fanfold.Error
		if err != nil {
			if !errors.As(err, &e) || e.Code != fanfold.Invalid && e.Code != fanfold.TooLarge || strings.TrimSpace(e.Message) == "" || len(e.Problems) > maxProblems {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		again, err := ParseAccepted(m.Source)
		if err != nil || string(again.Source) != string(m.Source) {
			t.Errorf("%s is read again as %v", m.Source, err)
		}
		text, err := ToYAML(m.Source)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := yamltext.ToJSON(text); err == nil && string(back) != string(m.Source) {
			t.Errorf("%s comes back from YAML as %s", m.Source, back)
		}
	})
}
