package elements

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// program returns the program of a rule over the elements of an array.
func program(tb testing.TB, kind model.RuleKind, path, value, where string) *Program {
	tb.Helper()
	at, err := model.ParsePath(path)
	if err != nil {
		tb.Fatal(err)
	}
	r := &model.Rule{Kind: model.Computed, Total: kind, Of: at, Where: where}
	if kind == "" {
		r = &model.Rule{Kind: model.Computed, Path: at, Value: value}
	}
	p, err := Compile(r)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestTotals: numbers are added exactly, whatever their size, and what is no number takes no part.
func TestTotals(t *testing.T) {
	for _, c := range []struct {
		kind        model.RuleKind
		path, where string
		doc, want   string
	}{
		{model.Sum, "a[].n", "", `{"a":[{"n":0.1},{"n":0.2},{"n":"3"},{},7,{"n":null}]}`, "0.3"},
		{model.Sum, "a[]", "", `{"a":[9007199254740993,1,1e-30]}`, "9.007199254740994000000000000000000000000000001e15"},
		{model.Sum, "a[]", "", `{"a":[1e1000,1e-1000,-1e1000]}`, "1e-1000"},
		{model.Sum, "a[]", "", `{}`, "0"},
		{model.Sum, "a[]", "", `{"a":{"b":1}}`, "0"},
		{model.Min, "a[]", "", `{"a":[2,-1.50,3]}`, "-1.5"},
		{model.Max, "a[]", "", `{"a":[-2,-1.50,-3]}`, "-1.5"},
		{model.Max, "a[]", "", `{"a":["x"]}`, ""},
		{model.Avg, "a[][]", "", `{"a":[[1,2],[2]]}`, "1.6666666666666666667"},
		{model.Avg, "a[]", "", `{"a":[]}`, ""},
		{model.Count, "a[]", "element > doc.b", `{"a":[1,2,3,"x"],"b":1}`, "2"},
		{model.Count, "a[].n", "", `{"a":[{"n":null},{"m":1},3]}`, "1"},
		{model.Sum, "a[].b[].c", "element.d", `{"a":[{"b":[{"c":1,"d":true},{"c":2}]},{"b":[{"c":4,"d":true}]}]}`, "5"},
	} {
		total, ok, _ := program(t, c.kind, c.path, "", c.where).Total(jsondoc.MustParse([]byte(c.doc)))
		if got := string(total.Text(c.kind)); got != c.want || !ok {
			t.Errorf("%s %s of %s is %q, want %q", c.kind, c.path, c.doc, got, c.want)
		}
	}
	_, ok, err := program(t, model.Sum, "a[]", "", "").Total(jsondoc.MustParse([]byte(`{"a":[1e2000,1]}`)))
	if !ok || err == nil {
		t.Errorf("a number that is too large gives %v, %v", ok, err)
	}
}

// TestSumsOfManySizes: sums of numbers of any scale are as exact fractions have them.
func TestSumsOfManySizes(t *testing.T) {
	p := program(t, model.Sum, "a[]", "", "")
	var texts []string
	want := new(big.Rat)
	for i := range 400 {
		text := fmt.Sprintf("%s%d.%de%d", []string{"", "-"}[i%2], 1+i*i*7919, 1+i%9, (i*37)%120-60)
		n, _ := new(big.Rat).SetString(text)
		texts, want = append(texts, text), want.Add(want, n)
		total, _, _ := p.Total(jsondoc.MustParse([]byte(`{"a":[` + strings.Join(texts, ",") + `]}`)))
		if got, _ := new(big.Rat).SetString(string(total.Text(model.Sum))); got.Cmp(want) != 0 {
			t.Fatalf("the sum of %v is %s, want %s", texts, total.Text(model.Sum), want.RatString())
		}
	}
}

// TestValues: each element has its own value, and one that fails has none.
func TestValues(t *testing.T) {
	p := program(t, "", "a[].v", "element.n * doc.by", "")
	doc := jsondoc.MustParse([]byte(`{"by":3,"a":[{"n":29.90},{},{"n":"x"},5,{"n":1}]}`))
	values, err := p.Values(doc, expr.Meta{})
	if got := fmt.Sprintf("%s", values); got != "[89.70    3]" || err == nil {
		t.Errorf("the values are %q, %v", got, err)
	}
	for i, want := range []string{"", `there is no member "n" in /a/1`, "no such overload", `there is no member "n"`} {
		nodes, _ := p.Find(doc)
		if why := p.WhyNot("value", doc, expr.Meta{}, nodes[i]); !strings.HasPrefix(why, want) || want == "" && why != "" {
			t.Errorf("element %d: %q", i, why)
		}
	}
}

// TestBounds: a million elements are gone through, one more is not, and what elements cost together is bounded.
func TestBounds(t *testing.T) {
	list := func(n int, element string) *jsondoc.Tree {
		return jsondoc.MustParse([]byte(`{"l":[` + strings.Repeat("1,", 1000) + `1],"a":[` + strings.Repeat(element+",", n-1) + element + `]}`))
	}
	large := list(Most, "1")
	began := time.Now()
	total, ok, err := program(t, model.Sum, "a[]", "", "element > 0").Total(large)
	if !ok || err != nil || total.Count != Most || string(total.Text(model.Sum)) != "1000000" {
		t.Errorf("the sum of a million is %+v, %v, %v", total, ok, err)
	}
	t.Logf("a million elements with a condition took %v", time.Since(began))
	larger := list(Most+1, "1")
	if _, ok, err := program(t, model.Sum, "a[]", "", "").Total(larger); ok || err == nil {
		t.Errorf("the sum of more is %v, %v", ok, err)
	}
	objects := list(200_000, `{}`)
	if values, err := program(t, "", "a[].v", "1", "").Values(objects, expr.Meta{}); err != nil || len(values) != 200_000 {
		t.Errorf("there are %d values, %v", len(values), err)
	}
	dear := "doc.l.map(x, x + 1).sum()"
	if values, err := program(t, "", "a[].v", dear, "").Values(objects, expr.Meta{}); !errors.Is(err, errCost) || values != nil {
		t.Errorf("values that cost too much: %d, %v", len(values), err)
	}
	if _, ok, err := program(t, model.Count, "a[]", "", dear+" > 0").Total(objects); !errors.Is(err, errCost) || ok {
		t.Errorf("a total that costs too much: %v, %v", ok, err)
	}
}
