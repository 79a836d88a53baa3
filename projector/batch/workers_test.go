package batch

import (
	"errors"
	"testing"

	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/suite"
)

var _ fold.Workers = (*Workers)(nil)

// TestWorkersRunEachPartOnce: each part is run once, and a worker runs one part at a time.
func TestWorkersRunEachPartOnce(t *testing.T) {
	suite.Concurrent(t)
	w := &Workers{count: 3}
	for _, parts := range []int{0, 1, takenAtOnce, takenAtOnce + 1, 1000} {
		ran, byWorker, sum := make([]int, parts), make([]int, w.count), 0 // which the race detector watches
		if err := w.Run(parts, func(worker, part int) error {
			ran[part]++
			byWorker[worker]++
			w.Lock()
			sum += part
			w.Unlock()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for part, n := range ran {
			if n != 1 {
				t.Errorf("part %d of %d ran %d times", part, parts, n)
			}
		}
		if want := parts * (parts - 1) / 2; sum != want {
			t.Errorf("the parts add up to %d, want %d", sum, want)
		}
	}
}

// TestWorkersEnd: an error ends the work and is returned, and a panic of any worker is one of the caller.
func TestWorkersEnd(t *testing.T) {
	w := &Workers{count: 3}
	failed := errors.New("no row")
	if err := w.Run(1000, func(_, part int) error {
		if part == 77 {
			return failed
		}
		return nil
	}); !errors.Is(err, failed) {
		t.Errorf("%v, want the error of part 77", err)
	}
	for part := range 50 {
		func() {
			defer func() {
				if p := recover(); p != "a wrong row" {
					t.Errorf("a panic in part %d came as %v", part, p)
				}
			}()
			_ = w.Run(50, func(_, p int) error {
				if p == part {
					panic("a wrong row")
				}
				return nil
			})
		}()
	}
}
