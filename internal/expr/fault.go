package expr

import (
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// explaining returns the environment in which parsed expressions keep their macros, so that parts of them can be written
// as text again.
var explaining = sync.OnceValues(func() (*cel.Env, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	return env.Extend(cel.EnableMacroCallTracking())
})

// Fault returns the top-level members of doc that the innermost part of an expression reads which has no value over doc,
// in the order in which they stand there. It returns nil where the expression has a value, and where the part reads no member by its name. It
// evaluates parts of the expression again and again, and is for what somebody reads.
func Fault(source string, doc *jsondoc.Tree) []string {
	env, err := explaining()
	if err != nil {
		return nil
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return nil
	}
	f := fault{doc: doc, info: parsed.NativeRep().SourceInfo()}
	e := parsed.NativeRep().Expr()
	if !f.fails(e) {
		return nil
	}
	for inner := f.failingPart(e); inner != nil; inner = f.failingPart(e) {
		e = inner
	}
	m := memberSet{variable: "doc"}
	m.visit(e, nil)
	return m.names
}

// fault looks for the part of an expression that has no value over a document.
type fault struct {
	doc  *jsondoc.Tree
	info *ast.SourceInfo
}

// program returns the program of a part; nil where it is none by itself, because of a comprehension's variable.
func (f *fault) program(e ast.Expr) *Program {
	source, err := cel.ExprToString(e, f.info)
	if err != nil {
		return nil
	}
	p, err := Compile(source)
	if err != nil {
		return nil
	}
	return p
}

// fails tells whether a part has no value.
func (f *fault) fails(e ast.Expr) bool {
	p := f.program(e)
	if p == nil {
		return false
	}
	_, err := p.Eval(f.doc)
	return err != nil
}

// failingPart returns the first part of e, one level down, that has no value; nil where all have one.
func (f *fault) failingPart(e ast.Expr) ast.Expr {
	parts := partsOf(e)
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Conditional {
		parts = f.takenBranch(parts)
	}
	for _, part := range parts {
		if f.fails(part) {
			return part
		}
	}
	return nil
}

// takenBranch returns the parts of a conditional that are evaluated: its condition, and the branch that it takes.
func (f *fault) takenBranch(parts []ast.Expr) []ast.Expr {
	condition := f.program(parts[0])
	if condition == nil {
		return nil
	}
	switch yes, err := condition.Matches(f.doc); {
	case err != nil:
		return parts[:1]
	case yes:
		return parts[:2]
	}
	return []ast.Expr{parts[0], parts[2]}
}

// partsOf returns the parts of an expression, one level down. Of a comprehension that is what it goes through.
func partsOf(e ast.Expr) (parts []ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			parts = append(parts, e.AsCall().Target())
		}
		return append(parts, e.AsCall().Args()...)
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			parts = append(parts, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
	case ast.ComprehensionKind:
		return []ast.Expr{e.AsComprehension().IterRange()}
	}
	return parts
}

// MembersNeeded returns the top-level members of doc that an expression reads and does not ask for by has(). If it reads
// doc as a whole, these are the members that it names besides. The error says what is wrong with the expression.
func MembersNeeded(source string) ([]string, error) {
	if _, err := Compile(source); err != nil {
		return nil, err
	}
	env, err := explaining()
	if err != nil {
		return nil, err
	}
	parsed, _ := env.Parse(source) // which Compile has done
	root := parsed.NativeRep().Expr()
	m := memberSet{variable: "doc"}
	m.visit(root, nil)
	var asked []string
	ast.PostOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() {
			asked = append(asked, e.AsSelect().FieldName())
		}
	}))
	return slices.DeleteFunc(m.names, func(name string) bool { return slices.Contains(asked, name) }), nil
}
