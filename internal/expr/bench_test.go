package expr

import (
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
