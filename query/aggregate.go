package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/sortkey"
	"github.com/fanfold/fanfold/model"
)

// The functions of compute.
const (
	computeCount    = "count"
	computeSum      = "sum"
	computeMin      = "min"
	computeMax      = "max"
	computeAvg      = "avg"
	computeDistinct = "distinct"
)

// functions are the functions of a value.
var functions = []string{computeSum, computeMin, computeMax, computeAvg, computeDistinct}

// aggregate is an entry of compute.
type aggregate struct {
	name     string // as it was asked for
	function string
	of       *model.Index // of the value alone; nil for a count
}

// parseAggregate reads an entry of compute, by its place there. The error is Invalid.
func (q *Query) parseAggregate(entry int, text string) (a aggregate, err error) {
	a = aggregate{name: strings.TrimSpace(text), function: computeCount}
	if a.name == computeCount {
		return a, nil
	}
	function, rest, found := strings.Cut(a.name, "(")
	function = strings.TrimSpace(function)
	value, closed := strings.CutSuffix(rest, ")")
	if !found || !closed || !slices.Contains(functions, function) {
		return a, fanfold.Errorf(fanfold.Invalid, "compute: %q is neither count nor %s of a path or an expression, such as sum(price)", fanfold.Clip(text), strings.Join(functions, ", "))
	}
	c, err := q.component(value)
	switch {
	case err != nil:
		return a, q.request.misplaced("compute", entry, text[:strings.IndexByte(text, '(')+1], fanfold.Wrap(err, fanfold.Invalid, "%s: %s", a.name, fanfold.MessageOf(err)))
	case c.Descending:
		return a, fanfold.Errorf(fanfold.Invalid, "compute: %q has no direction: leave out the -", a.name)
	}
	a.function, a.of = function, &model.Index{Components: []model.Component{c}}
	if array := a.of.Array(); array != nil {
		return a, fanfold.Errorf(fanfold.Invalid, "compute: %q goes through the array %s: group by it, or name one value", a.name, array)
	}
	return a, nil
}

// total is what an aggregate has come to in one group.
type total struct {
	n     int64           // that took part
	sum   decimal.Decimal // or the least or the greatest
	small int64           // is to be added to sum
	keys  map[string]struct{}
}

// add adds a value that n documents have, by its ascending key. It returns how many bytes it keeps of it.
func (a *aggregate) add(t *total, key []byte, n int64) (kept int) {
	switch a.function {
	case computeCount:
		t.n += n
		return 0
	case computeDistinct:
		if !sortkey.Present.Holds(key) {
			return 0
		}
		if t.keys == nil {
			t.keys = map[string]struct{}{}
		}
		if _, known := t.keys[string(key)]; known {
			return 0
		}
		t.keys[string(key)] = struct{}{}
		return len(key) + sortedBytes
	}
	if a.of.Components[0].Time != "" || t.addSmall(a.function, key, n) {
		return 0
	}
	if d, ok := numberOf(key); ok {
		t.take(a.function, d, n)
	}
	return 0
}

// maxSmall bounds the parts of a sum that are added as integers.
const maxSmall = 1 << 62

// addSmall adds a whole number that n documents have, by its key, where that goes without decimals.
func (t *total) addSmall(function string, key []byte, n int64) bool {
	if function != computeSum && function != computeAvg {
		return false
	}
	value, ok := sortkey.Int(key)
	if !ok || n > maxEntries {
		return false
	}
	if n > 1 && (value > maxSmall/maxEntries || value < -maxSmall/maxEntries) {
		return false
	}
	if t.small += value * n; t.small > maxSmall || t.small < -maxSmall {
		t.flush()
	}
	t.n += n
	return true
}

// flush adds small to the sum.
func (t *total) flush() {
	if t.small != 0 {
		t.sum, t.small = decimal.Add(t.sum, decimal.FromInt(t.small)), 0
	}
}

// take adds a number that n documents have.
func (t *total) take(function string, d decimal.Decimal, n int64) {
	switch function {
	case computeMin, computeMax:
		if sign := decimal.Sub(d, t.sum).Sign(); t.n == 0 || function == computeMin && sign < 0 || function == computeMax && sign > 0 {
			t.sum = d
		}
	default:
		t.sum = decimal.Add(t.sum, decimal.Multiply(d, n))
	}
	t.n += n
}

// value returns the JSON text of what an aggregate has come to, nil for the least, the greatest and the mean of nothing.
func (a *aggregate) value(t *total) []byte {
	switch {
	case a.function == computeCount:
		return strconv.AppendInt(nil, t.n, 10)
	case a.function == computeDistinct:
		return strconv.AppendInt(nil, int64(len(t.keys)), 10)
	case t.n == 0 && a.function != computeSum: // as derived fields have it, 0 is the sum of nothing
		return nil
	}
	t.flush()
	if a.function == computeAvg {
		return []byte(decimal.Mean(t.sum, t.n).String())
	}
	return []byte(t.sum.String())
}
