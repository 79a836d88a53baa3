// Package elements makes values of the elements of arrays that one document has: one beside each element, and totals over them. Its results
// depend on the document and the rule alone.
package elements

import (
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Most is how many elements of one document a rule goes through at most.
const Most = 1_000_000

// errTooMany says that a document has more elements.
var errTooMany = fmt.Errorf("the array has more than %d elements", Most)

// errCost says that the elements of a document cost too much together.
var errCost = errors.New("the expression costs too much over all elements of the document: it takes too many steps, or builds too much")

// Program is what a rule does with the elements of a document.
type Program struct {
	kind     model.RuleKind // of a total
	elements model.Path
	rest     model.Path // of a total: from an element to the number
	value    *expr.Program
	where    *expr.Program
}

// Compile returns the program of a rule that goes through elements.
func Compile(r *model.Rule) (p *Program, err error) {
	p = &Program{kind: r.Shows(), elements: r.Elements()}
	if !r.Each() {
		p.rest = r.Of[len(p.elements):]
	}
	if r.Value != "" {
		if p.value, err = expr.CompileOwnElement(r.Value); err != nil {
			return nil, err
		}
	}
	if r.Where != "" {
		p.where, err = expr.CompileElement(r.Where)
	}
	return p, err
}

// Find returns the elements of a document, in its order. The error says that there are too many.
func (p *Program) Find(doc *jsondoc.Tree) ([]jsondoc.Node, error) {
	nodes := p.elements.Nodes(nil, doc, jsondoc.Root, Most+1)
	if len(nodes) > Most {
		return nil, errTooMany
	}
	return nodes, nil
}

// Values returns the values beside the elements of a document, in its order, each nil for no value. The error is the first one besides a
// missing member. There are none where the elements are too many or cost too much together.
func (p *Program) Values(doc *jsondoc.Tree, meta expr.Meta) (values [][]byte, failed error) {
	nodes, err := p.Find(doc)
	if err != nil {
		return nil, err
	}
	values = make([][]byte, len(nodes))
	over := expr.NewElements(doc, meta, len(nodes))
	for i, n := range nodes {
		text, err := over.Eval(p.value, n)
		switch {
		case over.Exhausted():
			return nil, errCost
		case err == nil:
			values[i] = text
		case failed == nil && !errors.Is(err, expr.ErrNoValue):
			failed = err
		}
	}
	return values, failed
}

// Look looks for what a part of the rule finds, which "value", "where" or "of" names, in each element. If none has it, why says
// why the first one has not. matches reports whether a condition holds for one.
func (p *Program) Look(part string, doc *jsondoc.Tree, meta expr.Meta) (found, matches bool, why string) {
	nodes, err := p.Find(doc)
	if err != nil {
		return false, false, err.Error()
	}
	over := expr.NewElements(doc, meta, len(nodes))
	for _, n := range nodes {
		ok, holds := p.looks(over, part, doc, n)
		if found, matches = found || ok, matches || holds; found && matches || over.Exhausted() {
			break
		}
	}
	if !found {
		why = p.why(part, doc, meta, nodes)
	}
	return found, matches, why
}

// looks looks for what a part of the rule finds in one element.
func (p *Program) looks(over *expr.Elements, part string, doc *jsondoc.Tree, n jsondoc.Node) (found, matches bool) {
	switch part {
	case "value":
		_, err := over.Eval(p.value, n)
		return err == nil, true
	case "where":
		holds, err := over.Decide(p.where, n)
		return err == nil, holds
	}
	if p.kind == model.Count {
		return p.rest.Lookup(doc, n) != jsondoc.None, true
	}
	_, ok, _ := numberAt(doc, p.rest.Lookup(doc, n))
	return ok, true
}

// why returns why a part of the rule finds nothing in the first element of a document.
func (p *Program) why(part string, doc *jsondoc.Tree, meta expr.Meta, nodes []jsondoc.Node) string {
	if len(nodes) == 0 {
		return fmt.Sprintf("there is no element at %s", p.elements)
	}
	return p.WhyNot(part, doc, meta, nodes[0])
}

// WhyNot returns why a part of the rule finds nothing in an element, in words for people, and "" where it finds something.
func (p *Program) WhyNot(part string, doc *jsondoc.Tree, meta expr.Meta, n jsondoc.Node) string {
	switch part {
	case "value":
		return p.value.ExplainElement(doc, meta, n)
	case "where":
		return p.where.ExplainElementCondition(doc, n)
	}
	for _, step := range p.rest {
		at := n
		if n = doc.Member(n, step.Name); n == jsondoc.None {
			return doc.Missing(at, step.Name)
		}
	}
	switch _, ok, err := numberAt(doc, n); {
	case p.kind == model.Count || ok:
		return ""
	case err != nil:
		return fmt.Sprintf("%s cannot be read exactly: %v", doc.Pointer(n), err)
	}
	return doc.Pointer(n) + " is no number"
}
