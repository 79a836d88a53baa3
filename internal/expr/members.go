package expr

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// MembersRead returns the top-level members of doc that the expression can look at; nil means any of them. The
// error says what is wrong with the expression.
func MembersRead(source string) ([]string, error) {
	p, err := Compile(source)
	if err != nil {
		return nil, err
	}
	return slices.Clone(p.members), nil
}

// membersRead returns the members of a variable's value that an expression can look at; nil means any of them.
func membersRead(root ast.Expr, variable string) []string {
	m := memberSet{variable: variable, names: []string{}}
	m.visit(root, nil)
	if m.all {
		return nil
	}
	return m.names
}

// memberSet collects the members that an expression selects from a variable.
type memberSet struct {
	variable string
	names    []string
	all      bool // the variable is used as a whole somewhere
}

// visit adds what e and everything in it selects. variables are the variables of the comprehensions around e: one
// with the variable's name hides it.
func (m *memberSet) visit(e ast.Expr, variables []string) {
	switch e.Kind() {
	case ast.IdentKind:
		m.all = m.all || m.is(e, variables)
	case ast.SelectKind:
		m.selected(e.AsSelect().Operand(), e.AsSelect().FieldName(), variables)
	case ast.CallKind:
		m.visitCall(e.AsCall(), variables)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			m.visit(element, variables)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			m.visit(entry.AsMapEntry().Key(), variables)
			m.visit(entry.AsMapEntry().Value(), variables)
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		m.visit(c.IterRange(), variables)
		m.visit(c.AccuInit(), variables)
		inner := slices.Concat(variables, []string{c.IterVar(), c.IterVar2(), c.AccuVar()})
		m.visit(c.LoopCondition(), inner)
		m.visit(c.LoopStep(), inner)
		m.visit(c.Result(), inner)
	}
}

// visitCall adds what a call selects; doc["name"] is one to the index operator.
func (m *memberSet) visitCall(c ast.CallExpr, variables []string) {
	if c.FunctionName() == operators.Index && c.Args()[1].Kind() == ast.LiteralKind {
		if name, ok := c.Args()[1].AsLiteral().Value().(string); ok {
			m.selected(c.Args()[0], name, variables)
			return
		}
	}
	if c.IsMemberFunction() {
		m.visit(c.Target(), variables)
	}
	for _, arg := range c.Args() {
		m.visit(arg, variables)
	}
}

// selected adds the selection of a member from an operand.
func (m *memberSet) selected(operand ast.Expr, name string, variables []string) {
	if !m.is(operand, variables) {
		m.visit(operand, variables)
		return
	}
	if !slices.Contains(m.names, name) {
		m.names = append(m.names, name)
	}
}

// is tells whether e is the variable.
func (m *memberSet) is(e ast.Expr, variables []string) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == m.variable && !slices.Contains(variables, m.variable)
}

// Selects reports whether an expression does nothing but select a member of doc by names, so that every kind of number gives the same value.
func Selects(source string) bool {
	env, err := environment()
	if err != nil {
		return false
	}
	parsed, issues := env.Parse(source)
	if issues.Err() != nil {
		return false
	}
	_, _, ok := pathOf(parsed.NativeRep().Expr())
	return ok
}
