package query

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
)

// covers tells whether the entries of a plan's index hold all that a grouping asks for, so that no document is read.
func (p *planner) covers(x *plan, array int) bool {
	g := p.q.grouping
	if g == nil || array != noArray || !x.decides() {
		return false
	}
	index := x.index.index
	for _, c := range g.by.Components {
		if componentOf(index, c.Term()) < 0 {
			return false
		}
	}
	for _, a := range g.compute {
		if a.of != nil && componentOf(index, a.of.Components[0].Term()) < 0 {
			return false
		}
	}
	for _, c := range index.Components { // an entry for each document, or for each element that makes a group
		if slices.ContainsFunc(c.Path, model.Step.Each) && componentOf(g.by, c.Term()) < 0 {
			return false
		}
	}
	return true
}

// groupedBy tells whether the walk over a plan's index comes to one group after the other, in the order of their keys. It has the walk
// go in that direction.
func (p *planner) groupedBy(x *plan) bool {
	g := p.q.grouping
	if !x.covers || len(g.sort) > 0 || x.index.overflow > 0 || len(g.by.Components) == 0 {
		return false
	}
	have, want := unpinned(x.index.index.Components, x.pins), unpinned(g.by.Components, x.pins)
	if len(want) > len(have) {
		return false
	}
	have = have[:len(want)]
	for i := range have {
		if have[i].Term() != want[i].Term() || have[i].Descending != have[0].Descending {
			return false
		}
	}
	x.index.backward = len(have) > 0 && have[0].Descending
	return true
}

// entriesByKey calls fn with the different keys of the walk in order, how many documents each has, and the first of these. It begins
// after the keys that begin with after, unless that is nil.
func (g *groups) entriesByKey(after []byte, fn func(parts [][]byte, n, number int64) (bool, error)) error {
	x := g.plan.index
	on := true
	for _, r := range x.keyStreams() {
		w := x.walkOf(r)
		if after != nil && !x.beginAfter(&w, after) {
			continue
		}
		err := g.s.EachKey(w, func(key []byte, n, number int64) (bool, error) {
			if err := g.entry(n); err != nil {
				return false, err
			}
			if !passes(x.ranges.checks, key) {
				return true, nil
			}
			var err error
			g.parts = appendParts(g.parts[:0], key, len(x.index.Components))
			on, err = fn(g.parts, n, number)
			return on, err
		})
		if err != nil || !on {
			return err
		}
	}
	return nil
}

// beginAfter has a walk begin after all keys that begin with a prefix. It returns false where nothing of it comes after them.
func (x *indexSource) beginAfter(w *model.Walk, prefix []byte) bool {
	if x.backward {
		if w.High == nil || bytes.Compare(prefix, w.High) < 0 {
			w.High = prefix
		}
		return bytes.Compare(w.Low, w.High) < 0
	}
	from := sortkey.Successor(prefix)
	if from == nil {
		return false
	}
	if bytes.Compare(from, w.Low) > 0 {
		w.Low = from
	}
	return w.High == nil || bytes.Compare(w.Low, w.High) < 0
}

// findParts finds the components of the index that the grouping asks for.
func (g *groups) findParts() {
	for _, c := range g.by.Components {
		g.grouped = append(g.grouped, componentOf(g.plan.index.index, c.Term()))
	}
	for _, a := range g.compute {
		at := -1
		if a.of != nil {
			at = componentOf(g.plan.index.index, a.of.Components[0].Term())
		}
		g.computed = append(g.computed, at)
	}
	g.values = make([][]byte, len(g.compute))
}

// addEntries adds the documents of one key of an index that holds all.
func (g *groups) addEntries(key []byte, parts [][]byte, n, number int64) error {
	for i, at := range g.computed {
		if at >= 0 {
			g.values[i] = turned(parts[at], g.plan.index.index.Components[at].Descending)
		}
	}
	return g.add(key, number, n, g.values)
}

// groupKey returns the key of the group of an entry, valid until the next call.
func (g *groups) groupKey(parts [][]byte) []byte {
	g.key = g.key[:0]
	for _, at := range g.grouped {
		g.key = append(g.key, turned(parts[at], g.plan.index.index.Components[at].Descending)...)
	}
	return g.key
}

// walkEntries makes the groups from entries alone, but for documents with more elements than the index takes.
func (g *groups) walkEntries() error {
	if g.plan.index.overflow > 0 {
		if err := g.walkOverflow(); err != nil {
			return err
		}
	}
	return g.entriesByKey(nil, func(parts [][]byte, n, number int64) (bool, error) {
		return true, g.addEntries(g.groupKey(parts), parts, n, number)
	})
}

// walkOverflow adds the documents that have one entry for all.
func (g *groups) walkOverflow() error {
	x := g.plan.index
	return g.s.EachEntry(x.walkOf(overflowRange), false, func(e model.Entry) (bool, error) {
		if err := g.entry(1); err != nil {
			return false, err
		}
		return g.item(x.item(e, e.Key))
	})
}

// walkInOrder answers with the groups of a page, one after the other.
func (g *groups) walkInOrder() error {
	after, err := g.prefixOf()
	if err != nil {
		return err
	}
	err = g.entriesByKey(after, func(parts [][]byte, n, number int64) (bool, error) {
		key := g.groupKey(parts)
		if g.all[string(key)] == nil && len(g.list) == g.q.request.Limit {
			g.more = true
			return false, nil
		}
		return true, g.addEntries(key, parts, n, number)
	})
	if err != nil {
		return err
	}
	for _, x := range g.list {
		x.order = x.key
	}
	return g.answer()
}

// prefixOf returns the beginning of the keys of the group after which the page begins, nil for the beginning.
func (g *groups) prefixOf() ([]byte, error) {
	c := g.q.place
	if c == nil {
		return nil, nil
	}
	x := g.plan.index
	n := 0
	for _, t := range unpinned(g.by.Components, g.plan.pins) {
		n = max(n, componentOf(x.index, t.Term())+1)
	}
	prefix, ok := take(x.index.Components[:n], g.by.Components, parts(c.key, len(g.by.Components)), g.plan.pins)
	if !ok {
		return nil, errCursor()
	}
	return prefix, nil
}
