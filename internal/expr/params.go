package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/fanfold/fanfold/internal/decimal"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of the parameters of a query.
const (
	MaxParams      = 16 << 10 // of their text, in bytes
	MaxParamsDepth = 16       // objects and arrays inside each other
)

var errParams = errors.New("the parameters are no JSON object")

// ParseParams returns the parameters of a query, a JSON object. The error says what is wrong with them, or which bound they pass. The tree
// aliases text.
func ParseParams(text []byte) (*jsondoc.Tree, error) {
	if len(text) > MaxParams {
		return nil, fmt.Errorf("the parameters have %d bytes; at most %d are taken", len(text), MaxParams)
	}
	if err := jsondoc.Check(text, MaxParamsDepth); err != nil {
		return nil, err
	}
	t := jsondoc.MustParse(text)
	if t.Kind(jsondoc.Root) != jsondoc.Object {
		return nil, errParams
	}
	return t, checkNumbers(t, jsondoc.Root)
}

// checkNumbers returns an error where a value has a number that is not compared.
func checkNumbers(t *jsondoc.Tree, n jsondoc.Node) error {
	var room [40]byte
	if t.Kind(n) == jsondoc.Number {
		if _, ok := decimal.Scan(room[:0], t.Raw(n)); !ok {
			return fmt.Errorf("%s: %s", clip(string(t.Raw(n))), errBeyond)
		}
	}
	for child := t.First(n); child != jsondoc.None; child = t.Next(child) {
		if err := checkNumbers(t, child); err != nil {
			return err
		}
	}
	return nil
}

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
	if !slices.ContainsFunc(variables, isGiven) {
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
		case !ok || !isGiven(root) || len(path) > 0:
		case s.IsTestOnly():
			m.asked[s.FieldName()] = true
		default:
			m.use(s.FieldName(), s.Operand().ID())
		}
	case ast.CallKind:
		if root, path, ok := pathOf(e); ok && isGiven(root) && len(path) == 1 {
			m.use(path[0], e.AsCall().Args()[0].ID())
		}
	}
}

// isGiven tells whether a name is a variable whose value is given before there is a document: params of a query, auth of a rule. An expression sees one of
// them at most.
func isGiven(name string) bool {
	name = strings.TrimPrefix(name, ".")
	return name == "params" || name == "auth"
}

// use takes note of a member that a part selects.
func (m *neededMembers) use(name string, id int64) {
	if _, known := m.places[name]; !known {
		m.selected, m.places[name] = append(m.selected, name), id
	}
}
