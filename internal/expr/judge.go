package expr

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/common/types/ref"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
)

// run is what a Bound and those made of it by Only share while they judge.
type run struct {
	params    *jsondoc.Tree
	constants []known
	cost      int
	e         *evaluation // of cel-go's programs
	facts     Facts
	left      int  // of what the conjuncts may cost on this document for which no tests stand
	limited   bool // the conjunct that is judged spends it
	exhausted bool
	termTree  jsondoc.Tree // the value of the conjunct's term
	hasTerm   bool
}

func newRun(params *jsondoc.Tree) *run {
	r := &run{params: params}
	r.e = &evaluation{tree: params, left: queryCost, limit: queryCost, exact: true, facts: &r.facts}
	r.e.params = wrap(r.e, params, jsondoc.Root)
	return r
}

// errConstants is the error of a condition whose constants cost too much.
var errConstants = fmt.Errorf("what does not depend on doc costs more than %d", queryCost)

// bind evaluates the constants of a condition.
func (r *run) bind(c *Condition) error {
	r.constants = make([]known, len(c.constants))
	for i, constant := range c.constants {
		switch {
		case constant.literal != nil:
			r.constants[i] = *constant.literal
		case constant.path != nil:
			r.constants[i] = r.param(constant.path)
		default:
			p, err := constant.program()
			if err != nil {
				return err
			}
			r.constants[i] = r.constant(func() (ref.Val, error) { return p.eval(r.e) })
		}
	}
	if r.e.exhausted {
		return errConstants
	}
	return nil
}

// param returns the value of a member of params.
func (r *run) param(path []string) known {
	n := jsondoc.Root
	for _, name := range path {
		if n = r.params.Member(n, name); n == jsondoc.None {
			return known{}
		}
	}
	return r.constant(func() (ref.Val, error) { return wrap(r.e, r.params, n), nil })
}

// constant returns the value that evaluate returns.
func (r *run) constant(evaluate func() (ref.Val, error)) (k known) {
	var err error
	defer func() {
		if err != nil && !errors.Is(err, ErrNoValue) {
			k = known{kind: ofFailure, why: err}
		}
	}()
	defer recoverCost(&err)
	v, err := evaluate()
	if err != nil {
		return known{}
	}
	return r.knownOf(v, true)
}

// begin makes the run judge a document.
func (r *run) begin(f Facts) {
	r.facts, r.left, r.exhausted = f, queryCost, false
	r.e.tree, r.e.doc = f.Doc, nil
}

// judge says whether a conjunct is true of the document.
func (r *run) judge(c *boundConjunct) Verdict {
	r.limited = !c.tests.Exact && c.term == nil
	if !c.direct {
		return r.evaluate(c.program)
	}
	if c.term != nil {
		text, cost, err := c.term.Measure(r.facts)
		r.cost += cost
		if r.hasTerm = err == nil; r.hasTerm {
			r.termTree.Reset(text)
		}
	}
	return r.of(c.part, element{})
}

// evaluate says whether the expression of a program is true of the document.
func (r *run) evaluate(program func() (*Program, error)) Verdict {
	p, err := program()
	if err != nil {
		return NoValue
	}
	if r.e.doc == nil {
		r.e.doc = wrap(r.e, r.facts.Doc, jsondoc.Root)
	}
	before := queryCost
	if r.limited {
		before = r.left
	}
	r.e.left, r.e.exhausted = before, false
	matches, err := p.decide(r.e)
	r.cost += before - r.e.left
	if r.limited {
		r.left, r.exhausted = r.e.left, r.e.exhausted
	}
	switch {
	case err != nil:
		return NoValue
	case matches:
		return True
	}
	return False
}

// spend takes units of cost. The document has no value if not as many are left.
func (r *run) spend(units int) {
	r.cost += units
	if !r.limited {
		return
	}
	if r.left -= units; r.left < 0 {
		r.exhausted = true
	}
}

// element is what an exists looks at: an element of an array, or the name of a member of an object.
type element struct {
	node jsondoc.Node
	name bool // of the member node
}

// place is a value that a condition looks at.
type place struct {
	tree *jsondoc.Tree
	node jsondoc.Node // None for nothing
	name bool         // the name of the member node, and not its value
}

// kind returns the kind of the value, a text's for a name.
func (p place) kind() jsondoc.Kind {
	if p.name {
		return jsondoc.String
	}
	return p.tree.Kind(p.node)
}

// raw returns the text of the value.
func (p place) raw() []byte {
	if p.name {
		return p.tree.RawKey(p.node)
	}
	return p.tree.Raw(p.node)
}

// text returns the value of a text.
func (p place) text() string {
	if p.name {
		return p.tree.Key(p.node)
	}
	return p.tree.Text(p.node)
}

// of says whether a part is true of the document, or of an element.
func (r *run) of(p *part, el element) Verdict {
	r.spend(1)
	if r.exhausted {
		return NoValue
	}
	switch p.op {
	case opAnd:
		return r.both(p.parts, el, False)
	case opOr:
		return r.both(p.parts, el, True)
	case opNot:
		return r.of(p.parts[0], el).not()
	case opConstant:
		return r.constants[p.constant.index].asTruth()
	case opHas:
		return r.has(p.operand, el)
	case opExists:
		return r.exists(p, el)
	}
	if p.operand.root == rootCreated {
		return r.constants[p.constant.index].timed(p.op, r.facts.Created)
	}
	if p.operand.root == rootUpdated {
		return r.constants[p.constant.index].timed(p.op, r.facts.Updated)
	}
	at, ok := r.find(p.operand, p.operand.path, el)
	if !ok {
		return NoValue
	}
	return r.compare(p, at)
}

// both returns what && says of parts, or || where decisive is True: decisive where one of them is, and no value where one has none.
func (r *run) both(parts []*part, el element, decisive Verdict) Verdict {
	out := decisive.not()
	for _, p := range parts {
		switch r.of(p, el) {
		case decisive:
			return decisive
		case NoValue:
			out = NoValue
		}
	}
	return out
}

// not returns the opposite of a verdict.
func (v Verdict) not() Verdict {
	switch v {
	case True:
		return False
	case False:
		return True
	}
	return NoValue
}

// verdict returns the verdict that is true or false.
func verdict(truth bool) Verdict {
	if truth {
		return True
	}
	return False
}

// find returns the value to which a path leads from the operand's root; ok is false where it does not get there.
func (r *run) find(o *operand, path []string, el element) (at place, ok bool) {
	at = place{tree: r.facts.Doc, node: jsondoc.Root}
	switch o.root {
	case rootElement:
		at.node, at.name = el.node, el.name
	case rootTerm:
		if !r.hasTerm {
			return at, false
		}
		at.tree = &r.termTree
	}
	for _, name := range path {
		if at.name {
			return at, false
		}
		if at.node = at.tree.Member(at.node, name); at.node == jsondoc.None {
			return at, false
		}
	}
	return at, true
}

// has says whether an operand is present. The one around it must be.
func (r *run) has(o *operand, el element) Verdict {
	last := len(o.path) - 1
	at, ok := r.find(o, o.path[:last], el)
	if !ok || at.kind() == jsondoc.Array {
		return NoValue
	}
	return verdict(at.kind() == jsondoc.Object && at.tree.Member(at.node, o.path[last]) != jsondoc.None)
}

// exists says whether a part is true of an element of the operand.
func (r *run) exists(p *part, el element) Verdict {
	at, ok := r.find(p.operand, p.operand.path, el)
	if !ok || at.kind() != jsondoc.Array && at.kind() != jsondoc.Object {
		return NoValue
	}
	out := False
	for n := at.tree.First(at.node); n != jsondoc.None && !r.exhausted; n = at.tree.Next(n) {
		switch r.of(p.parts[0], element{n, at.kind() == jsondoc.Object}) {
		case True:
			return True
		case NoValue:
			out = NoValue
		}
	}
	return out
}

// compare says whether a value is as a part asks.
func (r *run) compare(p *part, at place) Verdict {
	r.spend(len(at.raw()) / bytesPerUnit)
	if p.op == opTruth {
		switch at.kind() {
		case jsondoc.True:
			return True
		case jsondoc.False:
			return False
		}
		return NoValue
	}
	k := &r.constants[p.constant.index]
	switch p.op {
	case opEqual:
		return k.equal(at)
	case opNotEqual:
		return k.equal(at).not()
	case opStarts, opEnds, opContains:
		return k.within(p.op, at)
	case opIn:
		return r.among(k, at)
	case opHolds:
		return r.holds(k, at)
	}
	return k.order(p.op, at)
}

// holds says whether a constant is an element of a value, or the name of a member.
func (r *run) holds(k *known, at place) Verdict {
	switch {
	case k.kind == ofFailure:
		return NoValue
	case at.kind() == jsondoc.Object:
		return verdict(k.kind == ofText && at.tree.Member(at.node, k.text) != jsondoc.None)
	case at.kind() != jsondoc.Array:
		return NoValue
	}
	out := False
	for n := at.tree.First(at.node); n != jsondoc.None; n = at.tree.Next(n) {
		r.spend(1 + len(at.tree.Raw(n))/bytesPerUnit)
		switch k.equal(place{tree: at.tree, node: n}) {
		case True:
			return True
		case NoValue:
			out = NoValue
		}
	}
	return out
}

// asTruth returns the constant's value as a condition's.
func (k *known) asTruth() Verdict {
	if k.kind != ofBool {
		return NoValue
	}
	return verdict(k.truth)
}

// timed says whether a time is to the constant as an operation asks.
func (k *known) timed(op operation, t time.Time) Verdict {
	switch {
	case k.kind == ofFailure:
		return NoValue
	case op == opIn && !k.list:
		return NoValue
	case op == opIn:
		out := False
		for i := range k.elements {
			switch k.elements[i].timed(opEqual, t) {
			case True:
				return True
			case NoValue:
				out = NoValue
			}
		}
		return out
	case k.kind == ofTime:
		return compared(op, t.Compare(k.time))
	case k.kind == ofBeyond:
		return NoValue
	case op == opEqual:
		return False
	case op == opNotEqual:
		return True
	}
	return NoValue
}

// compared says whether an order is as an operation asks.
func compared(op operation, order int) Verdict {
	switch op {
	case opEqual:
		return verdict(order == 0)
	case opNotEqual:
		return verdict(order != 0)
	case opLess:
		return verdict(order < 0)
	case opLessEqual:
		return verdict(order <= 0)
	case opGreater:
		return verdict(order > 0)
	default:
		return verdict(order >= 0)
	}
}

// equal says whether a value equals the constant.
func (k *known) equal(at place) Verdict {
	if k.kind == ofFailure || k.kind == ofBeyond {
		return NoValue
	}
	switch at.kind() {
	case jsondoc.Number:
		order, ok := k.orderOf(at)
		if !ok {
			return NoValue
		}
		return verdict(k.kind == ofNumber && order == 0)
	case jsondoc.String:
		return verdict(k.kind == ofText && isText(at, k.text))
	case jsondoc.Null:
		return verdict(k.kind == ofNull)
	case jsondoc.True, jsondoc.False:
		return verdict(k.kind == ofBool && k.truth == (at.kind() == jsondoc.True))
	}
	return False
}

// orderOf returns the order of a number and the constant; 0 where that is none. ok is false for a number that package decimal does not
// take.
func (k *known) orderOf(at place) (order int, ok bool) {
	var room [40]byte
	n, ok := decimal.Scan(room[:0], at.raw())
	if !ok || k.kind != ofNumber {
		return 0, ok
	}
	return n.Compare(k.number), true
}

// order says whether a value is to the constant as an operation asks.
func (k *known) order(op operation, at place) Verdict {
	order, ok := 0, false
	switch kind := at.kind(); {
	case kind == jsondoc.Number && k.kind == ofNumber:
		order, ok = k.orderOf(at)
	case kind == jsondoc.String && k.kind == ofText:
		order, ok = strings.Compare(at.text(), k.text), true
	case (kind == jsondoc.True || kind == jsondoc.False) && k.kind == ofBool:
		ok = true
		switch truth := kind == jsondoc.True; {
		case truth && !k.truth:
			order = 1
		case !truth && k.truth:
			order = -1
		}
	}
	if !ok {
		return NoValue
	}
	return compared(op, order)
}

// isText reports whether a text has a value.
func isText(at place, text string) bool {
	raw := at.raw()
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1:len(raw)-1]) == text
	}
	return at.text() == text
}

// within says whether a text begins or ends with the constant, or contains it.
func (k *known) within(op operation, at place) Verdict {
	if k.kind != ofText || at.kind() != jsondoc.String {
		return NoValue
	}
	raw := at.raw()
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		inner = []byte(at.text())
	}
	sought := []byte(k.text)
	switch op {
	case opStarts:
		return verdict(bytes.HasPrefix(inner, sought))
	case opEnds:
		return verdict(bytes.HasSuffix(inner, sought))
	}
	return verdict(bytes.Contains(inner, sought))
}

// fewElements is up to how many elements of a list are compared one after the other.
const fewElements = 8

// among says whether a value is an element of the constant.
func (r *run) among(k *known, at place) Verdict {
	if !k.list {
		return NoValue
	}
	if len(k.elements) > fewElements {
		if !at.name && sortkey.Exact(at.tree, at.node) {
			return k.found(sortkey.Append(nil, at.tree, at.node))
		}
		r.spend(len(k.elements) / membersPerUnit)
	}
	out := False
	for i := range k.elements {
		switch k.elements[i].equal(at) {
		case True:
			return True
		case NoValue:
			out = NoValue
		}
	}
	return out
}

// found looks for the key of a value that no other value has.
func (k *known) found(key []byte) Verdict {
	i, _ := slices.BinarySearchFunc(k.ranges, key, func(r sortkey.Range, key []byte) int { return bytes.Compare(r.High, key) })
	for ; i < len(k.ranges) && bytes.Compare(k.ranges[i].Low, key) <= 0; i++ {
		if k.ranges[i].Holds(key) {
			return True
		}
	}
	if k.beyond {
		return NoValue
	}
	return False
}
