package sortkey

import "testing"

func BenchmarkNumber(b *testing.B) {
	d := numberOf(b, "-12345.678")
	var key []byte
	b.ReportAllocs()
	for b.Loop() {
		key = AppendNumber(key[:0], d)
		if _, err := Number(key); err != nil {
			b.Fatal(err)
		}
	}
}
