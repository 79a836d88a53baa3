package expr

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(`doc.firstName + ' ' + doc.lastName`); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	doc := jsondoc.MustParse([]byte(sample))
	for name, source := range map[string]string{
		"member":  `doc.stock`,
		"join":    `doc.firstName + ' ' + doc.lastName`,
		"literal": `{'price': doc.price, 'symbol': doc.stock.symbol}`,
		"map":     `doc.list.map(x, x * 2)`,
	} {
		b.Run(name, func(b *testing.B) {
			p, err := Compile(source)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Eval(doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkNumbers compares exact numbers with CEL's own.
func BenchmarkNumbers(b *testing.B) {
	doc := jsondoc.MustParse([]byte(`{"price":29.90,"quantity":3,"discount":0.05,"n":17,"m":4,"lines":[{"price":29.90,"quantity":3},{"price":0.1,"quantity":2},{"price":5.25,"quantity":1}]}`))
	for name, source := range map[string]string{
		"integers": `doc.n * 3 + doc.m`,
		"product":  `doc.price * doc.quantity`,
		"line":     `doc.price * doc.quantity * (1.0 - doc.discount)`,
		"third":    `doc.price / 3.0`,
		"where":    `doc.price * doc.quantity > 80.0`,
		"compare":  `doc.n < 20 && doc.price > 2`,
		"list":     `doc.lines.map(l, l.price * l.quantity)`,
	} {
		for kind, compile := range map[string]func(string) (*Program, error){"exact": Compile, "binary": CompileBinary} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				p, err := compile(source)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Eval(doc); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkMatches(b *testing.B) {
	p, err := Compile(`doc.n < 3.5 && doc.price > 2`)
	if err != nil {
		b.Fatal(err)
	}
	doc := jsondoc.MustParse([]byte(sample))
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := p.Matches(doc); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	doc := jsondoc.MustParse([]byte(`{"id":"t1","title":"A ticket of medium length","customerId":"c17","status":"open","a":5,"tags":["red","green","blue"],"s":"` + strings.Repeat("some text ", 30) + `x","lines":[{"sku":"s1","qty":2},{"sku":"s2","qty":4}],"more":{"deep":[1,2,3]}}`))
	for name, source := range map[string]string{
		"compare": `doc.a > 1 && doc.s.contains("x")`,
		"equal":   `doc.customerId == params.c && doc.status in ["open", "new"]`,
		"exists":  `doc.lines.exists(l, l.sku == "s2" && l.qty > 3) && "blue" in doc.tags`,
		"term":    `lower(doc.status) == "open"`,
		"cel":     `doc.lines.all(l, l.qty > 1)`,
	} {
		b.Run(name, func(b *testing.B) {
			bound := bind(b, source, `{"c":"c17"}`)
			b.ReportAllocs()
			for b.Loop() {
				bound.run.cost = 0 // a request ends earlier
				if v, err := bound.Judge(Facts{Doc: doc}); v != True || err != nil {
					b.Fatal(v, err)
				}
			}
		})
	}
}

func BenchmarkBind(b *testing.B) {
	params := jsondoc.MustParse([]byte(`{"c":"c17"}`))
	for b.Loop() {
		c, err := CompileCondition(`doc.customerId == params.c && doc.status == "open"`)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Bind(params); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompileCondition(b *testing.B) {
	for b.Loop() {
		conditions.mu.Lock()
		clear(conditions.programs)
		conditions.mu.Unlock()
		if _, err := CompileCondition(`doc.customerId == params.c && doc.status == "open"`); err != nil {
			b.Fatal(err)
		}
	}
}
