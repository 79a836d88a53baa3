package query

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
)

// A cursor's place in a sorted answer is one in the order of the sort, so that it stays right whatever index gives the order.

// compare compares two places in an order that goes forward.
func (p place) compare(o place) int {
	return cmp.Or(bytes.Compare(p.key, o.key), cmp.Compare(p.tie, o.tie))
}

// parts returns the keys of components that stand one after the other; fewer than n where a key ends before.
func parts(key []byte, n int) [][]byte { return appendParts(nil, key, n) }

// appendParts appends what parts returns.
func appendParts(out [][]byte, key []byte, n int) [][]byte {
	for range n {
		size, ok := partEnd(key, 1)
		if !ok {
			return out
		}
		out = append(out, key[:size])
		key = key[size:]
	}
	return out
}

// turned returns the part of a key in another direction.
func turned(part []byte, turn bool) []byte {
	if !turn {
		return part
	}
	out := bytes.Clone(part)
	sortkey.Descend(out)
	return out
}

// take appends, for each component, the part of the same term among those that have parts, or the value that the term has in all of
// the entries. ok is false where a part is missing.
func take(components, from []model.Component, parts [][]byte, pins map[string][]byte) (key []byte, ok bool) {
	for _, c := range components {
		if pin, pinned := pins[c.Term()]; pinned {
			key = append(key, turned(pin, c.Descending)...)
			continue
		}
		i := slices.IndexFunc(from, func(o model.Component) bool { return o.Term() == c.Term() })
		if i < 0 || i >= len(parts) {
			return nil, false
		}
		key = append(key, turned(parts[i], from[i].Descending != c.Descending)...)
	}
	return key, true
}

// sortPlace returns the place in the order of the sort that an entry has, by the part of its key that enters into the walk's order.
// An entry that was passed over may have other values than the pins. Its place is then before or after all that have its values of the sort.
func (p *plan) sortPlace(sort *model.Index, it item) place {
	own := p.index.index.Components[p.index.skip:]
	has := parts(it.key, len(own))
	key, _ := take(sort.Components, own, has, p.pins)
	out := place{key, sort.Tie(it.number)}
	pinned, ok := take(own, own, has, p.pins)
	switch order := bytes.Compare(bytes.Join(has, nil), pinned); {
	case !ok || order == 0:
	case (order < 0) != p.index.backward:
		out.tie = math.MinInt64
	default:
		out.tie = math.MaxInt64
	}
	return out
}

// walkPlace returns the place in the order of the walk that one in the order of the sort has. ok is false for one that has none.
func (p *plan) walkPlace(sort *model.Index, at place) (out place, ok bool) {
	own := p.index.index.Components[p.index.skip:]
	key, ok := take(own, sort.Components, parts(at.key, len(sort.Components)), p.pins)
	number := at.tie
	if sort.Descends() {
		number = ^number
	}
	return place{key, p.index.index.Tie(number)}, ok
}
