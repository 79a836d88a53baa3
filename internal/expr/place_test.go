package expr_test

import (
	"testing"

	"github.com/fanfold/fanfold/internal/expr"
)

// TestPlace: an expression that names a place of doc tells it, and one that does more with it does not.
func TestPlace(t *testing.T) {
	for source, want := range map[string]string{
		`doc.name`:               "/name",
		`doc["a/b~"].c`:          "/a~1b~0/c",
		`doc.authors[0].name`:    "/authors/0/name",
		` doc . info . by `:      "/info/by",
		`(doc.name)`:             "/name",
		`doc`:                    "",
		`has(doc.name)`:          "",
		`doc.first + doc.last`:   "",
		`doc[doc.which]`:         "",
		`doc.names[1.0]`:         "",
		`{"a": doc.name}.a`:      "",
		`doc.names.map(n, n)[0]`: "",
		`upper(doc.name)`:        "",
	} {
		for kind, compile := range map[string]func(string) (*expr.Program, error){"exact": expr.Compile, "binary": expr.CompileBinary} {
			if p, err := compile(source); err != nil || p.Place() != want {
				t.Errorf("%s %s is %q, want %q: %v", kind, source, p.Place(), want, err)
			}
		}
	}
}
