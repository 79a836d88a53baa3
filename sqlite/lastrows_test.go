package sqlite

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLastRows: what is known of the last rows is what a list of all rows has, however rows come and go.
func TestLastRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		last, rows, known := newLastRows[string](cmp.Compare[int]), []int{}, 0
		for range 100 {
			value := random.IntN(30)
			switch at, found := slices.BinarySearch(rows, value); {
			case !found:
				rows = slices.Insert(rows, at, value)
				last.add("k", value)
			case random.IntN(2) == 0:
				rows = slices.Delete(rows, at, at+1)
				last.remove("k", value)
			}
			limit := 1 + random.IntN(6)
			want := slices.Clone(rows[max(0, len(rows)-limit):])
			slices.Reverse(want)
			got, ok := last.get("k", limit)
			if ok && !slices.Equal(got, want) {
				t.Fatalf("the last %d of %v are %v", limit, rows, got)
			}
			if ok {
				known++
			}
			if random.IntN(3) == 0 {
				last.set("k", limit, want)
			}
		}
		if known < 10 {
			t.Errorf("the last rows were known %d times", known)
		}
	}
}
