package fanfold_test

import (
	"fmt"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestPartition: a key's partition is what it was ever since, and keys spread over all partitions.
func TestPartition(t *testing.T) {
	for _, want := range []struct {
		collection, id string
		n, partition   int
	}{{"books", "b1", 1, 0}, {"books", "b1", 16, 6}, {"books", "b2", 16, 3}, {"book", "sb1", 16, 8}} {
		if got := (fanfold.Key{Collection: want.collection, ID: want.id}).Partition(want.n); got != want.partition {
			t.Errorf("%s/%s is in partition %d of %d, want %d", want.collection, want.id, got, want.n, want.partition)
		}
	}
	const n, keys = 16, 16_000
	var count [n]int
	for i := range keys {
		count[fanfold.Key{Collection: "books", ID: fmt.Sprint(i)}.Partition(n)]++
	}
	for p, c := range count {
		if c < keys/n*8/10 || c > keys/n*12/10 {
			t.Errorf("partition %d has %d of %d keys", p, c, keys)
		}
	}
}
