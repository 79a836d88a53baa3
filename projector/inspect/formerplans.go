package inspect

import (
	"slices"
	"sync"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Bounds of the plans that stay compiled: how many, and the text of their models, in bytes. A plan takes several times as much.
const (
	maxFormerPlans = 8
	maxFormerBytes = 1 << 20
)

// formerPlans has the plans of models that applied once, and that were asked for lately. The zero value is empty.
type formerPlans struct {
	mu   sync.Mutex
	list []*formerPlan // the one asked for last is the last
}

// formerPlan is the plan of the model that an event applied. It is compiled once, by the first that asks for it.
type formerPlan struct {
	seq     uint64
	size    int // of the model's text
	compile func() (*fold.Plan, error)
}

// at returns the plan of the model that applied at a position of a snapshot.
func (ps *formerPlans) at(s *sqlite.Snapshot, at fanfold.Position, now *fold.Plan) (*fold.Plan, error) {
	seq, size, err := sqlite.ModelThen(s, at)
	if err != nil || seq == now.Seq {
		return now, err
	}
	return ps.of(seq, size, func() (*fold.Plan, error) { return fold.PlanAt(s, at) })
}

// of returns the plan of an event's model, which has size bytes. It calls compile where the plan is not there.
func (ps *formerPlans) of(seq uint64, size int, compile func() (*fold.Plan, error)) (*fold.Plan, error) {
	plan, err := ps.entry(seq, size, compile).compile()
	if err != nil { // it was the reader's, perhaps, whose time was up
		ps.mu.Lock()
		ps.list = slices.DeleteFunc(ps.list, func(p *formerPlan) bool { return p.seq == seq })
		ps.mu.Unlock()
		return compile()
	}
	return plan, nil
}

// entry returns the entry of an event's model. One that is new takes the places of those that were not asked for for longest. A model without room
// has an entry of its own each time.
func (ps *formerPlans) entry(seq uint64, size int, compile func() (*fold.Plan, error)) *formerPlan {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	i := slices.IndexFunc(ps.list, func(p *formerPlan) bool { return p.seq == seq })
	p := &formerPlan{seq: seq, size: size, compile: sync.OnceValues(compile)}
	if i >= 0 {
		p = ps.list[i]
		ps.list = slices.Delete(ps.list, i, i+1)
	} else if size > maxFormerBytes {
		return p
	}
	ps.list = append(ps.list, p)
	total := 0
	for _, p := range ps.list {
		total += p.size
	}
	for len(ps.list) > maxFormerPlans || total > maxFormerBytes {
		total -= ps.list[0].size
		ps.list = slices.Delete(ps.list, 0, 1)
	}
	return p
}
