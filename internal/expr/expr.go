// Package expr evaluates the model's expressions: CEL (cel.dev) over JSON text, made deterministic. Maps iterate in
// document order. Numbers are exact decimals. A member that is returned as it is keeps its original bytes. An evaluation ends at a fixed cost. There is no clock and no
// randomness.
package expr

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Version names what expressions give: the implementation of the language, and what evaluations cost. It belongs to a version of
// the fold: where it changes, evaluations for earlier versions must go on giving what they gave.
const Version = "cel-go v0.32.0, cost 2, decimals 1"

// ErrNoValue is returned where an expression needs a member or an index that is not there. This is ordinary: the
// derived field is absent.
var ErrNoValue = errors.New("no value")

// environment returns the language with doc as the one variable. It is built once, which takes milliseconds.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return environmentOf(adapter{}, cel.Variable("doc", cel.DynType))
})

// exactEnvironment does what environment does for expressions whose numbers are exact.
var exactEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return environmentOf(verbatim{}, cel.Variable("doc", cel.DynType))
})

// environmentOf returns CEL's standard library, with lower and upper, and further options. values gives cel-go the values that it
// asks for.
func environmentOf(values types.Adapter, options ...cel.EnvOption) (*cel.Env, error) {
	return cel.NewCustomEnv(append([]cel.EnvOption{cel.StdLib(), ext.Strings(ext.StringsVersion(2), ext.StringsMaxPrecision(maxFormatDigits)),
		casing("lower", toLower), casing("upper", toUpper), cel.CustomTypeAdapter(values)}, append(arithmeticLibrary(), options...)...)...)
}

// Program is a compiled expression. It may be used from many goroutines.
type Program struct {
	program cel.Program
	members []string // what MembersRead returns
	element []string // what ElementMembersRead returns, of an expression over elements
	place   string   // what Place returns
	parts   int      // of the expression, with what macros stand for
	exact   bool     // numbers compare by their exact values
}

// Compile returns the program of an expression over doc, whose numbers are exact decimals. The error says what is wrong and where. Programs
// that were compiled lately are kept.
func Compile(source string) (*Program, error) {
	return compileCached(&compiled, source, exactEnvironment, true)
}

// CompileBinary does what Compile does for an expression whose numbers compare and are computed as CEL's do: as int64 and float64. It is for
// values that were stored before there were exact numbers.
func CompileBinary(source string) (*Program, error) {
	return compileCached(&compiledBinary, source, environment, false)
}

// compileCached returns the program that a cache has of an expression over the variables of an environment, or compiles it for the cache.
// exact says how its numbers compare.
func compileCached(programs *cache[Program], source string, environment func() (*cel.Env, error), exact bool) (*Program, error) {
	if p := programs.get(source); p != nil {
		return p, nil
	}
	p, err := compile(environment, source, exact, func(*cel.Ast) error { return nil })
	if err == nil {
		programs.put(source, p)
	}
	return p, err
}

// compile returns the program of an expression over the variables of an environment. exact says whether its numbers are exact decimals. bounds
// looks at the parsed expression before its types are checked, and its error is returned.
func compile(environment func() (*cel.Env, error), source string, exact bool, bounds func(*cel.Ast) error) (*Program, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	source = readable(source)
	parsed, issues := env.Parse(source)
	if err := firstOf(issues); err != nil {
		return nil, fmt.Errorf("not a valid CEL expression: %w", err)
	}
	if err := bounds(parsed); err != nil {
		return nil, err
	}
	checked, issues := env.Check(parsed)
	if err := firstOf(issues); err != nil {
		return nil, fmt.Errorf("not a valid CEL expression: %w", err)
	}
	root := checked.NativeRep().Expr()
	if err := refuseTimeZones(root); err != nil {
		return nil, err
	}
	if exact {
		literals, err := exactLiterals(source, checked.NativeRep())
		if err != nil {
			return nil, err
		}
		return planExact(env, checked.NativeRep(), literals)
	}
	raw := map[int64]bool{}
	markResults(root, raw)
	program, err := env.Program(checked, cel.CustomDecoratorV2(decorator(raw, nil)))
	if err != nil {
		return nil, fmt.Errorf("cannot be planned: %w", err)
	}
	return &Program{program: program, members: membersRead(root, "doc"), place: placeOf(root), parts: ast.NodeCount(checked.NativeRep())}, nil
}

// Eval returns the JSON text of the expression's value over doc, of at most MaxResult bytes. The error is ErrNoValue
// where a member or an index is missing, and otherwise says why there is no value: that it costs too much, for one.
func (p *Program) Eval(doc *jsondoc.Tree) (text []byte, err error) {
	defer recoverCost(&err)
	return p.text(newEvaluation(doc))
}

// text does what Eval does, and may spend more than there is.
func (p *Program) text(e *evaluation) ([]byte, error) {
	out, err := p.eval(e)
	if err != nil {
		return nil, err
	}
	return e.appendJSON(nil, out, 0)
}

// Matches tells whether a condition is true of doc; it is not where a member or an index is missing. The error says
// why the condition cannot be evaluated, or that its value is neither true nor false.
func (p *Program) Matches(doc *jsondoc.Tree) (matches bool, err error) {
	if matches, err = p.Decide(doc); errors.Is(err, ErrNoValue) {
		return false, nil
	}
	return matches, err
}

// Decide tells whether a condition is true of doc. The error is ErrNoValue where a member or an index is missing, and
// otherwise one of Matches.
func (p *Program) Decide(doc *jsondoc.Tree) (matches bool, err error) {
	defer recoverCost(&err)
	return p.decide(newEvaluation(doc))
}

// decide does what Decide does, and may spend more than there is.
func (p *Program) decide(e *evaluation) (bool, error) {
	out, err := p.eval(e)
	if err != nil {
		return false, err
	}
	return truth("a condition", out)
}

// truth returns whether a value is true. The error says that it is neither true nor false; what names the expression in it.
func truth(what string, value ref.Val) (bool, error) {
	b, ok := normalize(value).(types.Bool)
	if !ok {
		return false, fmt.Errorf("%s must be true or false, not %s", what, value.Type().TypeName())
	}
	return bool(b), nil
}

// eval returns the expression's value. The error is ErrNoValue where a member or an index is missing.
func (p *Program) eval(e *evaluation) (ref.Val, error) {
	e.exact = p.exact
	out, _, err := p.program.Eval(e)
	if err == nil {
		return out, nil
	}
	// cel-go has no type for these two errors; its version is pinned, and tests hold the texts.
	text := err.Error()
	if strings.HasPrefix(text, noSuchKey) || strings.HasPrefix(text, outOfBounds) {
		if e.explained != nil {
			e.explained.text = text
		}
		return nil, ErrNoValue
	}
	return nil, errors.New(clip(text))
}

// refuseTimeZones returns an error where the expression names a time zone: zones are read from the machine's files.
func refuseTimeZones(root ast.Expr) error {
	var err error
	ast.PostOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		// Only accessors of timestamps and durations begin so, and a zone is their only argument.
		if name := e.AsCall().FunctionName(); strings.HasPrefix(name, "get") && len(e.AsCall().Args()) > 0 {
			err = &placedError{e.ID(), fmt.Errorf("%s() with a time zone is not allowed: zones differ between machines; leave it out for UTC", name)}
		}
	}))
	return err
}
