// Package modelfile reads a model from YAML or JSON and checks it, the expressions and JSON Schemas in it included.
package modelfile

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/yamltext"
	"github.com/fanfold/fanfold/model"
)

// MaxBytes bounds a model's text, in bytes.
const MaxBytes = 2 << 20

// ToJSON returns a model, or a part of one, in YAML or JSON as compact JSON, so that there is one reader and one form in the
// log. JSON is read as such, and no YAML parser sees it. The error is Invalid, or TooLarge.
func ToJSON(src []byte) ([]byte, error) {
	if len(src) > MaxBytes {
		return nil, fanfold.Errorf(fanfold.TooLarge, "the model has %d bytes; at most %d are taken", len(src), MaxBytes)
	}
	inBraces := bytes.HasPrefix(bytes.TrimSpace(src), []byte("{"))
	if inBraces && jsondoc.Check(src, fanfold.DefaultMaxDepth) == nil {
		return compactJSON(src)
	}
	text, err := yamltext.ToJSON(src)
	switch {
	case err == nil:
	case inBraces && beginsAsJSON(src):
		return compactJSON(src) // says what is wrong with the JSON
	default:
		return nil, invalidAt(err, "the model is not YAML that is taken")
	}
	return compactJSON(text)
}

// beginsAsJSON returns whether the first member of a text in braces has its name in quotes, so that whoever wrote it meant
// JSON rather than YAML.
func beginsAsJSON(src []byte) bool {
	_, inside, _ := bytes.Cut(src, []byte("{"))
	inside = bytes.TrimSpace(inside)
	return len(inside) > 0 && inside[0] == '"'
}

// compactJSON returns JSON text without whitespace. The error is Invalid.
func compactJSON(text []byte) ([]byte, error) {
	if err := jsondoc.Check(text, fanfold.DefaultMaxDepth); err != nil {
		e := fanfold.Errorf(fanfold.Invalid, "the model is not JSON: %v", err)
		e.Line, e.Column = jsondoc.PlaceOf(text, err)
		return nil, e
	}
	return jsondoc.Compact(nil, text), nil
}

// Parse returns the checked model that src, in YAML or JSON, declares. The error is Invalid and lists every mistake
// with its path in the model.
func Parse(src []byte) (*model.Model, error) {
	text, err := ToJSON(src)
	if err != nil {
		return nil, err
	}
	return parse(text, true)
}

// ParseAccepted returns the model of a Source that Parse returned before, perhaps in an earlier version. It does not
// check the JSON Schemas in it, because a later version of their library may refuse what an earlier one accepted.
func ParseAccepted(src []byte) (*model.Model, error) {
	text, err := compactJSON(src)
	if err != nil {
		return nil, err
	}
	return parse(text, false)
}

// parse reads a model from compact JSON.
func parse(text []byte, isNew bool) (*model.Model, error) {
	p := &parser{tree: jsondoc.MustParse(text), isNew: isNew,
		model: &model.Model{Source: text, FanoutLimit: model.DefaultFanoutLimit, EmbeddedLimit: model.DefaultEmbeddedLimit}}
	p.parse()
	p.resolve()
	p.order()
	if len(p.problems) == 0 {
		p.model.IndexGates()
	} else {
		message := "the model has mistakes; nothing was changed"
		if p.untold > 0 {
			message = fmt.Sprintf("%s; these are the first %d of %d or more", message, len(p.problems), len(p.problems)+p.untold)
		}
		return nil, &fanfold.Error{Code: fanfold.Invalid, Message: message, Problems: p.problems}
	}
	p.model.Source = p.storedText(text)
	return p.model, nil
}

// parser builds a model from the tree of its text, and collects the mistakes.
type parser struct {
	tree     *jsondoc.Tree
	model    *model.Model
	isNew    bool // it was not accepted before: the bounds of a new model hold, and its JSON Schemas are checked
	sizes    sizes
	problems []fanfold.Problem
	untold   int // how many problems there are besides
	pending  []pendingRule
	pages    []pendingPages

	metaOrders []metaOrder
}

// pendingPages is a declaration of pages whose relation is looked up once all collections are read.
type pendingPages struct {
	c    *model.Collection
	at   string
	by   string
	size int
}

// pendingRule is a rule whose relation is looked up once all collections are read.
type pendingRule struct {
	rule     *model.Rule
	at       string
	relation string
}

// problem adds a mistake at a path in the model.
func (p *parser) problem(at, format string, args ...any) {
	if p.full() {
		p.untold++
		return
	}
	p.problems = append(p.problems, fanfold.Problem{Path: clip(at), Detail: clip(fmt.Sprintf(format, args...))})
}

// full tells whether no more problems are listed.
func (p *parser) full() bool { return len(p.problems) >= maxProblems }

// members calls fn for each member of the object n. Null stands for an object without members; anything else is a
// mistake.
func (p *parser) members(n jsondoc.Node, at string, fn func(name string, value jsondoc.Node)) {
	if n == jsondoc.None || p.tree.Kind(n) == jsondoc.Null {
		return
	}
	if p.tree.Kind(n) != jsondoc.Object {
		p.problem(at, "must be a mapping")
		return
	}
	for c := p.tree.First(n); c != jsondoc.None; c = p.tree.Next(c) {
		fn(p.tree.Key(c), c)
	}
}

// text reads a string; "" stands for a mistake.
func (p *parser) text(n jsondoc.Node, at string) string {
	if p.tree.Kind(n) != jsondoc.String || p.tree.Text(n) == "" {
		p.problem(at, "must be a string that is not empty")
		return ""
	}
	return p.tree.Text(n)
}

// list returns the elements of a list of what, none where it is no list.
func (p *parser) list(n jsondoc.Node, at, what string) iter.Seq[jsondoc.Node] {
	return func(yield func(jsondoc.Node) bool) {
		if p.tree.Kind(n) != jsondoc.Array {
			p.problem(at, "must be a list of %s", what)
			return
		}
		for c := p.tree.First(n); c != jsondoc.None; c = p.tree.Next(c) {
			if !yield(c) {
				return
			}
		}
	}
}

// flag reads true or false.
func (p *parser) flag(n jsondoc.Node, at string) bool {
	kind := p.tree.Kind(n)
	if kind != jsondoc.True && kind != jsondoc.False {
		p.problem(at, "must be true or false")
	}
	return kind == jsondoc.True
}

// The mappings of a whole model.
var (
	wholeModel = &mapping{has: "the model has", members: []member{
		{name: "collections", about: "The collections that the model says something of, by their names.", takes: byName(collectionName, of("collection"), maxCollections)},
		{name: "functions", about: "JavaScript that clients call, and that triggers are, inside a transaction, by names.", takes: byName(functionNames, of("function"), maxFunctions)},
		{name: "open", about: "Whether collections that the model does not name take documents: by default they do.", takes: shape{"type": []string{"boolean", "null"}}},
		{name: "fanout", about: "How many documents one write may change.", takes: of("fanout")},
		{name: "embedded", about: "How many bytes a document may have with its derived fields.", takes: of("embedded")},
	}}
	fanoutLimit   = &mapping{name: "fanout", has: "fanout has one:", null: true, members: []member{{name: "limit", about: "The most documents that one write may change.", takes: whole(fanfold.MaxChanges)}}}
	embeddedLimit = &mapping{name: "embedded", has: "embedded has one:", null: true, members: []member{{name: "limit", about: "The most bytes of a document with its derived fields.", takes: whole(model.MaxEmbeddedLimit)}}}
)

// definitions are the mappings within a model.
var definitions = []*mapping{fanoutLimit, embeddedLimit, aCollection, aRelation, aCheck, somePages, aSequence, aFunction, someAccess, aRight, aRule}

// parse reads the whole model.
func (p *parser) parse() {
	if p.tree.Kind(jsondoc.Root) != jsondoc.Object {
		p.problem("", "the model must be a mapping with the member collections")
		return
	}
	wholeModel.read(p, jsondoc.Root, "", func(name, _ string, n jsondoc.Node) {
		switch name {
		case "collections":
			p.members(n, name, p.collection)
		case "functions":
			p.members(n, name, func(name string, v jsondoc.Node) { readFunction(p, name, v, "functions."+name) })
		case "fanout":
			p.limit(n, fanoutLimit, name, fanfold.MaxChanges, func(limit int) { p.model.FanoutLimit = int64(limit) })
		case "embedded":
			p.limit(n, embeddedLimit, name, model.MaxEmbeddedLimit, func(limit int) { p.model.EmbeddedLimit = limit })
		case "open":
			p.model.Closed = p.tree.Kind(n) != jsondoc.Null && !p.flag(n, name)
		}
	})
	p.model.Index()
}

// limit reads an object whose only member is a limit, from 1 to most.
func (p *parser) limit(n jsondoc.Node, d *mapping, name string, most int, set func(limit int)) {
	d.read(p, n, name, func(_, at string, v jsondoc.Node) { set(p.number(v, at, most)) })
}

// path parses a path; nil stands for a mistake.
func (p *parser) path(s, at string) model.Path {
	if p.isNew && len(s) > MaxPath {
		p.problem(at, "the path has %d bytes; at most %d are taken", len(s), MaxPath)
		return nil
	}
	parse := model.ParsePath
	if p.isNew {
		parse = model.ParseNewPath
	}
	path, err := parse(s)
	if err != nil {
		p.problem(at, "%s", fanfold.MessageOf(err))
	}
	return path
}

// expression reads a CEL expression over doc and checks it; "" stands for a mistake in its kind.
func (p *parser) expression(n jsondoc.Node, at string) string {
	s := p.text(n, at)
	checkText(p, s, at, ofDocument)
	return s
}

// checkText reports what is wrong with a CEL expression, unless it is "". sees says what it sees.
func checkText(p *parser, s, at string, sees variables) {
	if s == "" {
		return
	}
	if err := p.checkExpression(s, sees); err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n") // later lines point at the place
		p.problem(at, "%s", text)
	}
}

// The bounds of a model's numbers.
const (
	maxIDsLimit = 100_000
	maxRecent   = 1000
	maxPageSize = 1000
)

// number reads a whole number from 1 to most; 1 stands for a mistake.
func (p *parser) number(n jsondoc.Node, at string, most int) int {
	v, err := strconv.Atoi(p.tree.Text(n))
	if p.tree.Kind(n) != jsondoc.Number || err != nil || v < 1 || v > most {
		p.problem(at, "must be a whole number from 1 to %d", most)
		return 1
	}
	return v
}

// plainPath reads a path to one value, outside arrays.
func (p *parser) plainPath(n jsondoc.Node, at string) model.Path {
	s := p.text(n, at)
	if s == "" {
		return nil
	}
	path := p.path(s, at)
	if path.Arrays() {
		p.problem(at, "%q goes through an array: it must lead to one value", s)
	}
	return path
}

// ToYAML returns a model's JSON as YAML, members in the same order. The error says that the source is not JSON.
func ToYAML(source []byte) ([]byte, error) { return yamltext.FromJSON(source) }
