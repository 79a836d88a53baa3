package writer

import (
	"context"
	"testing"

	"github.com/fanfold/fanfold"
)

// BenchmarkGate measures what the gate costs a write while no delete is under way.
func BenchmarkGate(b *testing.B) {
	w := &Writer{gate: newHolderGate()}
	writes := []fanfold.Write{{Event: &fanfold.Event{}}}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			leave, err := holdersOf(w).enter(context.Background(), writes, nil)
			if err != nil {
				b.Fatal(err)
			}
			leave()
		}
	})
}
