// Package expr evaluates the model's expressions: CEL (cel.dev) over JSON text, made deterministic. Maps iterate in
// document order; integers that fit int64 are int and other numbers double, and the two mix in arithmetic; a member
// that is returned as it is keeps its original bytes; an evaluation ends at a fixed cost. There is no clock and no
// randomness.
package expr

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Version names the implementation of the expression language. It is part of the fold version.
const Version = "cel-go v0.32.0"

// costLimit bounds one evaluation in CEL's cost units, about one an operation. A limit of time would not give the
// same outcome on every machine.
const costLimit = 200_000

// ErrNoValue is returned where an expression needs a member or an index that is not there. This is ordinary: the
// derived field is absent.
var ErrNoValue = errors.New("no value")

// environment returns CEL's standard library with doc as the one variable. It is built once, which takes
// milliseconds.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewCustomEnv(cel.StdLib(), ext.Strings(ext.StringsVersion(2)),
		cel.Variable("doc", cel.DynType), cel.CustomTypeAdapter(adapter{}))
})

// Program is a compiled expression. It may be used from many goroutines.
type Program struct {
	program cel.Program
	source  string
}

// Compile returns the program of an expression over doc. The error says what is wrong and where.
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

// check parses an expression and checks its types. The error says what is wrong and where.
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

// Eval returns the JSON text of the expression's value over doc. The error is ErrNoValue where a member or an index
// is missing, and otherwise says why there is no value.
func (p *Program) Eval(doc *jsondoc.Tree) ([]byte, error) {
	out, err := p.eval(doc)
	if err != nil {
		return nil, err
	}
	return appendJSON(nil, out, 0)
}

// Matches tells whether a condition is true of doc; it is not where a member or an index is missing. The error says
// why the condition cannot be evaluated, or that its value is neither true nor false.
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

// eval returns the expression's value. The error is ErrNoValue where a member or an index is missing.
func (p *Program) eval(doc *jsondoc.Tree) (ref.Val, error) {
	out, _, err := p.program.Eval(activation{doc: wrap(doc, jsondoc.Root)})
	if err == nil {
		return out, nil
	}
	// cel-go has no type for these two errors; its version is pinned, and tests hold the texts.
	text := err.Error()
	if strings.HasPrefix(text, "no such key") || strings.HasPrefix(text, "index out of bounds") {
		return nil, ErrNoValue
	}
	return nil, err
}

// activation binds doc and nothing else.
type activation struct{ doc ref.Val }

// ResolveName implements cel.Activation.
func (a activation) ResolveName(name string) (any, bool) { return a.doc, name == "doc" }

// Parent implements cel.Activation; there is none.
func (a activation) Parent() cel.Activation { return nil }

// refuseTimeZones returns an error where the expression names a time zone: zones are read from the machine's files.
func refuseTimeZones(root ast.Expr) error {
	var err error
	ast.PostOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		// Only accessors of timestamps and durations begin so, and a zone is their only argument.
		if name := e.AsCall().FunctionName(); strings.HasPrefix(name, "get") && len(e.AsCall().Args()) > 0 {
			err = fmt.Errorf("%s() with a time zone is not allowed: zones differ between machines; leave it out for UTC", name)
		}
	}))
	return err
}
