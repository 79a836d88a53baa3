package expr

import (
	"strings"
	"unicode"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Term is an expression over doc, or over the times of the document, by whose value documents are sorted, grouped or indexed. It may be used from many goroutines.
type Term struct {
	program  *Program
	text     string
	path     string
	timed    bool
	named    [][]string
	asUnique bool
}

// CompileTerm returns the term of an expression over doc, meta.createdAt and meta.updatedAt. Numbers compare by their exact values,
// as in a condition. The error says what is wrong and where, or which bound is passed. Terms that were compiled lately are kept.
func CompileTerm(source string) (*Term, error) {
	if t := terms.get(source); t != nil {
		return t, nil
	}
	t, err := compileTerm(source)
	if err == nil {
		terms.put(source, t)
	}
	return t, err
}

func compileTerm(source string) (*Term, error) {
	q, err := parseQuery(termEnvironment, source)
	if err != nil {
		return nil, err
	}
	root := q.ast.Expr()
	free := q.freeNames(root)
	timed := free[metaCreated] || free[metaUpdated]
	if !timed && !free["doc"] && !free[".doc"] {
		return nil, atLocation(common.NewLocation(1, 0), "the expression does not read doc")
	}
	t := &Term{text: q.text(root), timed: timed, named: named(root)}
	if t.text != source { // what is written alike costs alike
		if q, err = parseQuery(termEnvironment, t.text); err != nil {
			return nil, err
		}
	}
	if root, path, ok := pathOf(q.ast.Expr()); ok {
		if o := (&builder{q: q}).member(root, path); o != nil {
			t.path, _ = o.name("")
		}
	}
	t.asUnique = !timed && len(q.literals) == 0 && q.givesAsUnique(q.ast.Expr())
	t.program, err = q.plan(q.ast.Expr())
	return t, err
}

// givesAsUnique reports whether there is nothing in an expression that unique values compute otherwise: no comparison, no arithmetic, and nothing
// that keeps numbers which are selected from it later.
func (q *query) givesAsUnique(e ast.Expr) bool {
	same := true
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ListKind, ast.MapKind, ast.ComprehensionKind:
			same = false
		case ast.CallKind:
			name := e.AsCall().FunctionName()
			same = same && comparisons[name] == opUnknown && name != operators.In && (decimals(name, len(e.AsCall().Args())) == nil || q.isText(e))
		}
	}))
	return same
}

// isText reports whether a sum or a conversion is one of texts.
func (q *query) isText(e ast.Expr) bool {
	for _, arg := range e.AsCall().Args() {
		if q.ast.GetType(arg.ID()).Kind() == types.StringKind {
			return true
		}
	}
	return false
}

// AsUnique reports whether a unique value with the same expression is known to be the same wherever the term has one. The numbers of unique
// values are CEL's, and they may cost more.
func (t *Term) AsUnique() bool { return t.asUnique }

// String returns the term's text. Equal terms have equal texts, however they were written.
func (t *Term) String() string { return t.text }

// Path returns the path to the term's value, "a.b" for doc.a.b and doc["a"].b, or "_meta.createdAt" for meta.createdAt. It is "" for any
// other term, and where a name in it is none that a path can say.
func (t *Term) Path() string { return t.path }

// Value returns the JSON text of the term's value over doc. The error is ErrNoValue where a member or an index is missing, and for a time
// of the document. Otherwise it says why there is no value: that it costs too much, for one.
func (t *Term) Value(doc *jsondoc.Tree) (text []byte, err error) {
	if t.timed {
		return nil, ErrNoValue
	}
	text, _, err = t.Measure(Facts{Doc: doc})
	return text, err
}

// Timed reports whether the term reads a time of the document. No index has such a term but for a time alone.
func (t *Term) Timed() bool { return t.timed }

// Measure does what Value does, also for a term that is Timed, and returns what it cost.
func (t *Term) Measure(f Facts) (text []byte, cost int, err error) {
	e := newEvaluation(f.Doc)
	e.facts = &f
	e.left, e.limit = queryCost, queryCost
	defer func() { cost = queryCost - e.left }()
	defer recoverCost(&err)
	out, err := t.program.eval(e)
	if err != nil {
		return nil, 0, err
	}
	text, err = e.appendJSON(nil, out, 0)
	return text, 0, err
}

// The places in which an operand is found.
const (
	rootDoc = iota
	rootElement
	rootCreated
	rootUpdated
	rootTerm
)

// operand is what a condition compares, or asks for: a member of the document or of an element, a time, or the value of a term.
type operand struct {
	root int
	path []string
	term *Term
}

// name returns the name of the operand in tests, where array is the path of the array whose elements have it, and "" for the document. ok
// is false where a path cannot say it.
func (o *operand) name(array string) (name string, ok bool) {
	switch o.root {
	case rootCreated:
		return "_" + metaCreated, true
	case rootUpdated:
		return "_" + metaUpdated, true
	case rootTerm:
		return o.term.text, true
	case rootElement:
		array += "[]"
	case rootDoc:
		array = ""
		if o.path[0] == "doc" || o.path[0] == "_meta" || strings.HasPrefix(o.path[0], "-") { // which is read as something else
			return "", false
		}
	}
	for _, member := range o.path {
		if strings.ContainsFunc(member, notInPath) || strings.TrimSpace(member) != member || member == "" {
			return "", false
		}
	}
	name = strings.Join(o.path, ".")
	if array != "" && name != "" {
		name = array + "." + name
	} else if array != "" {
		name = array
	}
	return name, true
}

// notInPath reports whether a character is none that stands in a path.
func notInPath(r rune) bool {
	return !strings.ContainsRune("_-$ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// pathOf returns the variable from which members are selected by name alone, and the names.
func pathOf(e ast.Expr) (root string, path []string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), nil, true
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return "", nil, false
		}
		root, path, ok = pathOf(e.AsSelect().Operand())
		return root, append(path, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		c := e.AsCall()
		if c.FunctionName() != operators.Index || c.Args()[1].Kind() != ast.LiteralKind {
			return "", nil, false
		}
		name, isText := c.Args()[1].AsLiteral().(types.String)
		if !isText {
			return "", nil, false
		}
		root, path, ok = pathOf(c.Args()[0])
		return root, append(path, string(name)), ok
	}
	return "", nil, false
}
