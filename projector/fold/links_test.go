package fold

import (
	"fmt"
	"testing"
)

// TestIDSet: a set of ids has what it was made of, be these few or many.
func TestIDSet(t *testing.T) {
	for _, n := range []int{0, 1, 16, 17, 1000} {
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprint(i))
		}
		s := newIDSet(ids)
		for i := range n + 1 {
			if s.has(fmt.Sprint(i)) != (i < n) {
				t.Errorf("of %d ids, %d is there: %v", n, i, i >= n)
			}
		}
	}
}
