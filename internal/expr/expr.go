// Package expr evaluates the model's expressions: CEL (cel.dev) over JSON text, made
// deterministic. Maps iterate in document order, integers that fit int64 are int and other
// numbers double, the two mix in arithmetic, a selected member is returned as its original
// bytes, and an evaluation ends at a fixed cost. There is no clock and no randomness.
package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Version names the expression language's implementation; it is part of the fold version.
const Version = "cel-go v0.32.0"

// costLimit bounds one evaluation, in CEL's own cost units (about one an operation), so that
// the outcome is the same on every machine.
const costLimit = 200_000

// ErrNoValue is returned where the expression met a missing member or index: the derived
// field is absent, and that is ordinary.
var ErrNoValue = errors.New("no value")

// environment is made once: building the standard library takes milliseconds.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewCustomEnv(cel.StdLib(), ext.Strings(ext.StringsVersion(2)), cel.Variable("doc", cel.DynType), cel.CustomTypeAdapter(adapter{}))
})

// Program is a compiled expression. It may be used from many goroutines.
type Program struct {
	program cel.Program
	source  string
}

// Compile checks and compiles an expression over doc. The error says what is wrong and where.
func Compile(source string) (*Program, error) {
	checked, err := check(source)
	if err != nil {
		return nil, err
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	raw := map[int64]bool{}
	markResults(checked.NativeRep().Expr(), raw)
	program, err := env.Program(checked, cel.CostLimit(costLimit), cel.CustomDecorator(decorator(raw)))
	if err != nil {
		return nil, fmt.Errorf("cannot be planned: %w", err)
	}
	return &Program{program: program, source: source}, nil
}

func check(source string) (*cel.Ast, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	checked, issues := env.Compile(source)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("not a valid CEL expression: %s", strings.TrimSpace(err.Error()))
	}
	return checked, refuseTimeZones(checked.NativeRep().Expr())
}

// Reads returns the top-level members of doc the expression can look at, nil for any of them.
// The error says what is wrong with the expression.
func Reads(source string) ([]string, error) {
	checked, err := check(source)
	if err != nil {
		return nil, err
	}
	r := reads{}
	r.visit(checked.NativeRep().Expr(), nil)
	if r.all {
		return nil, nil
	}
	if r.names == nil {
		return []string{}, nil
	}
	return r.names, nil
}

// Eval returns the value's JSON text. The error is ErrNoValue where a member or index was
// missing, and otherwise says why there is no value.
func (p *Program) Eval(doc *jsondoc.Tree) ([]byte, error) {
	out, err := p.eval(doc)
	if err != nil {
		return nil, err
	}
	return appendJSON(nil, out, 0)
}

// Matches evaluates a condition: anything but true, a missing member included, is false.
// The error says why the condition could not be evaluated; a missing member is no error.
func (p *Program) Matches(doc *jsondoc.Tree) (bool, error) {
	out, err := p.eval(doc)
	if errors.Is(err, ErrNoValue) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	b, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("a condition must be true or false, not %s", out.Type().TypeName())
	}
	return b, nil
}

func (p *Program) eval(doc *jsondoc.Tree) (ref.Val, error) {
	out, _, err := p.program.Eval(activation{doc: wrap(doc, jsondoc.Root)})
	if err == nil {
		return out, nil
	}
	// cel-go gives these two no type of their own; its version is pinned, and tests hold the texts.
	if text := err.Error(); strings.HasPrefix(text, "no such key") || strings.HasPrefix(text, "index out of bounds") {
		return nil, ErrNoValue
	}
	return nil, err
}

// activation binds doc and nothing else.
type activation struct{ doc ref.Val }

func (a activation) ResolveName(name string) (any, bool) { return a.doc, name == "doc" }
func (a activation) Parent() cel.Activation              { return nil }

// refuseTimeZones keeps the machine's time zone files out of the fold.
func refuseTimeZones(root ast.Expr) error {
	var err error
	ast.PostOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind && strings.HasPrefix(e.AsCall().FunctionName(), "get") && len(e.AsCall().Args()) > 0 {
			err = fmt.Errorf("%s() with a time zone is not allowed: zones differ between machines; leave it out for UTC", e.AsCall().FunctionName())
		}
	}))
	return err
}

// reads collects the members selected from doc.
type reads struct {
	names []string
	all   bool
}

// visit walks e; shadows are comprehension variables called doc around it.
func (r *reads) visit(e ast.Expr, shadows []string) {
	switch e.Kind() {
	case ast.IdentKind:
		if e.AsIdent() == "doc" && !slices.Contains(shadows, "doc") {
			r.all = true
		}
	case ast.SelectKind:
		r.selected(e.AsSelect().Operand(), e.AsSelect().FieldName(), shadows)
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() == operators.Index && c.Args()[1].Kind() == ast.LiteralKind {
			if name, ok := c.Args()[1].AsLiteral().Value().(string); ok {
				r.selected(c.Args()[0], name, shadows)
				return
			}
		}
		if c.IsMemberFunction() {
			r.visit(c.Target(), shadows)
		}
		for _, a := range c.Args() {
			r.visit(a, shadows)
		}
	case ast.ListKind:
		for _, el := range e.AsList().Elements() {
			r.visit(el, shadows)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.visit(entry.AsMapEntry().Key(), shadows)
			r.visit(entry.AsMapEntry().Value(), shadows)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		r.visit(c.IterRange(), shadows)
		r.visit(c.AccuInit(), shadows)
		inner := append(append([]string{}, shadows...), c.IterVar(), c.IterVar2(), c.AccuVar())
		r.visit(c.LoopCondition(), inner)
		r.visit(c.LoopStep(), inner)
		r.visit(c.Result(), inner)
	}
}

func (r *reads) selected(operand ast.Expr, name string, shadows []string) {
	if operand.Kind() == ast.IdentKind && operand.AsIdent() == "doc" && !slices.Contains(shadows, "doc") {
		if !slices.Contains(r.names, name) {
			r.names = append(r.names, name)
		}
		return
	}
	r.visit(operand, shadows)
}
