package expr

import (
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// MembersRead returns the top-level members of doc that the expression can look at; nil means any of them. The
// error says what is wrong with the expression.
func MembersRead(source string) ([]string, error) {
	p, err := CompileOwn(source)
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

// AnyElement stands for an element of an array in a path of DocPaths.
const AnyElement = "0"

// PathsRead returns the places of a variable at which an expression over doc, element and meta looks, as far as their names are in its text. AnyElement stands for
// an element of an array. The place of the variable itself is an empty path. How many elements an array has is not counted as a look at them.
func PathsRead(source, name string) ([][]string, error) {
	env, err := environment()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(readable(source))
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	p := selected{from: name, whole: true, parts: true}
	p.visit(parsed.NativeRep().Expr(), nil)
	return p.all, nil
}

// DocPaths returns the places of doc at which the condition looks, as far as their names are in its text.
func (c *Condition) DocPaths() [][]string {
	p := selected{from: "doc"}
	p.visit(c.q.ast.Expr(), nil)
	return p.all
}

// selected collects the paths that an expression selects from a variable.
type selected struct {
	from  string
	whole bool // without the paths on the way to another one
	parts bool // without arrays whose elements alone are looked at
	all   [][]string
}

// variable is a variable of a comprehension, with the path of what it stands for where that is in the variable selected from.
type variable struct {
	name  string
	path  []string
	known bool
}

// visit collects the paths in e; the last of the variables with a name is the one that holds.
func (p *selected) visit(e ast.Expr, variables []variable) {
	if path, ok := p.placeOf(e, variables); ok {
		p.all = append(p.all, path)
		if p.whole && e.Kind() != ast.ComprehensionKind {
			p.visitIndexes(e, variables)
			return
		}
	}
	if e.Kind() != ast.ComprehensionKind {
		for _, part := range partsOf(e) {
			p.visit(part, variables)
		}
		return
	}
	c := e.AsComprehension()
	element := variable{name: c.IterVar()}
	element.path, element.known = p.placeOf(c.IterRange(), variables)
	if p.parts && element.known && c.IterRange().Kind() != ast.ComprehensionKind {
		p.visitIndexes(c.IterRange(), variables)
	} else {
		p.visit(c.IterRange(), variables)
	}
	p.visit(c.AccuInit(), variables)
	if element.known {
		element.path = append(slices.Clip(element.path), AnyElement)
	}
	inner := append(slices.Clone(variables), element, variable{name: c.AccuVar()})
	for _, part := range []ast.Expr{c.LoopCondition(), c.LoopStep(), c.Result()} {
		p.visit(part, inner)
	}
}

// visitIndexes collects the paths in the indexes of an expression that is a part of the variable.
func (p *selected) visitIndexes(e ast.Expr, variables []variable) {
	for {
		switch e.Kind() {
		case ast.SelectKind:
			e = e.AsSelect().Operand()
		case ast.CallKind:
			p.visit(e.AsCall().Args()[1], variables)
			e = e.AsCall().Args()[0]
		default:
			return
		}
	}
}

// placeOf returns the path of an expression that is a part of the variable.
func (p *selected) placeOf(e ast.Expr, variables []variable) (path []string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		name := strings.TrimPrefix(e.AsIdent(), ".")
		for _, v := range slices.Backward(variables) {
			if v.name == name {
				return v.path, v.known
			}
		}
		return nil, name == p.from
	case ast.SelectKind:
		path, ok = p.placeOf(e.AsSelect().Operand(), variables)
		return append(slices.Clip(path), e.AsSelect().FieldName()), ok
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() != operators.Index {
			return nil, false
		}
		token := AnyElement
		if c.Args()[1].Kind() == ast.LiteralKind {
			if name, isText := c.Args()[1].AsLiteral().(types.String); isText {
				token = string(name)
			}
		}
		path, ok = p.placeOf(c.Args()[0], variables)
		return append(slices.Clip(path), token), ok
	case ast.ComprehensionKind:
		if c := e.AsComprehension(); keepsElements(c) {
			return p.placeOf(c.IterRange(), variables)
		}
	}
	return nil, false
}

// keepsElements tells whether a comprehension is a filter: its result has elements of its range as they are.
func keepsElements(c ast.ComprehensionExpr) bool {
	if c.LoopStep().Kind() != ast.CallKind || c.LoopStep().AsCall().FunctionName() != operators.Conditional {
		return false
	}
	then := c.LoopStep().AsCall().Args()[1]
	if then.Kind() != ast.CallKind || then.AsCall().FunctionName() != operators.Add || len(then.AsCall().Args()) != 2 {
		return false
	}
	list := then.AsCall().Args()[1]
	if list.Kind() != ast.ListKind || len(list.AsList().Elements()) != 1 {
		return false
	}
	element := list.AsList().Elements()[0]
	return element.Kind() == ast.IdentKind && element.AsIdent() == c.IterVar()
}

// maxNamed is how many members of an expression named returns.
const maxNamed = 32

// Named returns the paths of the members of doc that the condition names, 32 at most.
func (c *Condition) Named() [][]string { return c.named }

// Named returns the paths of the members of doc that the term names, 32 at most.
func (t *Term) Named() [][]string { return t.named }

// named returns the paths of the members of doc that an expression names, by selection, index or has.
func named(root ast.Expr) (paths [][]string) {
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		of, path, ok := pathOf(e)
		if e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly() {
			of, path, ok = pathOf(e.AsSelect().Operand())
			path = append(path, e.AsSelect().FieldName())
		}
		begins := func(p []string) bool { return len(p) >= len(path) && slices.Equal(p[:len(path)], path) }
		if ok && of == "doc" && len(path) > 0 && len(paths) < maxNamed && !slices.ContainsFunc(paths, begins) {
			paths = append(paths, path)
		}
	}))
	return paths
}

// Place returns where the value of an expression stands in doc, as a JSON pointer. It is empty where the expression is more than a place.
func (p *Program) Place() string { return p.place }

// placeOf returns the place in doc that an expression names, as a JSON pointer, "" for one that is more, or doc itself.
func placeOf(e ast.Expr) string {
	var operand ast.Expr
	var token string
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return ""
		}
		operand, token = e.AsSelect().Operand(), e.AsSelect().FieldName()
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() != operators.Index || c.Args()[1].Kind() != ast.LiteralKind {
			return ""
		}
		operand = c.Args()[0]
		switch by := c.Args()[1].AsLiteral().Value().(type) {
		case string:
			token = by
		case int64:
			token = strconv.FormatInt(by, 10)
		default:
			return ""
		}
	default:
		return ""
	}
	token = "/" + jsondoc.PointerEscape(token)
	if operand.Kind() == ast.IdentKind && operand.AsIdent() == "doc" {
		return token
	}
	if outer := placeOf(operand); outer != "" {
		return outer + token
	}
	return ""
}
