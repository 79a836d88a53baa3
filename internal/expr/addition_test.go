package expr

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestListAndNoList: a list and a value that is no list add up to an error. In rules of the first version of the fold it says that the cost is spent. In terms and
// conditions it costs little, and || passes over it.
func TestListAndNoList(t *testing.T) {
	doc := jsondoc.MustParse([]byte(`{"x":[1]}`))
	p, err := CompileBinary("doc.x + 1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Eval(doc); err == nil || !strings.Contains(err.Error(), "costs more than 1000000") {
		t.Errorf("a rule gives %v", err)
	}
	term, err := CompileTerm("doc.x + 1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := term.Value(doc); err == nil || strings.Contains(err.Error(), "costs more") {
		t.Errorf("a term gives %v", err)
	}
	c, err := CompileCondition("doc.x + 1 == 2 || size(doc.x) == 1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	if verdict, err := b.Judge(Facts{Doc: doc}); verdict != True || err != nil {
		t.Errorf("a condition gives %v, %v", verdict, err)
	}
	if b.Cost() > 100 {
		t.Errorf("it costs %d", b.Cost())
	}
}
