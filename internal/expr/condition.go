package expr

import (
	"cmp"
	"errors"
	"sync"
	"time"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/sortkey"
)

// Condition is the filter of a query, over doc, params and meta. It may be used from many goroutines.
type Condition struct {
	source    string
	q         *query
	conjuncts []*conjunct
	constants []*given
	needed    []needed // the members of params that must be given
	patterns  []pattern
	shape     string
	named     [][]string
}

// conjunct is one of the expressions that && joins.
type conjunct struct {
	part    *part
	source  string
	program func() (*Program, error) // of all of it
}

// CompileCondition returns the condition that an expression makes. The error says what is wrong and in which column, or which bound is
// passed. Conditions that were compiled lately are kept.
func CompileCondition(source string) (*Condition, error) {
	if c := conditions.get(source); c != nil {
		return c, nil
	}
	q, err := parseQuery(conditionEnvironment, source)
	if err != nil {
		return nil, err
	}
	c, err := q.condition(source)
	if err == nil {
		conditions.put(source, c)
	}
	return c, err
}

// condition returns the condition that the whole expression is, whose text is source. Errors are CompileCondition's.
func (q *query) condition(source string) (*Condition, error) {
	root := q.ast.Expr()
	c := &Condition{source: source, q: q, shape: q.shape(root), named: named(root)}
	b := &builder{q: q}
	for _, e := range conjunctsOf(nil, root) {
		if q.neverTruth(e) {
			return nil, placed(q.ast.SourceInfo(), &placedError{e.ID(), errNeverTrue})
		}
		c.conjuncts = append(c.conjuncts, &conjunct{part: b.part(e), source: q.text(e), program: q.planned(e)})
	}
	for _, constant := range b.constants {
		constant.plan(q)
	}
	c.constants = b.constants
	if err := q.refuseNever(); err != nil {
		return nil, err
	}
	c.needed, c.patterns = q.needed(root), q.patterns()
	return c, nil
}

// planned returns the function that returns the program of a part of the expression, which it plans when it is called first.
func (q *query) planned(e ast.Expr) func() (*Program, error) {
	return sync.OnceValues(func() (*Program, error) { return q.plan(e) })
}

// conjunctsOf appends the expressions that && joins in e.
func conjunctsOf(dst []ast.Expr, e ast.Expr) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.LogicalAnd {
		return append(dst, e)
	}
	for _, arg := range e.AsCall().Args() {
		dst = conjunctsOf(dst, arg)
	}
	return dst
}

// Facts are what a condition judges.
type Facts struct {
	Doc              *jsondoc.Tree // the embedded view
	Created, Updated time.Time
}

// Verdict is what a condition says of a document.
type Verdict int

// The verdicts. A document does not match if the condition has no value.
const (
	NoValue Verdict = iota
	False
	True
)

// Conjunct is one of the expressions that && joins in a condition.
type Conjunct struct {
	Source string // in one way for all that are written alike, for people
	// Tests are what an index can decide; nil where it can decide nothing. All are of one element of the array where Array is set.
	Tests []Test
	// Array is the path of the array of whose elements the tests are: "tags". It is "" for tests of the document. CEL goes through
	// the names of an object that stands in the array's place, so a use of an index must look at a document that has one there.
	Array string
	// Exact says that the conjunct is true if and only if all tests are, of one element where Array is set. Otherwise the tests are
	// true wherever the conjunct is.
	Exact bool
}

// Test is that the value of a term lies in ranges of keys.
type Test struct {
	Term   string          // "customerId", "a.b", "tags[]", "lines[].sku", "_meta.createdAt", or the text of a Term
	Ranges []sortkey.Range // sorted and disjoint; nothing matches without any
	Exact  bool            // the ranges hold exactly the values for which the test is true
}

// MaxCost is what a Bound and those made of it by Only may spend in all.
const MaxCost = 50_000_000

// ErrCost is the error of a condition that has spent more than MaxCost.
var ErrCost = errors.New("the filter costs more than 50000000 on all documents together")

// Bound is a condition with its parameters. It must not be used from several goroutines at a time.
type Bound struct {
	c         *Condition
	conjuncts []*boundConjunct
	run       *run
}

// boundConjunct is a conjunct with its constants.
type boundConjunct struct {
	*conjunct
	tests  Conjunct
	direct bool  // it is evaluated without cel-go
	term   *Term // the one term that its tests read; nil for none
}

// Bind evaluates what depends on params alone, a JSON object, or nil for none. The error names a member of params that was not
// given, or that leaves every document without a value, and its place. Or it says that this costs too much.
func (c *Condition) Bind(params *jsondoc.Tree) (*Bound, error) {
	if params == nil {
		params = noParams
	}
	if params.Kind(jsondoc.Root) != jsondoc.Object {
		return nil, errParams
	}
	if err := cmp.Or(checkGiven(c.needed, params), checkPatterns(c.patterns, params)); err != nil {
		return nil, err
	}
	b, err := c.bind(params)
	if err == nil {
		err = b.checkConstants()
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// bind does what Bind does, but for members of params that leave every document without a value.
func (c *Condition) bind(params *jsondoc.Tree) (*Bound, error) {
	b := &Bound{c: c, run: newRun(params)}
	if err := b.run.bind(c); err != nil {
		return nil, err
	}
	for _, each := range c.conjuncts {
		bound := &boundConjunct{conjunct: each}
		b.run.testsOf(bound)
		b.conjuncts = append(b.conjuncts, bound)
	}
	return b, nil
}

var noParams = jsondoc.MustParse([]byte("{}"))

// Conjuncts returns what && joins, in order. It must not be changed.
func (b *Bound) Conjuncts() []Conjunct {
	out := make([]Conjunct, len(b.conjuncts))
	for i, c := range b.conjuncts {
		out[i] = c.tests
	}
	return out
}

// Only returns the condition with some of its conjuncts alone, which judges as the whole does where the others are true. It spends what the
// whole may spend.
func (b *Bound) Only(indices []int) *Bound {
	out := &Bound{c: b.c, run: b.run}
	for _, i := range indices {
		out.conjuncts = append(out.conjuncts, b.conjuncts[i])
	}
	return out
}

// Cost returns what was spent on the documents that were judged so far, by the Bound and those made of it by Only.
func (b *Bound) Cost() int { return b.run.cost }

// Shape returns the condition's text with constants and parameters as ?.
func (b *Bound) Shape() string { return b.c.shape }

// Judge says whether the condition is true of a document. The error is ErrCost.
//
// Whether a document matches does not depend on which conjuncts an index decides. So conjuncts that tests stand for have costs of their own,
// and the others one limit for all of them.
func (b *Bound) Judge(f Facts) (Verdict, error) {
	r := b.run
	if r.cost > MaxCost {
		return NoValue, ErrCost
	}
	r.begin(f)
	verdict := True
	for _, c := range b.conjuncts {
		switch r.judge(c) {
		case False:
			return False, nil
		case NoValue:
			verdict = NoValue
		}
		if r.exhausted {
			return NoValue, nil
		}
	}
	return verdict, nil
}
