package query

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
)

// declared adds the plans by declared indexes.
func (p *planner) declared() error {
	var stored []model.StoredIndex
	if err := p.s.EachIndex(p.q.request.Collection, func(x model.StoredIndex) error {
		stored = append(stored, x)
		return nil
	}); err != nil {
		return err
	}
	for _, x := range stored {
		index, err := readIndex(x)
		if err != nil {
			return err
		}
		if p.q.tells(index) {
			continue
		}
		p.indexes = append(p.indexes, index)
		if !p.mayServe(index) {
			p.reject(x.Name, p.unfit(index))
			continue
		}
		served := false
		for _, array := range p.arrayChoices(index) {
			ok, err := p.try(x, index, array)
			if err != nil {
				return err
			}
			served = served || ok
		}
		if !served {
			p.reject(x.Name, p.unfit(index))
		}
	}
	return nil
}

// mayServe tells whether an index may serve. It does not serve a filter alone that says nothing about its first component.
func (p *planner) mayServe(x *model.Index) bool {
	if r := &p.q.request; p.q.sort != nil || r.Grouped || p.q.place != nil || p.within.term == x.Components[0].Term() {
		return true
	}
	for _, c := range p.f.conjuncts {
		if slices.ContainsFunc(c.Tests, func(t test) bool { return t.Term == x.Components[0].Term() }) {
			return true
		}
	}
	return false
}

// knownIndexes has indexes that were read, by their text. Few texts come by, for all requests ask for the same.
var knownIndexes struct {
	sync.Mutex
	byText map[model.StoredIndex]*model.Index
}

// maxKnown is how many indexes are kept.
const maxKnown = 1000

// readIndex returns the index that the read model keeps.
func readIndex(x model.StoredIndex) (*model.Index, error) {
	x.ID = 0
	known := &knownIndexes
	known.Lock()
	index := known.byText[x]
	known.Unlock()
	if index != nil {
		return index, nil
	}
	index, err := parseIndex(x)
	if err != nil {
		return nil, fmt.Errorf("index %s.%s: %w", x.Collection, x.Name, err)
	}
	known.Lock()
	defer known.Unlock()
	if len(known.byText) >= maxKnown || known.byText == nil {
		known.byText = map[model.StoredIndex]*model.Index{}
	}
	known.byText[x] = index
	return index, nil
}

// parseIndex reads an index.
func parseIndex(x model.StoredIndex) (*model.Index, error) {
	var texts []string
	if err := json.Unmarshal([]byte(x.Components), &texts); err != nil {
		return nil, err
	}
	index := &model.Index{Collection: x.Collection, Name: x.Name}
	for _, text := range texts {
		c, err := modelfile.ParseComponent(text)
		if err != nil {
			return nil, err
		}
		index.Components = append(index.Components, c)
	}
	return index, nil
}

// unfit says why an index does not serve.
func (p *planner) unfit(x *model.Index) string {
	if p.q.sort == nil {
		return "the filter says nothing about " + x.Components[0].Term()
	}
	return "the filter says nothing about " + x.Components[0].Term() + ", and its order is another"
}

// noArray stands for no conjunct about an array's elements.
const noArray = -1

// maxArrayChoices is how many conjuncts about an array's elements are looked at for one that an index decides.
const maxArrayChoices = 8

// arrayChoices returns the first conjuncts about an array's elements that an index can decide. Two of them may be true by two elements, so
// a walk uses one.
func (p *planner) arrayChoices(x *model.Index) []int {
	out := []int{noArray}
	if x.Array() == nil {
		return out
	}
	for i, c := range p.f.conjuncts {
		if len(out) <= maxArrayChoices && c.Array != "" && slices.ContainsFunc(c.Tests, func(t test) bool { return componentOf(x, t.Term) >= 0 }) {
			out = append(out, i)
		}
	}
	return out
}

// componentOf returns which component of an index a term is, -1 for none.
func componentOf(x *model.Index, term string) int {
	return slices.IndexFunc(x.Components, func(c model.Component) bool { return c.Term() == term })
}

// try adds the plan by an index, with one conjunct about an array's elements. It returns false where the index does not serve.
func (p *planner) try(stored model.StoredIndex, index *model.Index, array int) (served bool, err error) {
	x := &indexSource{id: stored.ID, index: index}
	out := p.newPlan(stored.Name, fmt.Sprintf("index:%s:%s:%d", stored.Name, stored.Components, array), x)
	out.index = x
	leading := p.fit(out, array)
	if index.Array() != nil {
		w := x.walkOf(overflowRange)
		w.Limit = lookLimit
		if x.overflow, err = p.s.CountEntries(w, false); err != nil {
			return false, err
		}
	}
	p.orders(out)
	begun := p.q.place != nil && p.q.place.source == out.id // it served when the first page was asked for
	if !leading && !out.ordered && !out.covers && !begun {
		return false, nil
	}
	p.add(out)
	return true, nil
}

// fit gives a plan the ranges of its index. leading tells whether the filter has some for the first component.
func (p *planner) fit(out *plan, array int) (leading bool) {
	x := out.index
	tests := p.tests(out, x.index, array)
	x.ranges = rangesOf(x.index.Components, tests)
	out.pins = pinsOf(x.index.Components, tests)
	out.covers = p.covers(out, array)
	return tests[0] != nil
}

// orders finds out in which order a plan walks its index.
func (p *planner) orders(out *plan) {
	x := out.index
	if o, ok := p.orderOf(x.index, out.pins, x.ranges.points); ok && x.overflow == 0 {
		out.ordered, x.backward, x.merged, x.skip = true, o.backward, o.skip > 0, o.skip
		x.ranges.skipComponents(o.skip)
	}
	x.once = !out.ordered && p.repeats(x.index, out.pins)
	out.grouped = p.groupedBy(out)
}

// tests returns, by component of an index, the ranges that the filter has for it, nil for none. It notes in a plan which conjuncts
// they are of.
func (p *planner) tests(out *plan, index *model.Index, array int) [][]sortkey.Range {
	tests := make([][]sortkey.Range, len(index.Components))
	if at := componentOf(index, p.within.term); at >= 0 {
		tests[at], out.byWithin = slices.Clone(p.within.ranges), true
		out.within = out.within || p.within.exact
	}
	for i, c := range p.f.conjuncts {
		if len(c.Tests) == 0 || c.Array != "" && i != array {
			continue
		}
		all := true
		for _, t := range c.Tests {
			at := componentOf(index, t.Term)
			if at < 0 {
				all = false
				continue
			}
			out.used[i] = true
			if tests[at] == nil {
				tests[at] = append([]sortkey.Range{}, t.Ranges...)
				continue
			}
			tests[at] = append([]sortkey.Range{}, sortkey.Intersect(tests[at], t.Ranges)...)
		}
		out.decided[i] = all && c.Exact
	}
	return tests
}

// pinsOf returns the keys of the terms that have one value in all of the entries, ascending.
func pinsOf(components []model.Component, tests [][]sortkey.Range) map[string][]byte {
	pins := map[string][]byte{}
	for i, ranges := range tests {
		if len(ranges) == 1 && ranges[0].Point() {
			pins[components[i].Term()] = ranges[0].Low
		}
	}
	return pins
}

// repeats tells whether a document may have several entries in the ranges.
func (p *planner) repeats(index *model.Index, pins map[string][]byte) bool {
	for _, c := range index.Components {
		if _, pinned := pins[c.Term()]; !pinned && slices.ContainsFunc(c.Path, model.Step.Each) {
			return true
		}
	}
	return false
}

// order is how a walk over an index gives the order of a sort.
type order struct {
	skip     int // leading components that do not enter into it
	backward bool
}

// orderOf returns how an index gives the order that was asked for. points is how many leading components have keys of their own.
func (p *planner) orderOf(index *model.Index, pins map[string][]byte, points int) (o order, ok bool) {
	if p.q.sort == nil || p.q.request.Grouped {
		return o, false
	}
	want := unpinned(p.q.sort.Components, pins)
	for skip := 0; skip <= points && skip <= len(index.Components); skip++ {
		have := unpinned(index.Components[skip:], pins)
		if backward, fits := sameOrder(have, want, index.Descends() != p.q.sort.Descends()); fits {
			return order{skip, backward}, true
		}
	}
	return o, false
}

// unpinned returns the components that have several values, without those that were there before.
func unpinned(components []model.Component, pins map[string][]byte) (out []model.Component) {
	seen := map[string]bool{}
	for _, c := range components {
		if _, pinned := pins[c.Term()]; !pinned && !seen[c.Term()] {
			seen[c.Term()] = true
			out = append(out, c)
		}
	}
	return out
}

// sameOrder tells whether components give the order of others, forward or backward. Documents with the same values go by creation,
// in the direction of the last component; opposite tells that these directions differ.
func sameOrder(have, want []model.Component, opposite bool) (backward, ok bool) {
	if len(have) != len(want) {
		return false, false
	}
	for i := range have {
		if have[i].Term() != want[i].Term() || (have[i].Descending != want[i].Descending) != opposite {
			return false, false
		}
	}
	return opposite, true
}
