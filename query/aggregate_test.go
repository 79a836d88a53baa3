package query

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
)

// TestSumsAreExact: a sum of whole numbers that does not fit into 64 bits is exact, with fractions among them.
func TestSumsAreExact(t *testing.T) {
	a, err := (&Query{}).parseAggregate(0, "sum(n)")
	if err != nil {
		t.Fatal(err)
	}
	for _, values := range [][]string{{"999999999999999"}, {"-999999999999999"}, {"999999999999999", "0.5"}, {"9223372036854775807", "-1"}, {"1e300", "999999999999999"}} {
		var sum total
		want := new(big.Rat)
		for i := range 20_000 {
			text := values[i%len(values)]
			n := int64(1 + i%3*maxEntries/2)
			tree := jsondoc.MustParse([]byte(text))
			a.add(&sum, sortkey.Append(nil, tree, jsondoc.Root), n)
			v, _ := new(big.Rat).SetString(text)
			want.Add(want, v.Mul(v, big.NewRat(n, 1)))
		}
		got, ok := new(big.Rat).SetString(string(a.value(&sum)))
		if !ok || got.Cmp(want) != 0 {
			t.Errorf("the sum of %v is %s, want %s", values, a.value(&sum), fmt.Sprint(want))
		}
	}
}
