package expr

import (
	"slices"

	"github.com/fanfold/fanfold/internal/sortkey"
)

// tested is a test of a term, and the array through which it goes.
type tested struct {
	Test
	array string
}

// testsOf finds the tests of a conjunct, and how it is evaluated.
func (r *run) testsOf(c *boundConjunct) {
	c.tests = Conjunct{Source: c.source}
	c.direct = c.part.known() && r.scalars(c.part)
	tests, exact := r.conjunctTests(c.part)
	if len(tests) > 0 {
		c.tests.Array, c.tests.Exact = tests[0].array, exact && c.direct
		for _, t := range tests {
			c.tests.Tests = append(c.tests.Tests, t.Test)
		}
	}
	if c.part.hasTerm() {
		// All of a part reads the term of its test.
		if t := c.part.anyTerm(); c.direct && len(tests) == 1 && tests[0].Term == t.text {
			c.term = t
		} else {
			c.direct, c.tests.Exact = false, false
		}
	}
}

// anyTerm returns a term that a part reads.
func (p *part) anyTerm() *Term {
	if p.operand != nil && p.operand.root == rootTerm {
		return p.operand.term
	}
	for _, inner := range p.parts {
		if t := inner.anyTerm(); t != nil {
			return t
		}
	}
	return nil
}

// scalars reports whether all constants of a part are such that it is evaluated directly.
func (r *run) scalars(p *part) bool {
	if p.constant != nil {
		k := &r.constants[p.constant.index]
		if p.op == opIn {
			if k.kind == ofComposite && !k.list || slices.ContainsFunc(k.elements, func(k known) bool { return k.kind == ofComposite }) {
				return false
			}
		} else if k.kind == ofComposite {
			return false
		}
	}
	return !slices.ContainsFunc(p.parts, func(p *part) bool { return !r.scalars(p) })
}

// conjunctTests returns what an index can decide of a part, all of one element where it goes through an array; nil for nothing. exact
// says that the part is true if and only if all of it is.
func (r *run) conjunctTests(p *part) (tests []tested, exact bool) {
	if p.op != opExists {
		if t, ok := r.test(p, ""); ok {
			return []tested{t}, t.Exact
		}
		return nil, false
	}
	array, ok := p.operand.name("")
	if !ok {
		return nil, false
	}
	inner := []*part{p.parts[0]}
	if inner[0].op == opAnd {
		inner = inner[0].parts
	}
	exact = true
	for _, each := range inner {
		t, ok := r.test(each, array)
		if !ok || t.array != array {
			exact = false
			continue
		}
		exact = exact && t.Exact
		if i := slices.IndexFunc(tests, func(other tested) bool { return other.Term == t.Term }); i >= 0 {
			tests[i].Ranges, tests[i].Exact = sortkey.Intersect(tests[i].Ranges, t.Ranges), tests[i].Exact && t.Exact
		} else {
			tests = append(tests, t)
		}
	}
	return tests, exact && len(tests) > 0
}

// test returns the test that a part is; ok is false where it is none. array is the path of the array whose elements the part is about, ""
// for the document.
func (r *run) test(p *part, array string) (t tested, ok bool) {
	switch p.op {
	case opAnd, opOr:
		return r.joined(p, array)
	case opExists:
		if tests, exact := r.conjunctTests(p); len(tests) == 1 {
			t = tests[0]
			t.Exact = exact
			return t, true
		}
		return t, false
	case opUnknown, opNot, opConstant, opNotEqual, opEnds, opContains:
		return t, false
	case opHolds:
		if array != "" || p.operand.root != rootDoc {
			return t, false
		}
		if t.array, ok = p.operand.name(""); !ok {
			return t, false
		}
		t.Term = t.array + "[]"
		if t.Exact = true; r.constants[p.constant.index].kind != ofTime { // which no element is
			t.Ranges, t.Exact = r.constants[p.constant.index].equals()
		}
		return t, true
	}
	if p.operand.root == rootElement {
		t.array = array
	}
	if t.Term, ok = p.operand.name(array); !ok {
		return t, false
	}
	t.Ranges, t.Exact, ok = r.ranges(p)
	return t, ok
}

// joined returns the test that tests of one term are which && or || joins. The tests of an array are joined by || alone, for && may be
// about two elements.
func (r *run) joined(p *part, array string) (t tested, ok bool) {
	for i, inner := range p.parts {
		each, ok := r.test(inner, array)
		switch {
		case !ok || i > 0 && (each.Term != t.Term || each.array != t.array):
			return t, false
		case p.op == opAnd && each.array != array:
			return t, false
		case i == 0:
			t = each
			continue
		case p.op == opAnd:
			t.Ranges = sortkey.Intersect(t.Ranges, each.Ranges)
		default:
			t.Ranges = sortkey.Union(slices.Concat(t.Ranges, each.Ranges))
		}
		t.Exact = t.Exact && each.Exact
	}
	return t, true
}

// ranges returns the ranges of the values of a part's operand for which the part is true; ok is false if they cannot be told.
func (r *run) ranges(p *part) (ranges []sortkey.Range, exact, ok bool) {
	var k known
	if p.constant != nil {
		k = r.constants[p.constant.index]
	}
	switch p.operand.root {
	case rootCreated, rootUpdated:
		if k.kind != ofTime && !k.list {
			return nil, true, p.op >= opEqual
		}
		for i := range k.elements {
			if k.elements[i].kind == ofTime {
				ranges = append(ranges, k.elements[i].point())
			}
		}
		if p.op == opIn {
			return sortkey.Union(ranges), true, true
		}
	case rootTerm:
		values := []known{k}
		if p.op == opIn && k.list {
			values = k.elements
		}
		if slices.ContainsFunc(values, func(k known) bool { return k.kind >= ofTime }) {
			return nil, false, false
		}
	default:
		if k.kind == ofTime { // which no value of a document is
			return nil, true, true
		}
	}
	switch p.op {
	case opTruth:
		return []sortkey.Range{{Low: sortkey.Successor(sortkey.Bools.Low), High: sortkey.Bools.High}}, true, true
	case opHas:
		return []sortkey.Range{sortkey.Present}, true, true
	case opEqual:
		ranges, exact = k.equals()
	case opLess, opLessEqual, opGreater, opGreaterEqual:
		ranges, exact = k.compared(p.op)
	case opStarts:
		if exact = true; k.kind == ofText {
			var prefix sortkey.Range
			prefix, exact = sortkey.Prefixed(k.text)
			ranges = []sortkey.Range{prefix}
		}
	case opIn:
		if k.kind == ofComposite && !k.list {
			return nil, false, false
		}
		ranges, exact = k.isAmong()
	}
	return ranges, exact, true
}

// equals returns the ranges of the values that can equal the constant.
func (k *known) equals() (ranges []sortkey.Range, exact bool) {
	switch k.kind {
	case ofComposite:
		return []sortkey.Range{sortkey.Composites}, false
	case ofFailure, ofBeyond, ofOther:
		return nil, true
	}
	return []sortkey.Range{k.point()}, k.exact
}

// isAmong returns the ranges of the values that can equal an element of the constant.
func (k *known) isAmong() (ranges []sortkey.Range, exact bool) {
	exact = true
	ranges = k.ranges
	for i := range k.elements {
		switch element := &k.elements[i]; element.kind {
		case ofComposite:
			ranges, exact = append(slices.Clone(ranges), sortkey.Composites), false
		case ofNull, ofBool, ofNumber, ofText:
			exact = exact && element.exact
		}
	}
	return sortkey.Union(ranges), exact
}
