package faults_test

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/suite"
)

// matrixSeed has a run of the matrix choose as an earlier one did.
var matrixSeed = flag.Uint64("seed", 0, "what the matrix of faults chooses by: which writes fail, and when a process dies; 0 for any")

// run is one run of a cell of the matrix.
type run struct {
	*testing.T
	budget suite.Budget
	seed   uint64
}

// begin begins a cell, and prints how to run it again.
func begin(t *testing.T) *run {
	seed := *matrixSeed
	for seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: go test ./tests/faults -v -run '^%s$' -seed %d", t.Name(), seed)
	return &run{t, suite.Begin(t, suite.ShareCell), seed}
}

// rand returns the random numbers of a part of the cell, the same ones for the same seed.
func (r *run) rand(part uint64) *rand.Rand {
	h := fnv.New64()
	_, _ = h.Write([]byte(r.Name()))
	return rand.New(rand.NewPCG(r.seed^h.Sum64(), part))
}

// failing fails the k-th write of what it is given to, and all later ones.
type failing struct {
	k, n  atomic.Int64
	after atomic.Bool // nothing is counted before arm
	rand  *rand.Rand  // the same for the same k
}

var errFailed = errors.New("injected fault")

// write counts a write, and returns the fault from the k-th on.
func (f *failing) write() error {
	if !f.after.Load() {
		return nil
	}
	if f.n.Add(1) >= f.k.Load() {
		return errFailed
	}
	return nil
}

// arm begins to count writes.
func (f *failing) arm() { f.after.Store(true) }

// struck tells whether a write failed.
func (f *failing) struck() bool { return f.n.Load() >= f.k.Load() }

// crash is work that a failing write cuts.
type crash struct {
	name string
	// begin makes what all crashes share, and returns what does the work from its begin, goes on after the fault, and checks what is there then.
	begin func(t *testing.T) func(t *testing.T, f *failing)
	least int64 // how many writes the work has at least
	most  int   // how many crashes a run has; 0 for every fifth write
}

// crashesAtATime is how many crashes of a work run at a time: each mostly waits.
const crashesAtATime = 3

// crashAtWrites lets the work end once, and lets every fifth of its writes be the last one that works, from an offset that the run
// chooses; under -full every write. It takes them in any order, for the budget may end before them.
func crashAtWrites(r *run, c crash) {
	work, whole := c.begin(r.T), r.failing(math.MaxInt64)
	if !r.Run("whole", func(t *testing.T) { work(t, whole) }) {
		return
	}
	writes := whole.n.Load()
	if writes < max(c.least, 1) {
		r.Fatalf("the work has %d writes", writes)
	}
	rng := r.rand(0)
	every := suite.Amount(5, 1)
	var ks []int64
	for k := 1 + rng.Int64N(int64(every)); k <= writes; k += int64(every) {
		ks = append(ks, k)
	}
	rng.Shuffle(len(ks), func(i, j int) { ks[i], ks[j] = ks[j], ks[i] })
	most := len(ks)
	if c.most > 0 {
		most = suite.Amount(min(c.most, most), most)
	}
	var next, crashes atomic.Int64
	var lanes sync.WaitGroup
	for range crashesAtATime {
		lanes.Go(func() {
			for i := int(next.Add(1)) - 1; r.budget.GoesOn(i, most) && !r.Failed(); i = int(next.Add(1)) - 1 {
				f := r.failing(ks[i%len(ks)])
				r.Run(fmt.Sprint(f.k.Load()), func(t *testing.T) { work(t, f) })
				if f.struck() {
					crashes.Add(1)
				}
			}
		})
	}
	lanes.Wait()
	r.Logf("%d crashes at %d of %d writes", crashes.Load(), most, writes)
	suite.Done(crashes.Load(), "crashes of "+c.name+" at any of its writes")
}

// failing returns a fault at the k-th write.
func (r *run) failing(k int64) *failing {
	f := &failing{rand: r.rand(uint64(k))}
	f.k.Store(k)
	return f
}

// requireFilled fails the test unless each cell of a row has work or says why it has none.
func requireFilled(t *testing.T, row feature) {
	t.Helper()
	for _, column := range faults {
		filled, why := column.strikes(row), row.empty[column.name]
		if filled == (why != "") {
			t.Errorf("%s, %s: the cell has work: %v, and says of its emptiness %q", column.name, row.name, filled, why)
		}
	}
	for name := range row.empty {
		if !slices.ContainsFunc(faults, func(f fault) bool { return f.name == name }) {
			t.Errorf("%s is empty for %s, which is no fault", row.name, name)
		}
	}
}

// stop is work that ends at any of its steps, and at which the node starts anew.
type stop struct {
	name  string
	steps []string
	at    func(t *testing.T, step string)
}

// stopAtSteps stops the work at each of its steps.
func stopAtSteps(r *run, s stop) {
	for _, step := range s.steps {
		r.Run(step, func(t *testing.T) {
			suite.Parallel(t)
			s.at(t, step)
		})
	}
}

// once is a fault that strikes work in one way.
type once struct {
	name   string
	strike func(t *testing.T)
}
