package sortkey

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestInt: whole numbers of few digits are read from their keys, and nothing else is.
func TestInt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2000, 2000), rapid.Int64Range(-1e15, 1e15)).Draw(t, "n")
		got, ok := Int(AppendInt(nil, n))
		if want := n > -1e15 && n < 1e15; ok != want || ok && got != n {
			t.Fatalf("%d is read as %d, %v", n, got, ok)
		}
		text := rapid.SampledFrom([]string{"%d.5", "%de-20", "%de20", `"%d"`, "[%d]"}).Draw(t, "text")
		value := fmt.Sprintf(text, n)
		if got, ok := Int(key(value)); ok && n != 0 {
			t.Fatalf("%s is read as %d", value, got)
		}
	})
	for _, value := range []string{"", "null", "true", `""`} {
		if n, ok := Int(key(value)); ok {
			t.Errorf("%s is read as %d", value, n)
		}
	}
}
