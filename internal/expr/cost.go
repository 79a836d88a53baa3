package expr

import (
	"fmt"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// MaxResult bounds the text of an expression's value, in bytes.
const MaxResult = 16 << 20

// costLimit bounds one evaluation, in units of cost: what is counted, and not what it took, so that the outcome is the
// same on every machine. A unit is worth some 50 nanoseconds. A step of the program costs one, and further
const (
	costLimit       = 1_000_000
	bytesPerUnit    = 32 // of text that is read, copied or built: 32 MB in all, which bounds the memory too
	charsPerUnit    = 8  // of text that a function takes apart into characters, in bytes
	membersPerUnit  = 4  // members or elements that are passed over
	elementCost     = 2  // an element of a list that is built
	matchesPerUnit  = 8  // bytes times instructions of a regular expression's program
	maxFormatDigits = 100
)

// evaluation is one evaluation of an expression over a document: the document, and what it may still cost.
type evaluation struct {
	tree *jsondoc.Tree
	doc  ref.Val
	left int // of limit
	// limit is what the evaluation may cost in all.
	limit int
	// members says that the variables are the members of the document, and not the document itself.
	members bool
	// exact says that numbers compare by their exact values.
	exact bool
	// beyond says that a comparison met a number that package decimal does not take.
	beyond bool
	// exhausted says that more was to be spent than was left.
	exhausted bool
	// params and facts are the other variables of a condition, and params one of a filter; nil where there are none.
	params ref.Val
	facts  *Facts
	// meta is what a document's own value sees as meta; nil for other expressions.
	meta *Meta
	// element is the element that an expression over elements sees; nil for other expressions.
	element ref.Val
	// explained takes note of what is missing; nil where nobody asks.
	explained *missing
}

// newEvaluation returns the evaluation of an expression over a document; nothing of it is spent.
func newEvaluation(doc *jsondoc.Tree) *evaluation {
	e := &evaluation{tree: doc, left: costLimit, limit: costLimit}
	e.doc = wrap(e, doc, jsondoc.Root)
	return e
}

// spend takes units of cost. If not as many are left, it panics with a value that recoverCost makes an error.
func (e *evaluation) spend(units int) {
	if units < 0 || units > e.left {
		e.exhausted = true
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded,
			Message: fmt.Sprintf("the evaluation costs more than %d: it takes too many steps, or builds too much", e.limit)})
	}
	e.left -= units
}

// spendText takes the cost of n bytes of text; one unit pays per.
func (e *evaluation) spendText(n, per int) { e.spend(n/per + 1) }

// recoverCost is deferred by who may spend: it sets err where the cost passed its limit.
func recoverCost(err *error) {
	switch r := recover().(type) {
	case nil:
	case interpreter.EvalCancelledError:
		*err = r
	default:
		panic(r)
	}
}

// evaluationName names the evaluation in an activation. No expression can name it.
const evaluationName = " evaluation"

// ResolveName implements cel.Activation.
func (e *evaluation) ResolveName(name string) (any, bool) {
	switch {
	case name == evaluationName:
		return e, true
	case isGiven(name) && e.params != nil:
		return e.params, true
	case e.members:
		n := e.tree.Member(jsondoc.Root, name)
		if n == jsondoc.None {
			return nil, false
		}
		return wrap(e, e.tree, n), true
	case name == "doc":
		return e.doc, true
	case name == "element" && e.element != nil:
		return e.element, true
	case name == metaCreated && e.meta != nil:
		return types.String(e.meta.Created.UTC().Format(time.RFC3339Nano)), true
	case name == metaUpdated && e.meta != nil:
		return types.String(e.meta.Updated.UTC().Format(time.RFC3339Nano)), true
	case name == metaCreator && e.meta != nil:
		return actor(name, e.meta.CreatedBy), true
	case name == metaWriter && e.meta != nil:
		return actor(name, e.meta.UpdatedBy), true
	case name == metaCreated && e.facts != nil:
		return types.Timestamp{Time: e.facts.Created}, true
	case name == metaUpdated && e.facts != nil:
		return types.Timestamp{Time: e.facts.Updated}, true
	}
	return nil, false
}

// Parent implements cel.Activation; there is none.
func (e *evaluation) Parent() cel.Activation { return nil }

// evaluationOf returns the evaluation that a frame belongs to.
func evaluationOf(vars cel.Activation) *evaluation {
	e, _ := vars.ResolveName(evaluationName)
	return e.(*evaluation)
}

// weigh takes what it costs to look at all of a value, nested depth deep, which what is shared makes much larger than
// what it took to build it.
func (e *evaluation) weigh(v ref.Val, depth int) {
	e.spend(1 + depth/64) // nothing nests deeper than an expression is long
	switch v := v.(type) {
	case types.String:
		e.spendText(len(v), charsPerUnit)
	case types.Bytes:
		e.spendText(len(v), charsPerUnit)
	case *scalar:
		e.spendText(len(v.raw()), charsPerUnit)
	case *object:
		e.spendText(len(v.raw()), charsPerUnit)
	case *list:
		e.spendText(len(v.raw()), charsPerUnit)
	case *orderedMap:
		for i := range v.keys {
			e.weigh(v.keys[i], depth+1)
			e.weigh(v.vals[i], depth+1)
		}
	case traits.Lister:
		for _, element := range e.elements(v) {
			e.weigh(element, depth+1)
		}
	}
}
