package expr

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// operation is what a part of a condition does.
type operation int

const (
	opUnknown  operation = iota // nothing that is evaluated directly
	opAnd                       // of its parts
	opOr                        // of its parts
	opNot                       // of its part
	opConstant                  // its constant, true or false
	opTruth                     // its operand, true or false
	opHas                       // whether its operand is present
	opEqual                     // from here on the operand beside the constant
	opNotEqual
	opLess
	opLessEqual
	opGreater
	opGreaterEqual
	opStarts
	opEnds
	opContains
	opIn     // whether the operand is in the constant, a list
	opHolds  // whether the constant is in the operand, an array or object
	opExists // whether its part is true of an element of the operand
)

// part is a piece of a condition that is evaluated directly on documents, without cel-go. It gives what cel-go gives.
type part struct {
	op       operation
	operand  *operand
	constant *given
	parts    []*part
}

// given is an expression without doc and meta, which is evaluated once.
type given struct {
	index   int // among the condition's
	expr    ast.Expr
	literal *known   // its value, where it is written in the expression
	path    []string // where it is found in params; nil for another expression
	program func() (*Program, error)
}

// plan prepares the evaluation of the constant.
func (c *given) plan(q *query) {
	c.program = q.planned(c.expr)
	if c.expr.Kind() == ast.LiteralKind && q.literals[c.expr.ID()] == nil {
		k := new(run).knownOf(c.expr.AsLiteral(), false)
		c.literal = &k
	} else if exact := q.literals[c.expr.ID()]; exact != nil {
		k := knownNode(exact, jsondoc.Root)
		c.literal = &k
	} else if root, path, ok := pathOf(c.expr); ok && isGiven(root) && len(path) > 0 {
		c.path = path
	}
}

// builder makes parts of an expression.
type builder struct {
	q         *query
	element   string // the variable of the exists around; "" outside
	constants []*given
}

// symmetric tells what a comparison is when its sides change places.
var symmetric = map[operation]operation{opEqual: opEqual, opNotEqual: opNotEqual, opLess: opGreater, opLessEqual: opGreaterEqual, opGreater: opLess, opGreaterEqual: opLessEqual}

// comparisons are the operators that compare an operand with a constant.
var comparisons = map[string]operation{operators.Equals: opEqual, operators.NotEquals: opNotEqual, operators.Less: opLess, operators.LessEquals: opLessEqual,
	operators.Greater: opGreater, operators.GreaterEquals: opGreaterEqual}

// textTests are the functions that compare a text with a constant.
var textTests = map[string]operation{"startsWith": opStarts, "endsWith": opEnds, "contains": opContains}

// part returns what an expression does.
func (b *builder) part(e ast.Expr) *part {
	if b.isConstant(e) {
		return &part{op: opConstant, constant: b.constantOf(e)}
	}
	switch e.Kind() {
	case ast.CallKind:
		return b.call(e.AsCall())
	case ast.SelectKind:
		if s := e.AsSelect(); s.IsTestOnly() {
			return b.has(s)
		}
	case ast.ComprehensionKind:
		return b.exists(e)
	}
	if o := b.operand(e); o != nil && o.root != rootTerm {
		return &part{op: opTruth, operand: o}
	}
	return &part{}
}

func (b *builder) call(c ast.CallExpr) *part {
	args := c.Args()
	switch name := c.FunctionName(); {
	case name == operators.LogicalAnd || name == operators.LogicalOr:
		p := &part{op: opAnd}
		if name == operators.LogicalOr {
			p.op = opOr
		}
		for _, arg := range args {
			if inner := b.part(arg); inner.op == p.op {
				p.parts = append(p.parts, inner.parts...)
			} else {
				p.parts = append(p.parts, inner)
			}
		}
		return p
	case name == operators.LogicalNot:
		return &part{op: opNot, parts: []*part{b.part(args[0])}}
	case comparisons[name] != opUnknown:
		if b.isConstant(args[1]) {
			return b.compare(comparisons[name], args[0], args[1])
		} else if b.isConstant(args[0]) {
			return b.compare(symmetric[comparisons[name]], args[1], args[0])
		}
	case name == operators.In:
		if b.isConstant(args[1]) {
			return b.compare(opIn, args[0], args[1])
		} else if b.isConstant(args[0]) {
			if o := b.operand(args[1]); o != nil && o.root <= rootElement {
				return &part{op: opHolds, operand: o, constant: b.constantOf(args[0])}
			}
		}
	case textTests[name] != opUnknown && c.IsMemberFunction() && len(args) == 1 && b.isConstant(args[0]):
		return b.compare(textTests[name], c.Target(), args[0])
	}
	return &part{}
}

// compare returns the comparison of an expression with a constant.
func (b *builder) compare(op operation, e, constant ast.Expr) *part {
	o := b.operand(e)
	if o == nil || op >= opStarts && op <= opContains && (o.root == rootCreated || o.root == rootUpdated) {
		return &part{}
	}
	return &part{op: op, operand: o, constant: b.constantOf(constant)}
}

// has returns the part that asks whether a member is present.
func (b *builder) has(s ast.SelectExpr) *part {
	root, path, ok := pathOf(s.Operand())
	if !ok {
		return &part{}
	}
	if o := b.member(root, append(path, s.FieldName())); o != nil {
		return &part{op: opHas, operand: o}
	}
	return &part{}
}

// exists returns the part that asks for an element for which something is true. The expression is a comprehension.
func (b *builder) exists(e ast.Expr) *part {
	macro, ok := b.q.ast.SourceInfo().GetMacroCall(e.ID())
	c := e.AsComprehension()
	if !ok || macro.AsCall().FunctionName() != operators.Exists || len(macro.AsCall().Args()) != 2 || b.element != "" || c.HasIterVar2() {
		return &part{}
	}
	o := b.operand(c.IterRange())
	if o == nil || o.root != rootDoc || c.LoopStep().Kind() != ast.CallKind || len(c.LoopStep().AsCall().Args()) != 2 {
		return &part{}
	}
	inner := builder{q: b.q, element: c.IterVar(), constants: b.constants}
	p := &part{op: opExists, operand: o, parts: []*part{inner.part(c.LoopStep().AsCall().Args()[1])}}
	b.constants = inner.constants
	return p
}

// operand returns what an expression reads; nil for what is no operand.
func (b *builder) operand(e ast.Expr) *operand {
	if root, path, ok := pathOf(e); ok {
		o := b.member(root, path)
		if o == nil || o.root != rootDoc || b.element != "" {
			return o
		}
		if _, said := o.name(""); said {
			return o
		}
	}
	free := b.q.freeNames(e)
	if len(free) != 1 || !free["doc"] || b.element == "doc" || !b.q.plainValues(e) {
		return nil
	}
	if t, err := CompileTerm(b.q.text(e)); err == nil {
		return &operand{root: rootTerm, term: t}
	}
	return nil
}

// member returns the operand that is a variable's member; nil for none.
func (b *builder) member(root string, path []string) *operand {
	switch {
	case root == b.element && b.element != "":
		return &operand{root: rootElement, path: path}
	case root == "doc" && len(path) > 0:
		return &operand{root: rootDoc, path: path}
	case root == metaCreated && len(path) == 0:
		return &operand{root: rootCreated}
	case root == metaUpdated && len(path) == 0:
		return &operand{root: rootUpdated}
	}
	return nil
}

// isConstant reports whether an expression reads no more than what is given before.
func (b *builder) isConstant(e ast.Expr) bool {
	for name := range b.q.freeNames(e) {
		if !isGiven(name) || b.element == name {
			return false
		}
	}
	return true
}

// constantOf returns a new constant.
func (b *builder) constantOf(e ast.Expr) *given {
	c := &given{index: len(b.constants), expr: e}
	b.constants = append(b.constants, c)
	return c
}

// plainValues reports whether all that an expression computes has a JSON form that compares as it does. A time has none: its text is
// another value.
func (q *query) plainValues(e ast.Expr) bool {
	plain := true
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch q.ast.GetType(e.ID()).Kind() {
		case types.TimestampKind, types.DurationKind, types.BytesKind, types.TypeKind:
			plain = false
		}
	}))
	return plain
}

// known reports whether a part is evaluated directly with all that is in it, terms aside.
func (p *part) known() bool {
	return p.op != opUnknown && !slices.ContainsFunc(p.parts, func(p *part) bool { return !p.known() })
}

// hasTerm reports whether a part reads the value of a term.
func (p *part) hasTerm() bool {
	return p.operand != nil && p.operand.root == rootTerm || slices.ContainsFunc(p.parts, (*part).hasTerm)
}
