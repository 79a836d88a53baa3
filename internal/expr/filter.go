package expr

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of a filter of the feed, which is judged for each change and each of its readers: it is smaller than a query's.
const (
	MaxFilter      = 1 << 10 // of its text, in bytes
	MaxFilterParts = 100
	filterCost     = 100_000
)

// FilterNames are the variables of a filter, besides params.
var FilterNames = []string{"doc", "previous", "change"}

// filterEnvironment returns the language with FilterNames and params as variables.
var filterEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	variables := []cel.EnvOption{cel.EnableMacroCallTracking(), cel.Variable("params", cel.DynType)}
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
	params  *jsondoc.Tree
	doc     [][]string // of a rule about a write: see DocPaths
}

// CompileFilter returns the filter that an expression makes with parameters, a JSON object, or nil for none. The error says what is wrong with
// the expression and in which column, or which bound it passes.
func CompileFilter(source string, params *jsondoc.Tree) (*Filter, error) {
	if len(source) > MaxFilter {
		return nil, fmt.Errorf("the expression has %d bytes; at most %d are taken", len(source), MaxFilter)
	}
	q, err := parseQuery(filterEnvironment, source)
	if err != nil {
		return nil, err
	}
	if n := ast.NodeCount(q.ast); n > MaxFilterParts {
		return nil, fmt.Errorf("the expression has %d parts, with what macros such as map stand for; at most %d are taken", n, MaxFilterParts)
	}
	root := q.ast.Expr()
	if q.neverTruth(root) {
		return nil, placed(q.ast.SourceInfo(), &placedError{root.ID(), errNeverTrue})
	}
	f := &Filter{reads: q.freeNames(root), params: params}
	if f.params == nil {
		f.params = noParams
	}
	if err := cmp.Or(q.refuseNever(), checkGiven(q.needed(root), f.params), checkPatterns(q.patterns(), f.params)); err != nil {
		return nil, err
	}
	if !f.Reads("previous") && !f.Reads("change") { // it is refused as a query's is
		c, err := q.condition(source)
		if err == nil {
			_, err = c.Bind(f.params)
		}
		if err != nil {
			return nil, err
		}
	}
	f.program, err = q.plan(root)
	return f, err
}

// errNeverTrue is the error of a filter that is no condition.
var errNeverTrue = errors.New("the expression is a value that is neither true nor false")

// Reads reports whether the filter may look at a variable.
func (f *Filter) Reads(name string) bool { return f.reads[name] || f.reads["."+name] }

// Judge says what the filter says of values, an object whose members are the variables. As in a query it has no value where a variable, a
// member or an index is missing, where types do not go together,
// or where it costs too much.
func (f *Filter) Judge(values *jsondoc.Tree) Verdict {
	e := newEvaluation(values)
	e.left, e.limit, e.members = filterCost, filterCost, true
	e.params = wrap(e, f.params, jsondoc.Root)
	matches, err := f.decide(e)
	if err != nil {
		return NoValue
	}
	return verdict(matches)
}

// decide tells whether the filter is true. The error says that it has no value.
func (f *Filter) decide(e *evaluation) (matches bool, err error) {
	defer recoverCost(&err)
	return f.program.decide(e)
}
