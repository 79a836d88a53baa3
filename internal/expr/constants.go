package expr

import (
	"bytes"
	"math"
	"math/big"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
)

// kind is the kind of a constant's value.
type kind int

const (
	ofFailure   kind = iota // it has no value
	ofNull                  //
	ofBool                  //
	ofNumber                //
	ofBeyond                // a number that package decimal does not take
	ofText                  //
	ofTime                  //
	ofComposite             // an object, an array or a map
	ofOther                 // a duration, say
)

// known is the value of a constant.
type known struct {
	kind   kind
	truth  bool
	number decimal.Number
	text   string
	time   time.Time
	key    []byte // of a value that has one
	exact  bool   // no other value has the key
	why    error  // there is no value; nil where a member or an index is missing
	// Of a list:
	list     bool
	elements []known
	ranges   []sortkey.Range // of the keys of the elements that have one
	beyond   bool            // an element is a number that package decimal does not take
}

// knownOf returns what a value is to a condition.
func (r *run) knownOf(v ref.Val, elements bool) known {
	switch v := v.(type) {
	case *scalar:
		return knownNode(v.tree, v.node)
	case types.Timestamp:
		return known{kind: ofTime, time: v.Time, key: timeKey(v.Time), exact: true}
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return known{kind: ofBeyond}
		}
	case traits.Lister:
		k := known{kind: ofComposite, list: true}
		if elements {
			for _, element := range r.e.elements(v) {
				k.elements = append(k.elements, r.knownOf(element, false))
			}
			k.sort()
		}
		return k
	case traits.Mapper:
		return known{kind: ofComposite}
	case types.Null, types.Bool, types.Int, types.Uint, types.String:
	default:
		return known{kind: ofOther}
	}
	text, err := (&evaluation{left: costLimit, limit: costLimit}).appendJSON(nil, v, 0)
	if err != nil {
		return known{kind: ofFailure}
	}
	return knownNode(jsondoc.MustParse(text), jsondoc.Root)
}

// knownNode returns what a scalar of a tree is to a condition.
func knownNode(t *jsondoc.Tree, n jsondoc.Node) known {
	k := known{key: sortkey.Append(nil, t, n), exact: sortkey.Exact(t, n)}
	switch t.Kind(n) {
	case jsondoc.Null:
		k.kind = ofNull
	case jsondoc.True, jsondoc.False:
		k.kind, k.truth = ofBool, t.Kind(n) == jsondoc.True
	case jsondoc.String:
		k.kind, k.text = ofText, t.Text(n)
	default:
		var ok bool
		if k.number, ok = decimal.Scan(nil, t.Raw(n)); ok {
			k.kind = ofNumber
		} else {
			k.kind, k.key = ofBeyond, nil
		}
	}
	return k
}

// sort makes the ranges of a list.
func (k *known) sort() {
	var all []sortkey.Range
	for _, element := range k.elements {
		k.beyond = k.beyond || element.kind == ofBeyond
		if element.key != nil && element.kind != ofTime {
			all = append(all, sortkey.PointOf(element.key))
		}
	}
	k.ranges = sortkey.Union(all)
}

// timeKey returns the key of a time.
func timeKey(t time.Time) []byte {
	nanoseconds := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1e9))
	text := nanoseconds.Add(nanoseconds, big.NewInt(int64(t.Nanosecond()))).Append(nil, 10)
	return sortkey.Append(nil, jsondoc.MustParse(text), jsondoc.Root)
}

// point returns the range of the constant's key.
func (k *known) point() sortkey.Range { return sortkey.PointOf(k.key) }

// class returns the range of the values with which the constant compares by less and greater; ok is false where there are none.
func (k *known) class() (class sortkey.Range, ok bool) {
	switch k.kind {
	case ofBool:
		return sortkey.Bools, true
	case ofNumber, ofTime:
		return sortkey.Numbers, true
	case ofText:
		return sortkey.Texts, true
	}
	return class, false
}

// compared returns the ranges of the values that compare with the constant as an operation asks.
func (k *known) compared(op operation) (ranges []sortkey.Range, exact bool) {
	class, ok := k.class()
	if !ok {
		return nil, true
	}
	low, high := k.key, sortkey.Successor(k.key)
	if k.exact && op == opLess {
		high = low
	}
	if k.exact && op == opGreater {
		low = high
	}
	if op == opLess || op == opLessEqual {
		class.High = high
	} else {
		class.Low = low
	}
	if class.High != nil && bytes.Compare(class.Low, class.High) >= 0 {
		return nil, true
	}
	return []sortkey.Range{class}, k.exact
}
