package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// TestArithmeticIsExact: numbers are decimals, and results have the scale of their operands. An expression has no value where the result is no
// number that is taken.
func TestArithmeticIsExact(t *testing.T) {
	doc := jsondoc.MustParse([]byte(`{"price":29.90,"n":3,"zero":0,"half":2.5,"neg":-7,"big":9007199254740993,"huge":1e1000,"max":9223372036854775807,"text":"1.50",` +
		`"lines":[{"price":29.90,"quantity":3},{"price":0.1,"quantity":2}],"mixed":[1,"x"],"empty":[],"e":1e3,"long":123456789012345678901234567890.125}`))
	for source, want := range map[string]string{
		`doc.price * 3`: `89.70`, `doc.price * doc.n`: `89.70`, `29.90 * 3`: `89.70`, `0.1 + 0.2`: `0.3`, `0.1 + 0.2 == 0.3`: `true`, `1 + 0.5`: `1.5`, `0.5 - 1`: `-0.5`,
		`doc.n / 2`: `1.5`, `1.0 / 3`: `0.` + strings.Repeat("3", 34), `doc.price / 3`: `9.966666666666666666666666666666667`, `7 / 7`: `1`, `doc.neg % 3`: `-1`, `-doc.price`: `-29.90`,
		`doc.big + 1`: `9007199254740994`, `doc.max + 1`: `9223372036854775808`, `doc.max * doc.max`: `85070591730234615847396907784232501249`, `doc.max + 1 - 1`: `9223372036854775807`,
		`round(doc.price / 3, 2)`: `9.97`, `round(29.9, 2)`: `29.90`, `round(doc.half)`: `2`, `round(3.5)`: `4`, `round(1250, -2)`: `1200`, `floor(doc.neg / 2)`: `-4`, `ceil(doc.neg / 2)`: `-3`,
		`abs(doc.neg)`: `7`, `abs(doc.price)`: `29.90`, `min(doc.price, doc.n)`: `3`, `max(doc.price, doc.n, 30)`: `30`, `min([2, 1.0, 1])`: `1.0`, `max(5)`: `5`,
		`doc.lines.map(l, l.price * l.quantity).sum()`: `89.90`, `doc.empty.sum()`: `0`, `[doc.price, 0.1].sum()`: `30.00`, `doc.lines.map(l, l.price)`: `[29.90,0.1]`,
		`string(doc.price * 3)`: `"89.70"`, `string(doc.price)`: `"29.90"`, `double(doc.text) + 1`: `2.50`, `double(doc.n)`: `3`, `int(doc.price)`: `29`, `int(-1.5)`: `-1`, `int(doc.max * 1.0) == doc.max`: `true`,
		`doc.lines[doc.n - 2].quantity`: `2`, `doc.e * 2`: `2000`, `doc.long * 2`: `246913578024691357802469135780.250`, `doc.long * 1.0001`: `123469134691246913469124691346.9140`,
		`timestamp("2024-01-01T00:00:00Z") + duration("1s") > timestamp("2024-01-01T00:00:00Z")`: `true`, `{"a": doc.price + 1}.a`: `30.90`, `doc.price + 1 in [30.9]`: `true`, `doc.n > 2 ? doc.price * 2 : 0`: `59.80`, `"a" + "b"`: `"ab"`, `doc.mixed + doc.mixed`: `[1,"x",1,"x"]`,
	} {
		if got, err := evaluated(source, doc); got != want || err != nil {
			t.Errorf("%s is %s (%v), want %s", source, got, err, want)
		}
	}
	for source, want := range map[string]string{
		`doc.n / doc.zero`: "division by zero", `doc.n % 0`: "division by zero", `doc.huge * 10`: "no number", `doc.n + doc.text`: "no such overload", `doc.text * 2`: "no such overload",
		`-doc.text`: "no such overload", `doc.mixed.sum()`: "no such overload", `min(doc.empty)`: ErrNoValue.Error(), `min(1, "a")`: "no such overload", `round(1.5, 0.5)`: "whole number", `doc.text.sum()`: "no such overload",
		`abs("a")`: "no such overload", `double("x")`: "", `doc.price * doc.none`: ErrNoValue.Error(),
	} {
		if got, err := evaluated(source, doc); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %s (%v), want %s", source, got, err, want)
		}
	}
	for source, want := range map[string]string{`doc.price * 3`: `89.69999999999999`, `doc.n / 2`: `1`, `0.1 + 0.2`: `0.30000000000000004`, `string(doc.price)`: `"29.9"`} {
		p, err := CompileBinary(source)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Eval(doc); string(got) != want || err != nil {
			t.Errorf("with binary numbers %s is %s (%v), want %s", source, got, err, want)
		}
	}
}

func evaluated(source string, doc *jsondoc.Tree) (string, error) {
	p, err := Compile(source)
	if err != nil {
		return "", err
	}
	text, err := p.Eval(doc)
	return string(text), err
}

// TestTermsOfDecimals: a term with arithmetic is exact, and a literal's scale does not make it another term.
func TestTermsOfDecimals(t *testing.T) {
	doc := jsondoc.MustParse([]byte(`{"a":0.1}`))
	texts := map[string]bool{}
	for _, source := range []string{`doc.a + 0.2`, `doc.a + 0.20`, `doc.a+2e-1`} {
		term, err := CompileTerm(source)
		if err != nil {
			t.Fatal(err)
		}
		texts[term.String()] = true
		if got, err := term.Value(doc); string(got) != "0.3" || err != nil {
			t.Errorf("%s is %s, %v", source, got, err)
		}
		if term.AsUnique() {
			t.Errorf("%s gives what a unique value gives", source)
		}
	}
	if len(texts) != 1 {
		t.Errorf("the texts are %v", texts)
	}
}

// TestArithmeticIsBounded: an expression that makes longer and longer numbers ends, without a value, after some thousand digits.
func TestArithmeticIsBounded(t *testing.T) {
	doc := jsondoc.MustParse(fmt.Appendf(nil, `{"n":%s,"list":[%s1]}`, strings.Repeat("7", 30), strings.Repeat("1,", 9999)))
	var product strings.Builder
	product.WriteString("doc.n")
	for range 40 {
		product.WriteString(" * doc.n")
	}
	if _, err := evaluated(product.String(), doc); err == nil || !strings.Contains(err.Error(), decimal.ErrOverflow.Error()) {
		t.Errorf("a product of 41 numbers: %v", err)
	}
	if _, err := evaluated(`doc.list.map(x, doc.list.map(y, x * y / 7).sum()).sum()`, doc); err == nil || errors.Is(err, ErrNoValue) || !strings.Contains(err.Error(), "costs more") {
		t.Errorf("100,000,000 products: %v", err)
	}
}
