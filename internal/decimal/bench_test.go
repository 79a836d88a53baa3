package decimal

import "testing"

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("-12345.6789e3"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	x, y := mustParse(b, "12345.678"), mustParse(b, "0.00001")
	b.ReportAllocs()
	for b.Loop() {
		Add(x, y)
	}
}

func BenchmarkMean(b *testing.B) {
	sum := mustParse(b, "12345.678")
	b.ReportAllocs()
	for b.Loop() {
		Mean(sum, 7)
	}
}

func BenchmarkString(b *testing.B) {
	d := mustParse(b, "12345.678")
	b.ReportAllocs()
	for b.Loop() {
		_ = d.String()
	}
}
