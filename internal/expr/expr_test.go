package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

const sample = `{"id":"a1","firstName":"Thomas","lastName":"Andersen","price":2.50,"n":3,"big":12345678901234567890,"e":"\u00e9x",
"m":{"z":1,"a":2,"k":[1,2.0,"x"]},"images":[{"thumbnail":"http://t.png"},{"profile":"p"}],"key":"z","list":[3,1,2],"nul":null,"idx":1,
"stock":{"symbol":"zaza","open":1,"low":0.50}}`

func TestEval(t *testing.T) {
	doc := []byte(strings.ReplaceAll(sample, "\n", ""))
	for expr, want := range map[string]string{
		`doc.firstName + ' ' + doc.lastName`: `"Thomas Andersen"`,
		`doc.price`:                          `2.50`,
		`doc.big`:                            `12345678901234567890`,
		`doc.e`:                              `"\u00e9x"`,
		`doc.m`:                              `{"z":1,"a":2,"k":[1,2.0,"x"]}`,
		`doc.m.map(k, k)`:                    `["z","a","k"]`,
		`doc.price * 2`:                      `5.00`,
		`2 * doc.price`:                      `5.00`,
		`doc.n + 0.5`:                        `3.5`,
		`doc.n / 2`:                          `1.5`,
		`doc.images.filter(i, has(i.thumbnail))[0].thumbnail`: `"http://t.png"`,
		`doc.m[doc.key]`:                                             `1`,
		`doc.list[doc.idx]`:                                          `1`,
		`{'b': doc.price, 'a': doc.stock.low}`:                       `{"b":2.50,"a":0.50}`,
		`{'b': 1, 'a': 2}.map(k, k)`:                                 `["b","a"]`,
		`[doc.price, doc.n]`:                                         `[2.50,3]`,
		`doc.list.map(x, x * 2)`:                                     `[6,2,4]`,
		`doc.list.filter(x, x > 1)`:                                  `[3,2]`,
		`doc.n == 3 ? doc.price : doc.n`:                             `2.50`,
		`[3,1,2] == doc.list && doc.list == [3,1,2]`:                 `true`,
		`[[3,1,2]] == [doc.list] && 3 in doc.list && doc.n in [3.0]`: `true`,
		`{'z':1,'a':2,'k':[1,2,'x']} == doc.m`:                       `true`,
		`doc.nul`:                                                    `null`,
		`doc.nul == null`:                                            `true`,
		`doc.list + [doc.price]`:                                     `[3,1,2,2.50]`,
		`doc.n < 3.5 && doc.price > 2`:                               `true`,
		`size(doc.list)`:                                             `3`,
		`string(doc.n) + doc.stock.symbol`:                           `"3zaza"`,
		`doc.firstName.startsWith('Th')`:                             `true`,
		`has(doc.nope) ? doc.nope : 'none'`:                          `"none"`,
		`doc.exists(k, k == 'firstName')`:                            `true`,
		`doc["stock"]["symbol"]`:                                     `"zaza"`,
		`doc.images.map(i, i)[1].profile`:                            `"p"`,
		`[1, 2].map(x, doc.price)`:                                   `[2.50,2.50]`,
		`double(doc.n) / 2.0`:                                        `1.5`,
		`doc.big > 5`:                                                `true`,
		`type(doc.n) == int`:                                         `true`,
		`doc.list.exists_one(x, x == doc.n)`:                         `true`,
	} {
		p, err := Compile(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		for range 5 {
			got, err := p.Eval(jsondoc.MustParse(doc))
			if err != nil || string(got) != want {
				t.Errorf("%s = %s, %v; want %s", expr, got, err, want)
				break
			}
		}
	}
}

func TestNoValue(t *testing.T) {
	doc := jsondoc.MustParse([]byte(sample))
	for expr, missing := range map[string]bool{
		`doc.nope`: true, `doc.nope.deeper`: true, `doc.list[9]`: true, `doc.images.filter(i, has(i.x))[0].x`: true,
		`doc.firstName.deeper`: true, `doc.m['nope']`: true, `doc.m[doc.firstName]`: true, `doc.list[doc.n]`: true,
		`doc.firstName + doc.nope`: true,
		`doc.firstName + 1`:        false, `doc.n / 0`: false, `int(doc.firstName)`: false, `{1: 2}`: false,
		`[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, [1,2,3,4,5,6,7,8,9,10].map(c, [1,2,3,4,5,6,7,8,9,10].map(d, [1,2,3,4,5,6,7,8,9,10].map(e, a*b*c*d*e)))))`: false,
	} {
		p, err := Compile(expr)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		got, err := p.Eval(doc)
		if err == nil {
			t.Errorf("%s = %s, want an error", expr, got)
		} else if errors.Is(err, ErrNoValue) != missing {
			t.Errorf("%s: %v, want a missing value: %v", expr, err, missing)
		}
	}
}

func TestMembersRead(t *testing.T) {
	for expr, want := range map[string]string{
		`doc.firstName + doc["lastName"]`:                     "firstName,lastName",
		`doc.images.filter(i, has(i.thumbnail))[0].thumbnail`: "images",
		`doc`:                              "*",
		`doc[doc.k]`:                       "*",
		`1 + 1`:                            "",
		`has(doc.x) ? doc.y : {'a':doc.z}`: "x,y,z",
		`doc.l.map(doc, doc.x)`:            "l",
	} {
		got, err := MembersRead(expr)
		text := strings.Join(got, ",")
		if got == nil {
			text = "*"
		}
		if err != nil || text != want {
			t.Errorf("%s reads %q, %v; want %q", expr, text, err, want)
		}
	}
	for _, expr := range []string{``, `doc.`, `nope.x`, `doc.a b`, `1 + 'x'`, `timestamp(doc.t).getHours('Europe/Oslo')`} {
		if _, err := MembersRead(expr); err == nil {
			t.Errorf("%q compiled", expr)
		}
	}
}
