package expr

import (
	"errors"
	"fmt"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/regex"
)

// refuseNever returns an error where a part of a condition has no value whatever the document is, with its place.
func (q *query) refuseNever() error {
	err := q.never(q.ast.Expr())
	if err == nil {
		err = q.unlike()
	}
	return placed(q.ast.SourceInfo(), err)
}

// never returns an error for the first part that reads no variable and has no value.
func (q *query) never(e ast.Expr) error {
	failed := error(nil)
	if len(q.freeNames(e)) == 0 {
		if _, failed = q.constant(e); failed == nil {
			return nil
		}
	} else if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "matches" {
		failed = q.badPattern(e.AsCall())
	}
	for _, part := range allParts(e) {
		if err := q.never(part); err != nil {
			return err
		}
	}
	return failed
}

// badPattern returns an error where the regular expression of a call of matches reads no variable and is none.
func (q *query) badPattern(c ast.CallExpr) error {
	last := c.Args()[len(c.Args())-1]
	if len(q.freeNames(last)) > 0 {
		return nil
	}
	v, err := q.constant(last)
	if text, ok := v.(types.String); err == nil && ok {
		if _, err = regex.Compile(string(text)); err != nil {
			err = &placedError{last.ID(), err}
		}
	}
	return err
}

// constant returns the value of an expression that reads no variable. The error says that it has none.
func (q *query) constant(e ast.Expr) (v ref.Val, err error) {
	p, err := q.plan(e)
	if err != nil {
		return nil, &placedError{e.ID(), err}
	}
	defer func() {
		if err != nil {
			err = &placedError{e.ID(), fmt.Errorf("this never has a value: %s", clip(err.Error()))}
		}
	}()
	defer recoverCost(&err)
	r := newRun(noParams)
	r.e.tree, r.e.doc = noParams, nil
	return p.eval(r.e)
}

// allParts returns the parts of an expression, and the parts of a comprehension that read none of its variables.
func allParts(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return []ast.Expr{c.IterRange(), c.LoopStep(), c.Result()}
	case ast.MapKind:
		var out []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			out = append(out, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return out
	}
	return partsOf(e)
}

// jsonNames are the variables that hold JSON: no member of them is a time, a duration or bytes.
var jsonNames = append([]string{"params", "auth", "old"}, FilterNames...)

// mixing are the operators that have no value of a JSON value and one of another type.
var mixing = []string{operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.Add, operators.Subtract}

// unlike returns an error for the first part that compares a JSON value with one of a type that JSON does not have.
func (q *query) unlike() (err error) {
	ast.PostOrderVisit(q.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if err != nil || e.Kind() != ast.CallKind || !slices.Contains(mixing, e.AsCall().FunctionName()) || len(e.AsCall().Args()) != 2 {
			return
		}
		args := e.AsCall().Args()
		for i, arg := range args {
			root, path, ok := pathOf(args[1-i])
			what := q.unordered(arg)
			if ok && len(path) > 0 && slices.Contains(jsonNames, root) && what != "" {
				err = &placedError{e.ID(), fmt.Errorf("this never has a value: no member of %s is %s", root, what)}
			}
		}
	}))
	return err
}

// unordered returns what an expression is whose type no JSON value has that has an order; "" for any other.
func (q *query) unordered(e ast.Expr) string {
	switch q.ast.GetType(e.ID()).Kind() {
	case types.TimestampKind:
		return "a timestamp: compare timestamp(...) of it, or texts"
	case types.DurationKind:
		return "a duration: compare duration(...) of it, or numbers"
	case types.BytesKind:
		return "bytes: compare texts"
	case types.NullTypeKind:
		return "more or less than null: compare by == or has()"
	}
	return ""
}

// pattern is a regular expression that is a parameter.
type pattern struct {
	path  []string
	place func(err error) error
}

// patterns returns the regular expressions that the expression takes from params.
func (q *query) patterns() (out []pattern) {
	ast.PostOrderVisit(q.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "matches" {
			return
		}
		args := e.AsCall().Args()
		last := args[len(args)-1]
		if root, path, ok := pathOf(last); ok && isGiven(root) && len(path) > 0 {
			out = append(out, pattern{path, func(err error) error { return placed(q.ast.SourceInfo(), &placedError{last.ID(), err}) }})
		}
	}))
	return out
}

// checkPatterns returns an error where a regular expression in params is none.
func checkPatterns(patterns []pattern, params *jsondoc.Tree) error {
	for _, p := range patterns {
		n := jsondoc.Root
		for _, name := range p.path {
			if n != jsondoc.None {
				n = params.Member(n, name)
			}
		}
		if n == jsondoc.None || params.Kind(n) != jsondoc.String {
			continue
		}
		if _, err := regex.Compile(params.Text(n)); err != nil {
			return p.place(err)
		}
	}
	return nil
}

// errNoOrder is the error of a comparison with a parameter that is neither more nor less than anything.
var errNoOrder = errors.New("this never has a value: only numbers, texts, true and false are more or less than others")

// checkConstants returns an error where a constant leaves a conjunct without a value for every document, with its place. A conjunct that is
// false by its constant alone is meant.
func (b *Bound) checkConstants() error {
	var found error
	for _, c := range b.conjuncts {
		p := c.part
		if p.constant == nil {
			continue
		}
		k := &b.run.constants[p.constant.index]
		if p.op == opConstant && k.kind == ofBool && !k.truth {
			return nil
		}
		if why := p.neverBy(k); why != nil && found == nil {
			found = placed(b.c.q.ast.SourceInfo(), &placedError{p.constant.expr.ID(), why})
		}
	}
	return found
}

// neverBy returns why a comparison with a constant has no value for any document, nil where it may have one.
func (p *part) neverBy(k *known) error {
	timed := p.operand != nil && (p.operand.root == rootCreated || p.operand.root == rootUpdated)
	switch {
	case k.kind == ofFailure && k.why != nil:
		return fmt.Errorf("this never has a value: %s", clip(k.why.Error()))
	case k.kind == ofBeyond && p.op >= opEqual:
		return errors.New(errBeyond)
	case p.op < opLess || p.op > opGreaterEqual:
		return nil
	case timed && k.kind != ofTime:
		return errors.New("this never has a value: a time compares with a timestamp alone")
	case !timed && (k.kind == ofNull || k.kind == ofComposite || k.kind == ofOther || k.kind == ofTime):
		return errNoOrder
	}
	return nil
}
