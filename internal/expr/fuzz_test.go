package expr

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// FuzzExpression: any expression compiles or is refused, and over any document gives a JSON value, or says why not, in
// bounded time, and the same each time.
func FuzzExpression(f *testing.F) {
	for _, source := range growing {
		f.Add(source, `{"s":"aaa","n":[1,2.5,1],"t":["x","y"],"m":{"a":1},"o":[{"k":"v"}],"pattern":"(x+x+)+y","x":"xx"}`)
	}
	for _, source := range []string{`doc.a + doc["b"]`, `{'a': doc.b, 'c': [doc.d]}`, `timestamp(doc.t) + duration('1h')`, `"%s".format([doc])`, `has(doc.a) ? doc.a : -1`, `doc.n[doc.i] % 2`, `string(bytes(doc.s))`} {
		f.Add(source, sample)
	}
	f.Fuzz(func(t *testing.T, source, doc string) {
		if jsondoc.Check([]byte(doc), 64) != nil || len(doc) > 64<<10 {
			return
		}
		began := time.Now()
		parts, err := Check(source)
		if took := time.Since(began); took > 5*time.Second || parts > MaxParts {
			t.Errorf("%d parts took %v", parts, took)
		}
		if err != nil {
			return
		}
		p, err := Compile(source)
		if err != nil {
			t.Fatalf("checked, and then: %v", err)
		}
		began = time.Now()
		text, err := p.Eval(jsondoc.MustParse([]byte(doc)))
		if took := time.Since(began); took > 5*time.Second || len(text) > MaxResult {
			t.Errorf("%d bytes took %v", len(text), took)
		}
		again, err2 := p.Eval(jsondoc.MustParse([]byte(doc)))
		if string(again) != string(text) || (err == nil) != (err2 == nil) {
			t.Errorf("%s, %v, and then %s, %v", text, err, again, err2)
		}
		if err == nil && jsondoc.Check(text, 200) != nil {
			t.Errorf("%q is no JSON", text)
		}
	})
}
