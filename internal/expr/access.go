package expr

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// The rules of a model's access are small, as a filter of the feed is: each document that is shown or written is judged by one.
const (
	MaxRule      = MaxFilter
	MaxRuleParts = MaxFilterParts
)

// readingEnvironment returns the language of rules about reading: with doc and auth.
var readingEnvironment = sync.OnceValues(func() (*cel.Env, error) { return ruleEnvironment("doc") })

// ruleEnvironment returns the language with some documents as variables, and auth.
func ruleEnvironment(documents ...string) (*cel.Env, error) {
	variables := []cel.EnvOption{cel.EnableMacroCallTracking(), cel.Variable("auth", cel.DynType)}
	for _, name := range documents {
		variables = append(variables, cel.Variable(name, cel.DynType))
	}
	return environmentOf(verbatim{}, variables...)
}

// Reading is a rule about reading documents: a condition over doc and auth. It may be used from many goroutines.
type Reading struct {
	condition *Condition
	auth, doc [][]string
}

// CompileReading returns the rule that an expression makes. The error says what is wrong and in which column. Rules that were compiled lately
// stay compiled.
func CompileReading(source string) (*Reading, error) {
	if r := readings.get(source); r != nil {
		return r, nil
	}
	q, err := parseQuery(readingEnvironment, source)
	if err != nil {
		return nil, err
	}
	c, err := q.condition(source)
	if err != nil {
		return nil, err
	}
	r := &Reading{c, memberPaths(q.ast.Expr(), "auth"), memberPaths(q.ast.Expr(), RuleDoc)}
	readings.put(source, r)
	return r, nil
}

// Bind returns the condition for one sender, whose values auth has. A member that auth lacks leaves a document without a value. The error says that what
// does not depend on doc costs too much.
func (r *Reading) Bind(auth *jsondoc.Tree) (*Bound, error) { return r.condition.bind(auth) }

// AuthPaths returns the places of auth at which the rule looks, as far as their names are in its text.
func (r *Reading) AuthPaths() [][]string { return r.auth }

// Documents of a rule about a write: what stands in Writing's values.
const (
	RuleDoc = "doc" // the document as it is to be
	RuleOld = "old" // the document as it is
)

// CompileWriting returns the rule about a write that an expression makes over auth and some of RuleDoc and RuleOld. Filter.JudgeFor judges by it.
// The error says what is wrong and in which column. Rules that were compiled lately stay compiled.
func CompileWriting(source string, documents ...string) (*Filter, error) {
	name := strings.Join(documents, ",") + ":" + source
	if f := writings.get(name); f != nil {
		return f, nil
	}
	q, err := parseQuery(func() (*cel.Env, error) { return ruleEnvironment(documents...) }, source)
	if err != nil {
		return nil, err
	}
	root := q.ast.Expr()
	if q.neverTruth(root) {
		return nil, placed(q.ast.SourceInfo(), &placedError{root.ID(), errNeverTrue})
	}
	if err := q.refuseNever(); err != nil {
		return nil, err
	}
	f := &Filter{reads: q.freeNames(root), params: noParams, doc: memberPaths(root, RuleDoc)}
	if f.program, err = q.plan(root); err == nil {
		f.program.parts = ast.NodeCount(q.ast)
		writings.put(name, f)
	}
	return f, err
}

// JudgeFor does what Judge does for a rule about a write, and for one sender, whose values auth has.
func (f *Filter) JudgeFor(auth, values *jsondoc.Tree) Verdict {
	of := *f
	of.params = auth
	return of.Judge(values)
}

// Parts returns how many parts a rule about reading has, with what macros such as map stand for.
func (r *Reading) Parts() int { return ast.NodeCount(r.condition.q.ast) }

// Parts returns how many parts a rule about a write has, with what macros such as map stand for.
func (f *Filter) Parts() int { return f.program.parts }

// Explain returns why the rule has no value for one sender of a document, in words for people, and "" where it is true or false.
func (r *Reading) Explain(auth, doc *jsondoc.Tree) string {
	p, err := r.condition.q.plan(r.condition.q.ast.Expr())
	if err != nil {
		return err.Error()
	}
	return p.explainFor(auth, doc, false)
}

// Explain does what Reading.Explain does for a rule about a write. values has the documents that it sees.
func (f *Filter) Explain(auth, values *jsondoc.Tree) string {
	return f.program.explainFor(auth, values, true)
}

// explainFor returns why a condition has no value for one sender. members says that the variables are members of doc.
func (p *Program) explainFor(auth, doc *jsondoc.Tree, members bool) string {
	e, err := p.explain(doc, func(e *evaluation) error {
		e.left, e.limit, e.members = filterCost, filterCost, members
		e.params = wrap(e, auth, jsondoc.Root)
		_, err := p.decide(e)
		return err
	})
	return e.reason(err)
}

// DocPaths returns the places of a document at which a rule looks, as far as their names are in its text.
func (r *Reading) DocPaths() [][]string { return r.doc }

// DocPaths returns the places of RuleDoc at which a rule about a write looks, as far as their names are in its text.
func (f *Filter) DocPaths() [][]string { return f.doc }

// CheckRule returns an error where a new rule passes a bound of rules.
func CheckRule(source string, parts int) error {
	if len(source) > MaxRule {
		return fmt.Errorf("the expression has %d bytes; at most %d are taken", len(source), MaxRule)
	}
	if parts > MaxRuleParts {
		return fmt.Errorf("the expression has %d parts, with what macros such as map stand for; at most %d are taken", parts, MaxRuleParts)
	}
	return nil
}

// memberPaths returns the places of a variable at which an expression looks, as far as their names are in its text, in order.
func memberPaths(root ast.Expr, name string) [][]string {
	p := selected{from: name, whole: true}
	p.visit(root, nil)
	for i, path := range p.all {
		if at := slices.Index(path, AnyElement); at >= 0 {
			p.all[i] = path[:at]
		}
	}
	var paths [][]string
	for _, path := range slices.SortedFunc(slices.Values(p.all), slices.Compare) {
		if len(paths) == 0 || !slices.Equal(path, paths[len(paths)-1]) {
			paths = append(paths, path)
		}
	}
	return paths
}
