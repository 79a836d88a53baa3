package expr

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

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
	return compileCached(&compiledOver, source, elementEnvironment, true)
}

// ElementMembersRead returns the top-level members of doc and the members of element that an expression over elements can look at. nil means
// any of them. The error says what is wrong with the expression.
func ElementMembersRead(source string) (doc, element []string, err error) {
	p, err := CompileOwnElement(source)
	if err != nil {
		return nil, nil, err
	}
	return slices.Clone(p.members), slices.Clone(p.element), nil
}

// Elements evaluates expressions over elements of one document. All evaluations share what they may cost.
type Elements struct{ e *evaluation }

// NewElements returns the evaluations over so many elements of a document.
func NewElements(doc *jsondoc.Tree, meta Meta, count int) *Elements {
	e := newEvaluation(doc)
	e.meta = &meta
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
	return p.text(x.e)
}

// Decide does what Program.Decide does, with the element at a node.
func (x *Elements) Decide(p *Program, n jsondoc.Node) (matches bool, err error) {
	defer recoverCost(&err)
	x.e.element = wrap(x.e, x.e.tree, n)
	return p.decide(x.e)
}

// ExplainElement does what Explain does, with the element at a node.
func (p *Program) ExplainElement(doc *jsondoc.Tree, meta Meta, n jsondoc.Node) string {
	e, err := p.explain(doc, func(e *evaluation) error {
		e.element, e.meta = wrap(e, doc, n), &meta
		_, err := p.text(e)
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

// Meta is what the value of a document's own sees as meta, beside doc and element.
type Meta struct {
	Created, Updated     time.Time
	CreatedBy, UpdatedBy string // "" is no value
}

// actor returns the value of a member of meta that names who wrote the document, and for nobody the error of a missing member.
func actor(name, by string) ref.Val {
	if by == "" {
		return types.WrapErr(errors.New(noSuchKey + ": " + name))
	}
	return types.String(by)
}

// errMeta says which members meta has.
var errMeta = errors.New("meta has createdAt, updatedAt, createdBy and updatedBy, each with its own name, and nothing else: write meta.createdAt, for one")

// metaVariables are the members of meta, as the texts that documents show in _meta.
var metaVariables = []cel.EnvOption{
	cel.Variable("doc", cel.DynType),
	cel.Variable(metaCreated, cel.StringType), cel.Variable(metaUpdated, cel.StringType),
	cel.Variable(metaCreator, cel.StringType), cel.Variable(metaWriter, cel.StringType),
}

// ownEnvironment returns the language with doc and meta, and exact numbers.
var ownEnvironment = sync.OnceValues(func() (*cel.Env, error) { return environmentOf(verbatim{}, metaVariables...) })

// ownElementEnvironment returns the language with doc, element and meta, and exact numbers.
var ownElementEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return environmentOf(verbatim{}, append([]cel.EnvOption{cel.Variable("element", cel.DynType)}, metaVariables...)...)
})

// CompileOwn returns the program of a document's own value: over doc, or over doc and meta.
func CompileOwn(source string) (*Program, error) {
	p, err := Compile(source)
	if err == nil {
		return p, nil
	}
	return compileWithMeta(&compiledOwn, source, ownEnvironment)
}

// CompileOwnElement does what CompileOwn does for a value beside an element, which the expression sees, too.
func CompileOwnElement(source string) (*Program, error) {
	p, err := CompileElement(source)
	if err == nil {
		return p, nil
	}
	return compileWithMeta(&compiledOwnOver, source, ownElementEnvironment)
}

// compileWithMeta returns the program of an expression that reads meta. One that does not compiles without it, and means what it meant before
// there was meta.
func compileWithMeta(programs *cache[Program], source string, environment func() (*cel.Env, error)) (*Program, error) {
	p, err := compileCached(programs, source, environment, true)
	return p, ofMeta(err)
}

// ofMeta returns errMeta where an error says that there is no meta, and the error otherwise.
func ofMeta(err error) error {
	if err != nil && strings.Contains(err.Error(), "there is no 'meta' here") {
		return errMeta
	}
	return err
}

// CheckOwn does what Check does for what CompileOwn takes.
func CheckOwn(source string) (parts int, err error) {
	if parts, err = Check(source); err == nil || checkText(source) != nil {
		return parts, err
	}
	parts, err = checkIn(&compiledOwn, source, ownEnvironment)
	return parts, ofMeta(err)
}

// CheckOwnElement does what Check does for what CompileOwnElement takes.
func CheckOwnElement(source string) (parts int, err error) {
	if parts, err = CheckElement(source); err == nil || checkText(source) != nil {
		return parts, err
	}
	parts, err = checkIn(&compiledOwnOver, source, ownElementEnvironment)
	return parts, ofMeta(err)
}

// ReadsMeta reports whether a document's own value reads meta.
func ReadsMeta(source string) bool {
	if _, err := Compile(source); err == nil {
		return false
	}
	_, err := CompileOwn(source)
	return err == nil
}

// EvalOwn does what Eval does, with meta.
func (p *Program) EvalOwn(doc *jsondoc.Tree, meta Meta) (text []byte, err error) {
	defer recoverCost(&err)
	e := newEvaluation(doc)
	e.meta = &meta
	return p.text(e)
}
