package query

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
)

// maxRanges is how many ranges of an index one query walks. More are walked as one, and its entries looked at.
const maxRanges = 1000

// stream is one range of an index's entries: keys from low on that are less than high.
type stream struct {
	low, high []byte
	skip      int // bytes of the keys that do not enter into the order of a merge
}

// leastKey is where the keys of an index begin, after the empty one.
var leastKey = []byte{0}

// check is what a component of an entry's key must lie in, where no range says so.
type check struct {
	component int
	ranges    []sortkey.Range // as in the key: of descending keys where the component descends
}

// keyRanges are the entries of an index whose components lie in ranges.
type keyRanges struct {
	points  int // leading components whose ranges are one key each
	streams []stream
	checks  []check
}

// descended returns ranges in the order in which a component has them.
func descended(c model.Component, ranges []sortkey.Range) []sortkey.Range {
	if !c.Descending {
		return ranges
	}
	out := make([]sortkey.Range, len(ranges))
	for i, r := range ranges {
		out[len(ranges)-1-i] = r.Descending()
	}
	return out
}

// allPoints tells whether each range is one key.
func allPoints(ranges []sortkey.Range) bool {
	return !slices.ContainsFunc(ranges, func(r sortkey.Range) bool { return !r.Point() })
}

// pointKey returns the key of a point, as a component has it.
func pointKey(c model.Component, r sortkey.Range) []byte {
	if !c.Descending {
		return r.Low
	}
	key := bytes.Clone(r.Low)
	sortkey.Descend(key)
	return key
}

// rangesOf returns the entries of components whose values each lie in ranges, nil for any value.
func rangesOf(components []model.Component, tests [][]sortkey.Range) keyRanges {
	out, prefixes := keyRanges{}, [][]byte{nil}
	i := 0
	for ; i < len(components) && tests[i] != nil && allPoints(tests[i]) && len(prefixes)*len(tests[i]) <= maxRanges; i++ {
		prefixes = extended(prefixes, components[i], tests[i])
	}
	out.points = i
	if i == len(components) || tests[i] == nil {
		for _, p := range prefixes {
			if len(p) == 0 {
				out.streams = []stream{{low: leastKey}}
				break
			}
			out.streams = append(out.streams, stream{low: p, high: sortkey.Successor(p)})
		}
	} else {
		ranges := descended(components[i], tests[i])
		if len(prefixes)*len(ranges) > maxRanges {
			out.checks = append(out.checks, check{i, ranges})
			ranges = []sortkey.Range{{Low: ranges[0].Low, High: ranges[len(ranges)-1].High}}
		}
		for _, p := range prefixes {
			for _, r := range ranges {
				low := slices.Concat(p, r.Low)
				if len(low) == 0 {
					low = leastKey
				}
				out.streams = append(out.streams, stream{low: low, high: upper(p, r.High)})
			}
		}
		i++
	}
	for ; i < len(components); i++ {
		if tests[i] != nil {
			out.checks = append(out.checks, check{i, descended(components[i], tests[i])})
		}
	}
	return out
}

// upper returns the end of a range of keys that begin with prefix.
func upper(prefix, high []byte) []byte {
	if high == nil {
		return sortkey.Successor(prefix)
	}
	return slices.Concat(prefix, high)
}

// extended returns prefixes, in order, each with the keys of points after it.
func extended(prefixes [][]byte, c model.Component, points []sortkey.Range) [][]byte {
	keys := make([][]byte, len(points))
	for i, r := range points {
		keys[i] = pointKey(c, r)
	}
	if c.Descending {
		slices.Reverse(keys)
	}
	out := make([][]byte, 0, len(prefixes)*len(points))
	for _, p := range prefixes {
		for _, k := range keys {
			out = append(out, slices.Concat(p, k))
		}
	}
	return out
}

// skipComponents has each stream's order begin after the key's first n components, which are all points.
func (k *keyRanges) skipComponents(n int) {
	for i := range k.streams {
		k.streams[i].skip, _ = partEnd(k.streams[i].low, n)
	}
}

// partEnd returns where the first n parts of a key end. ok is false where it has fewer.
func partEnd(key []byte, n int) (end int, ok bool) {
	for range n {
		size, err := sortkey.KeyLength(key[end:])
		if err != nil {
			return end, false
		}
		end += size
	}
	return end, true
}

// passes tells whether an entry's key passes the checks.
func passes(checks []check, key []byte) bool {
	at, component := 0, 0
	for _, c := range checks {
		start, ok := partEnd(key[at:], c.component-component)
		if !ok {
			return false
		}
		at, component = at+start, c.component
		if !slices.ContainsFunc(c.ranges, func(r sortkey.Range) bool { return r.Holds(key[at:]) }) {
			return false
		}
	}
	return true
}
