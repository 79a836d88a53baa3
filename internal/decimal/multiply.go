package decimal

import "github.com/cockroachdb/apd/v3"

// Multiply returns a * n, exactly.
func Multiply(a Decimal, n int64) Decimal {
	if n == 1 {
		return a
	}
	var out Decimal
	if _, err := exact.Mul(&out.d, &a.d, apd.New(n, 0)); err != nil {
		panic(err) // cannot happen within the bounds of ParseExact
	}
	return out
}

// FromInt returns a whole number.
func FromInt(n int64) Decimal {
	var out Decimal
	out.d.SetInt64(n)
	return out
}
