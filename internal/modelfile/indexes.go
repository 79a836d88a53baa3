package modelfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Bounds of indexes, besides maxIndexes.
const (
	maxIndexesOf  = 64 // of one collection
	maxComponents = 8  // of one index
	maxIndexName  = 64 // bytes

	maxArrayComponents = 64 // of all indexes of a collection that go through an array, each with an entry for each of 1,000 elements
)

// indexName is what names an index.
var indexName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// index reads one index and adds it to its collection.
func (p *parser) index(c *model.Collection, name string, n jsondoc.Node, at string) {
	if !p.counted(&p.sizes.indexes, maxIndexes, "indexes", at) {
		return
	}
	if p.isNew && len(c.Indexes) >= maxIndexesOf {
		if len(c.Indexes) == maxIndexesOf {
			p.problem(at, "the collection has more than %d indexes", maxIndexesOf)
			c.Indexes = append(c.Indexes, &model.Index{Collection: c.Name, Name: name})
		}
		return
	}
	if !indexName.MatchString(name) || len(name) > maxIndexName {
		p.problem(at, "cannot name an index: use [A-Za-z][A-Za-z0-9_-]*, at most %d bytes", maxIndexName)
	}
	x := &model.Index{Collection: c.Name, Name: name}
	c.Indexes = append(c.Indexes, x)
	i := 0
	for v := range p.list(n, at, "paths and expressions, such as [customerId, -openedAt]") {
		if p.isNew && i == maxComponents {
			p.problem(at, "an index has at most %d components", maxComponents)
			return
		}
		place := fmt.Sprintf("%s[%d]", at, i)
		if component, ok := p.component(v, place); ok {
			p.addComponent(x, component, place)
		}
		i++
	}
	checkArrayComponents(p, c, x, at)
	if p.tree.Kind(n) == jsondoc.Array && p.tree.First(n) == jsondoc.None {
		p.problem(at, "has no components: name what the documents are ordered by, such as [customerId, -openedAt]")
	}
}

// checkArrayComponents checks how many values entries of one document may have in all that go through an array. x is the last index.
func checkArrayComponents(p *parser, c *model.Collection, x *model.Index, at string) {
	if !p.isNew || x.Array() == nil {
		return
	}
	all := 0
	for _, o := range c.Indexes {
		if o.Array() != nil {
			all += len(o.Components)
		}
	}
	if all > maxArrayComponents {
		p.problem(at, "the indexes of the collection that go through an array have %d components up to this one, and each element repeats them: at most %d are taken", all, maxArrayComponents)
	}
}

// addComponent adds a component to an index, unless it does not go with the others.
func (p *parser) addComponent(x *model.Index, c model.Component, at string) {
	if slices.ContainsFunc(x.Components, func(o model.Component) bool { return o.Term() == c.Term() }) {
		p.problem(at, "%q is in the index twice", c.Term())
		return
	}
	array := x.Array()
	x.Components = append(x.Components, c)
	own := (&model.Index{Components: []model.Component{c}}).Array()
	if array != nil && own != nil && array.String() != own.String() {
		p.problem(at, "%q goes through an array that the index does not go through otherwise (%s): it has room for one", c.Term(), array)
	}
}

// component reads one component. ok is false for a mistake.
func (p *parser) component(n jsondoc.Node, at string) (c model.Component, ok bool) {
	s := p.text(n, at)
	if s == "" {
		return c, false
	}
	if p.isNew && len(s) > MaxPath && !namesDoc.MatchString(s) {
		p.problem(at, "the path has %d bytes; at most %d are taken", len(s), MaxPath)
		return c, false
	}
	c, err := parseComponent(s, p.isNew)
	if err == nil && c.Timed != nil {
		err = fanfold.Errorf(fanfold.Invalid, "an index has meta.createdAt and meta.updatedAt as _meta.createdAt and _meta.updatedAt alone: derive a value of them, and index that")
	}
	if err == nil && c.Expression != "" {
		err = p.checkExpression(c.Expression, ofDocument) // with the bounds of all of them
	}
	if err != nil {
		p.problem(at, "%s", fanfold.MessageOf(err))
	}
	return c, err == nil
}

// ParseComponent reads what documents are ordered or grouped by: a path, _meta.createdAt, _meta.updatedAt, or an expression over
// doc, meta.createdAt and meta.updatedAt, with "-" before it where it descends. The error is Invalid. For an expression it wraps an expr.LocatedError, whose place is one in text.
func ParseComponent(text string) (model.Component, error) { return parseComponent(text, true) }

// parseComponent reads a component as ParseComponent does. One that is not new may have quotes in its path.
func parseComponent(text string, isNew bool) (model.Component, error) {
	c := model.Component{}
	term := strings.TrimSpace(text)
	if rest, descends := strings.CutPrefix(term, "-"); descends {
		c.Descending, term = true, strings.TrimSpace(rest)
	}
	switch {
	case term == "":
		return c, fanfold.Errorf(fanfold.Invalid, "%q names nothing: want a path or an expression", fanfold.Clip(text))
	case term == "_meta."+model.CreatedAt || term == "_meta."+model.UpdatedAt:
		c.Time = strings.TrimPrefix(term, "_meta.")
		return c, nil
	case onlyMembers.MatchString(term):
		name := strings.TrimPrefix(term, "doc.")
		return c, fanfold.Errorf(fanfold.Invalid, "%q could be a path or an expression: write %q for that member, or %q for one inside a member doc", term, name, "(doc."+term+")")
	case namesDoc.MatchString(term), namesMeta.MatchString(term) && !onlyMeta.MatchString(term):
		before, _, _ := strings.Cut(text, term)
		return c, setExpression(&c, term, before)
	case strings.ContainsAny(term, "()"):
		return c, fanfold.Errorf(fanfold.Invalid, "%q is neither a path nor an expression: an expression names members as doc.email, and one with another name as doc[\"a (b)\"]", fanfold.Clip(term))
	}
	if isNew {
		if _, err := model.ParseNewPath(term); err != nil {
			return c, err
		}
	}
	return c, setPath(&c, term)
}

// setPath makes the component one of a path. The error is Invalid.
func setPath(c *model.Component, term string) error {
	path, err := model.ParsePath(term)
	if err != nil {
		return err
	}
	arrays := 0
	for _, step := range path {
		if step.Each() {
			arrays++
		}
	}
	switch {
	case arrays > 1:
		return fanfold.Errorf(fanfold.Invalid, "%q goes through more than one array", fanfold.Clip(term))
	case strings.HasPrefix(path[0].Name, "_"):
		return fanfold.Errorf(fanfold.Invalid, "%q cannot be looked at: of _meta there are createdAt and updatedAt", fanfold.Clip(term))
	}
	c.Path = path
	return nil
}

// setExpression makes the component one of an expression, which stands in a text after prefix, or of the path that it is. The error is
// Invalid.
func setExpression(c *model.Component, source, prefix string) error {
	term, err := expr.CompileTerm(source)
	var at *expr.LocatedError
	if errors.As(err, &at) {
		err = at.After(prefix)
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "%s", err.Error())
	}
	switch path := term.Path(); {
	case strings.HasPrefix(path, "_meta."):
		c.Time = strings.TrimPrefix(path, "_meta.")
		return nil
	case path != "":
		return setPath(c, path)
	case term.Timed():
		c.Timed = func(f model.IndexFacts) ([]byte, error) {
			text, _, err := term.Measure(expr.Facts{Doc: f.Doc, Created: f.Created, Updated: f.Updated})
			return text, err
		}
	}
	c.Expression = term.String()
	c.Reads, _ = expr.MembersRead(c.Expression) // it was compiled
	c.Evaluate = func(doc *jsondoc.Tree) ([]byte, bool) {
		text, err := term.Value(doc)
		return text, err == nil
	}
	c.Try = func(doc *jsondoc.Tree) ([]byte, error) {
		text, err := term.Value(doc)
		if errors.Is(err, expr.ErrNoValue) {
			return nil, nil
		}
		return text, err
	}
	return nil
}
