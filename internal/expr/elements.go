package expr

import (
	"slices"
	"sync"

	"cel.dev/cel-go/cel"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// elementUnits is what an evaluation over elements may cost for each of them, in units of cost, besides costLimit for all.
const elementUnits = 32

// elementEnvironment returns the language with doc and element as the variables, and exact numbers.
var elementEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return environmentOf(verbatim{}, cel.Variable("doc", cel.DynType), cel.Variable("element", cel.DynType))
})

// CompileElement returns the program of an expression over doc and element, an element of an array of the document.
func CompileElement(source string) (*Program, error) {
	if p := compiledOver.get(source); p != nil {
		return p, nil
	}
	env, err := elementEnvironment()
	if err != nil {
		return nil, err
	}
	p, err := compileIn(env, source, true, func(*cel.Ast) error { return nil })
	if err == nil {
		compiledOver.put(source, p)
	}
	return p, err
}

// ElementMembersRead returns the top-level members of doc and the members of element that an expression over elements can look at. nil means
// any of them. The error says what is wrong with the expression.
func ElementMembersRead(source string) (doc, element []string, err error) {
	p, err := CompileElement(source)
	if err != nil {
		return nil, nil, err
	}
	return slices.Clone(p.members), slices.Clone(p.element), nil
}

// Elements evaluates expressions over elements of one document. All evaluations share what they may cost.
type Elements struct{ e *evaluation }

// NewElements returns the evaluations over so many elements of a document.
func NewElements(doc *jsondoc.Tree, count int) *Elements {
	e := newEvaluation(doc)
	e.limit += elementUnits * count
	e.left = e.limit
	return &Elements{e}
}

// Exhausted reports whether an evaluation was to cost more than was left.
func (x *Elements) Exhausted() bool { return x.e.exhausted }

// Eval does what Program.Eval does, with the element at a node.
func (x *Elements) Eval(p *Program, n jsondoc.Node) (text []byte, err error) {
	defer recoverCost(&err)
	x.e.element = wrap(x.e, x.e.tree, n)
	out, err := p.eval(x.e)
	if err != nil {
		return nil, err
	}
	return x.e.appendJSON(nil, out, 0)
}

// Decide does what Program.Decide does, with the element at a node.
func (x *Elements) Decide(p *Program, n jsondoc.Node) (matches bool, err error) {
	defer recoverCost(&err)
	x.e.element = wrap(x.e, x.e.tree, n)
	return p.decide(x.e)
}

// ExplainElement does what Explain does, with the element at a node.
func (p *Program) ExplainElement(doc *jsondoc.Tree, n jsondoc.Node) string {
	e, err := p.explain(doc, func(e *evaluation) error {
		e.element = wrap(e, doc, n)
		out, err := p.eval(e)
		if err == nil {
			_, err = e.appendJSON(nil, out, 0)
		}
		return err
	})
	return e.reason(err)
}

// ExplainElementCondition does what ExplainCondition does, with the element at a node.
func (p *Program) ExplainElementCondition(doc *jsondoc.Tree, n jsondoc.Node) string {
	e, err := p.explain(doc, func(e *evaluation) error {
		e.element = wrap(e, doc, n)
		_, err := p.decide(e)
		return err
	})
	return e.reason(err)
}
