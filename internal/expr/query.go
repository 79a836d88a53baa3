package expr

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// The names of a document's times in expressions of queries.
const (
	metaCreated = "meta.createdAt"
	metaUpdated = "meta.updatedAt"
	// metaCreator and metaWriter are for the values of a document's own alone.
	metaCreator = "meta.createdBy"
	metaWriter  = "meta.updatedBy"
)

// queryCost is what an evaluation of an expression of a query may cost.
const queryCost = 100_000

// placedError is an error of a part of an expression.
type placedError struct {
	id  int64 // of the part
	err error
}

// Error returns what is wrong.
func (e *placedError) Error() string { return e.err.Error() }

// termEnvironment returns the language with the variables of a term: doc, and the times of the document.
var termEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return environmentOf(verbatim{}, cel.EnableMacroCallTracking(), cel.Variable("doc", cel.DynType),
		cel.Variable(metaCreated, cel.TimestampType), cel.Variable(metaUpdated, cel.TimestampType))
})

// conditionEnvironment returns the language with the variables of a condition: a term's variables, and params.
var conditionEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	env, err := termEnvironment()
	if err != nil {
		return nil, err
	}
	return env.Extend(cel.Variable("params", cel.DynType))
})

// query is a checked expression of a query.
type query struct {
	env      *cel.Env
	ast      *ast.AST
	literals map[int64]*jsondoc.Tree // what exactLiterals returns
}

// parseQuery checks an expression of a query. The error says what is wrong and in which column, or which bound is passed.
func parseQuery(environment func() (*cel.Env, error), source string) (*query, error) {
	if err := checkText(source); err != nil {
		return nil, err
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	source = readable(source)
	parsed, issues := env.Parse(source)
	if err := firstOf(issues); err != nil {
		return nil, err
	}
	info := parsed.NativeRep().SourceInfo()
	if err := checkParts(parsed); err != nil {
		return nil, placed(info, err)
	}
	checked, issues := env.Check(parsed)
	if err := firstOf(issues); err != nil {
		return nil, err
	}
	q := &query{env: env, ast: checked.NativeRep()}
	if err := refuseTimeZones(q.ast.Expr()); err != nil {
		return nil, placed(info, err)
	}
	if q.literals, err = exactLiterals(source, q.ast); err != nil {
		return nil, placed(info, err)
	}
	return q, nil
}

// firstOf returns the first of cel-go's errors, with its place and in plain words; nil for none.
func firstOf(issues *cel.Issues) error {
	all := issues.Errors()
	if len(all) == 0 {
		return nil
	}
	return atLocation(all[0].Location, clip(plain(all[0].Message)))
}

// placed returns an error with the place of the part that it is of, where it is of one.
func placed(info *ast.SourceInfo, err error) error {
	var of *placedError
	if !errors.As(err, &of) {
		return err
	}
	return atLocation(info.GetStartLocation(of.id), of.Error())
}

// LocatedError is an error of an expression whose place is known. Line and Column count from 1, Column in characters.
type LocatedError struct {
	Line, Column int
	Message      string
}

// Error returns what is wrong, with its place before it.
func (e *LocatedError) Error() string {
	if e.Line > 1 {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
	}
	return fmt.Sprintf("column %d: %s", e.Column, e.Message)
}

// After returns the error with its place in a longer text, in which prefix stands before the expression.
func (e *LocatedError) After(prefix string) *LocatedError {
	out := *e
	if e.Line == 1 {
		out.Column += utf8.RuneCountInString(prefix[strings.LastIndexByte(prefix, '\n')+1:])
	}
	out.Line += strings.Count(prefix, "\n")
	return &out
}

// atLocation returns an error with its place.
func atLocation(at common.Location, message string) error {
	return &LocatedError{Line: max(at.Line(), 1), Column: max(at.Column(), 0) + 1, Message: message}
}

// plan returns the program of a part of the expression.
func (q *query) plan(part ast.Expr) (*Program, error) {
	return planExact(q.env, ast.NewCheckedAST(ast.NewAST(part, q.ast.SourceInfo()), q.ast.TypeMap(), q.ast.ReferenceMap()), q.literals)
}

// neverTruth reports whether the value of an expression is known to be neither true nor false.
func (q *query) neverTruth(e ast.Expr) bool {
	switch q.ast.GetType(e.ID()).Kind() {
	case types.BoolKind:
		return false
	case types.DynKind, types.TypeParamKind:
	default:
		return true
	}
	switch e.Kind() {
	case ast.IdentKind:
		return slices.Contains(jsonNames, e.AsIdent())
	case ast.CallKind:
		switch c := e.AsCall(); c.FunctionName() {
		case operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate:
			return true
		case operators.Conditional:
			return q.neverTruth(c.Args()[1]) && q.neverTruth(c.Args()[2])
		}
	}
	return false
}

// names collects the variables that an expression reads.
type names struct {
	q     *query
	of    map[string]bool
	bound []string // the variables of the comprehensions around
}

// freeNames returns the variables that a part of the expression reads and does not bind.
func (q *query) freeNames(e ast.Expr) map[string]bool {
	n := names{q: q, of: map[string]bool{}}
	n.visit(e)
	return n.of
}

func (n *names) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.IdentKind:
		name := e.AsIdent()
		for _, b := range n.bound {
			if b == name {
				return
			}
		}
		if n.q.ast.GetType(e.ID()).Kind() != types.TypeKind { // such as int, which is a type's name
			n.of[name] = true
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		n.visit(c.IterRange())
		n.visit(c.AccuInit())
		outer := len(n.bound)
		n.bound = append(n.bound, c.AccuVar(), c.IterVar(), c.IterVar2())
		n.visit(c.LoopCondition())
		n.visit(c.LoopStep())
		n.visit(c.Result())
		n.bound = n.bound[:outer]
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			n.visit(entry.AsMapEntry().Key())
			n.visit(entry.AsMapEntry().Value())
		}
	default:
		for _, part := range partsOf(e) {
			n.visit(part)
		}
	}
}

// The messages of cel-go's parser and checker, as far as those who write expressions meet them. Its version is pinned.
var (
	unexpected   = regexp.MustCompile(`^Syntax error: (?:mismatched|extraneous) input '((?s:.*))' expecting .*$`)
	unviable     = regexp.MustCompile(`^Syntax error: no viable alternative at input '((?s:.*))'$`)
	unrecognized = regexp.MustCompile(`^Syntax error: token recognition error at: '((?s:.*))'$`)
	absent       = regexp.MustCompile(`^Syntax error: missing (.*) at '((?s:.*))'$`)
	undeclared   = regexp.MustCompile(`^undeclared reference to '((?s:.*?))'`)
	overload     = regexp.MustCompile(`^found no matching overload for '(.*)' applied to '\(?(.*?)\)?'$`)
	noRange      = regexp.MustCompile(`^expression of type '(.*)' cannot be range of a comprehension`)
	otherType    = regexp.MustCompile(`^expected type '(.*)' but found '(.*)'$`)
	noSelection  = regexp.MustCompile(`^type '(.*)' does not support field selection$`)
	takenName    = regexp.MustCompile(`^(?:Syntax error: .*)?res\w+d identifier: (.*)$`)
)

// plain returns what is wrong with an expression in words for who wrote it, not for who wrote the parser.
func plain(message string) string {
	const end = "<EOF>"
	of := func(pattern *regexp.Regexp) []string { return pattern.FindStringSubmatch(message) }
	switch {
	case of(unexpected) != nil:
		if found := of(unexpected)[1]; found != end {
			return "'" + found + "' does not belong here"
		}
		return "the expression ends too early: something is missing at its end"
	case of(unviable) != nil:
		if found := of(unviable)[1]; !strings.HasSuffix(found, end) {
			return "something else must follow '" + found + "'"
		}
		return "the expression ends too early: something is missing at its end"
	case of(unrecognized) != nil:
		if found := of(unrecognized)[1]; !strings.HasPrefix(found, `"`) && !strings.HasPrefix(found, "'") {
			return "'" + found + "' is nothing that an expression has"
		}
		return "the text that begins here has no end"
	case of(absent) != nil:
		return of(absent)[1] + " is missing"
	case of(undeclared) != nil:
		return undeclaredName(of(undeclared)[1])
	case of(overload) != nil:
		return "'" + operatorOf(of(overload)[1]) + "' does not take " + strings.ReplaceAll(of(overload)[2], ", ", " and ")
	case of(noRange) != nil:
		return "only a list or an object has elements to go through, not " + of(noRange)[1]
	case of(otherType) != nil:
		return "must be " + of(otherType)[1] + ", not " + of(otherType)[2]
	case of(noSelection) != nil:
		return of(noSelection)[1] + " has no members"
	case of(takenName) != nil:
		return "'" + of(takenName)[1] + "' cannot be a name"
	}
	return strings.TrimPrefix(message, "Syntax error: ")
}

// undeclaredName says that an expression has a name that is none. One that is no variable anywhere may be a member's.
func undeclaredName(name string) string {
	said := "there is no '" + name + "' here"
	if !slices.Contains([]string{"doc", "old", "meta", "element", "params", "auth", "facts"}, name) {
		said += "; a member is named with its document, such as doc." + name
	}
	return said
}

// operatorOf returns an operator as expressions have it, for the name that cel-go has for it: + for _+_.
func operatorOf(function string) string {
	if symbol, known := operators.FindReverse(function); known && symbol != "" {
		return symbol
	}
	return strings.Trim(function, "_@")
}
