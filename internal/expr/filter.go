package expr

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of a filter, which anybody may send with each request: it is smaller than a model's expression, and costs less.
const (
	MaxFilter      = 1 << 10 // of its text, in bytes
	MaxFilterParts = 100
	filterCost     = 100_000
)

// FilterNames are the variables of a filter.
var FilterNames = []string{"doc", "previous", "change"}

// filterEnvironment returns the language with FilterNames as variables.
var filterEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	var variables []cel.EnvOption
	for _, name := range FilterNames {
		variables = append(variables, cel.Variable(name, cel.DynType))
	}
	return environmentOf(verbatim{}, variables...)
})

// Filter is a compiled condition over a document, what it was before, and the change that lies between. It may be used from
// many goroutines.
type Filter struct {
	program *Program
	reads   map[string]bool
}

// CompileFilter returns the filter that an expression makes. The error says what is wrong with the expression and where, or
// which bound it passes.
func CompileFilter(source string) (*Filter, error) {
	if len(source) > MaxFilter {
		return nil, fmt.Errorf("the expression has %d bytes; at most %d are taken", len(source), MaxFilter)
	}
	if err := checkText(source); err != nil {
		return nil, err
	}
	env, err := filterEnvironment()
	if err != nil {
		return nil, err
	}
	f := &Filter{reads: map[string]bool{}}
	f.program, err = compileIn(env, source, true, func(parsed *cel.Ast) error {
		if n := ast.NodeCount(parsed.NativeRep()); n > MaxFilterParts {
			return fmt.Errorf("the expression has %d parts, with what macros such as map stand for; at most %d are taken", n, MaxFilterParts)
		}
		ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			if e.Kind() == ast.IdentKind {
				f.reads[e.AsIdent()] = true
			}
		}))
		switch root := parsed.NativeRep().Expr(); root.Kind() {
		case ast.ListKind, ast.MapKind, ast.StructKind:
			return errNeverTrue
		case ast.LiteralKind:
			if _, ok := root.AsLiteral().(types.Bool); !ok {
				return errNeverTrue
			}
		}
		return checkParts(parsed)
	})
	return f, err
}

// errNeverTrue is the error of a filter that is no condition.
var errNeverTrue = errors.New("the expression is a value that is neither true nor false")

// Reads reports whether the filter may look at a variable.
func (f *Filter) Reads(name string) bool { return f.reads[name] }

// Matches tells whether the filter is true of values, an object whose members are the variables; it is not where a
// variable, a member or an index is missing. The error says why the filter cannot be evaluated, or that its value is
// neither true nor false.
func (f *Filter) Matches(values *jsondoc.Tree) (matches bool, err error) {
	defer recoverCost(&err)
	e := newEvaluation(values)
	e.left, e.limit, e.members = filterCost, filterCost, true
	out, err := f.program.eval(e)
	if errors.Is(err, ErrNoValue) || err != nil && strings.HasPrefix(err.Error(), "no such attribute") {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return truth("a filter", out)
}
