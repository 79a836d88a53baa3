package sortkey

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Range is a range of keys of one value each, ascending: those from Low on that are less than High. A High of nil is no end.
type Range struct{ Low, High []byte }

// The ranges of classes of values. Their bytes must not be changed.
var (
	Numbers = Range{Low: []byte{classNumber}, High: []byte{classNumber + 1}}
	Texts   = Range{Low: []byte{classText}, High: []byte{classText + 1}}
	Bools   = Range{Low: []byte{classNothing, valueFalse}, High: []byte{classNothing, valueTrue + 1}}
	Present = Range{Low: []byte{classNothing, valueAbsent + 1}, High: []byte{classText + 1}} // all but absent
	Null    = Range{Low: []byte{classNothing, valueNull}, High: []byte{classNothing, valueNull + 1}}
	// Composites are objects, arrays and numbers that package decimal does not take.
	Composites = Range{Low: []byte{classNothing, valueComposite}, High: []byte{classNothing, valueComposite + 1}}
)

// ClassOf returns the range of the values that compare with a value by less and greater: all numbers, all texts, or false and true.
// ok is false for a value that compares with none.
func ClassOf(t *jsondoc.Tree, n jsondoc.Node) (class Range, ok bool) {
	switch t.Kind(n) {
	case jsondoc.False, jsondoc.True:
		return Bools, true
	case jsondoc.String:
		return Texts, true
	case jsondoc.Number:
		return Numbers, Exact(t, n)
	}
	return Range{}, false
}

// PointOf returns the range of a key alone.
func PointOf(key []byte) Range { return Range{Low: key, High: Successor(key)} }

// Prefixed returns the range of the texts that begin with prefix. exact is false where it holds other texts too, because of a prefix
// that is longer than what enters into the order.
func Prefixed(prefix string) (r Range, exact bool) {
	if len(prefix) > maxText {
		key := append(appendText([]byte{classText}, prefix[:maxText]), textEnd, textEnd)
		return PointOf(key), false
	}
	return PointOf(appendText([]byte{classText}, prefix)), true
}

// Point reports whether the range has exactly one key.
func (r Range) Point() bool {
	n, err := KeyLength(r.Low)
	return err == nil && n == len(r.Low) && bytes.Equal(r.High, Successor(r.Low))
}

// Holds reports whether a key lies in the range. More keys may follow the one that decides it.
func (r Range) Holds(key []byte) bool {
	return bytes.Compare(r.Low, key) <= 0 && (r.High == nil || bytes.Compare(key, r.High) < 0)
}

// Descending returns the range of the same keys when each is inverted.
func (r Range) Descending() Range {
	invert := func(bound []byte) []byte {
		out := slices.Clone(bound)
		Descend(out)
		return Successor(out)
	}
	out := Range{High: invert(r.Low)}
	if r.High != nil {
		out.Low = invert(r.High)
	}
	return out
}

// Successor returns the least bytes that are greater than all that begin with prefix; nil where there are none.
func Successor(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			out := slices.Clone(prefix[:i+1])
			out[i]++
			return out
		}
	}
	return nil
}

// Union returns the ranges that hold the keys of all of these, sorted and disjoint.
func Union(all []Range) []Range {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Range) int { return bytes.Compare(a.Low, b.Low) })
	out := all[:0]
	for _, r := range all {
		if r.High != nil && bytes.Compare(r.Low, r.High) >= 0 {
			continue
		}
		if len(out) == 0 {
			out = append(out, r)
			continue
		}
		last := &out[len(out)-1]
		switch {
		case last.High == nil:
		case bytes.Compare(r.Low, last.High) >= 0:
			out = append(out, r)
		case r.High == nil || bytes.Compare(r.High, last.High) > 0:
			last.High = r.High
		}
	}
	return out
}

// Intersect returns the ranges that hold the keys that both hold. Both must be sorted and disjoint, and so is what it returns.
func Intersect(a, b []Range) []Range {
	var out []Range
	for len(a) > 0 && len(b) > 0 {
		r := Range{Low: a[0].Low, High: a[0].High}
		if bytes.Compare(b[0].Low, r.Low) > 0 {
			r.Low = b[0].Low
		}
		aFirst := b[0].High == nil || a[0].High != nil && bytes.Compare(a[0].High, b[0].High) <= 0
		if !aFirst {
			r.High = b[0].High
		}
		if r.High == nil || bytes.Compare(r.Low, r.High) < 0 {
			out = append(out, r)
		}
		if aFirst {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}
