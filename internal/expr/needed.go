package expr

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// needed is a member of params that must be given.
type needed struct {
	name    string
	missing error // for where it is not, with the place of its first use
}

// neededMembers collects the members of params that an expression selects, and those that it asks for by has().
type neededMembers struct {
	selected []string
	places   map[string]int64 // the part that selects it first
	asked    map[string]bool
}

// needed returns the members of params that an expression selects and does not ask for by has(), in the order of their use.
func (q *query) needed(e ast.Expr) (out []needed) {
	m := neededMembers{places: map[string]int64{}, asked: map[string]bool{}}
	m.visit(e, nil)
	for _, name := range m.selected {
		if !m.asked[name] {
			missing := placed(q.ast.SourceInfo(), &placedError{m.places[name], fmt.Errorf("params.%s is not given", clip(name))})
			out = append(out, needed{name, missing})
		}
	}
	return out
}

// checkGiven returns an error where a member of params is needed and not given.
func checkGiven(members []needed, params *jsondoc.Tree) error {
	for _, n := range members {
		if params.Member(jsondoc.Root, n.name) == jsondoc.None {
			return n.missing
		}
	}
	return nil
}

// visit looks at an expression, in which the variables of the comprehensions around hide others.
func (m *neededMembers) visit(e ast.Expr, variables []string) {
	if !slices.Contains(variables, "params") {
		m.note(e)
	}
	if e.Kind() == ast.ComprehensionKind {
		c := e.AsComprehension()
		m.visit(c.IterRange(), variables)
		m.visit(c.AccuInit(), variables)
		inner := append(slices.Clone(variables), c.IterVar(), c.AccuVar())
		m.visit(c.LoopCondition(), inner)
		m.visit(c.LoopStep(), inner)
		m.visit(c.Result(), inner)
		return
	}
	for _, part := range partsOf(e) {
		m.visit(part, variables)
	}
}

// note takes note of an expression that is a member of params.
func (m *neededMembers) note(e ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind:
		s := e.AsSelect()
		switch root, path, ok := pathOf(s.Operand()); {
		case !ok || !isParams(root) || len(path) > 0:
		case s.IsTestOnly():
			m.asked[s.FieldName()] = true
		default:
			m.use(s.FieldName(), s.Operand().ID())
		}
	case ast.CallKind:
		if root, path, ok := pathOf(e); ok && isParams(root) && len(path) == 1 {
			m.use(path[0], e.AsCall().Args()[0].ID())
		}
	}
}

// isParams tells whether a name names the variable.
func isParams(name string) bool { return strings.TrimPrefix(name, ".") == "params" }

// use takes note of a member that a part selects.
func (m *neededMembers) use(name string, id int64) {
	if _, known := m.places[name]; !known {
		m.selected, m.places[name] = append(m.selected, name), id
	}
}
