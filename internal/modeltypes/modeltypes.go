// Package modeltypes writes the types of a model's documents, as TypeScript and as JSON Schema.
package modeltypes

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Bounds of what is read of a schema.
const (
	maxDepth   = 32     // levels; deeper ones are any value
	maxMembers = 10_000 // of all types; more are any value
)

// Reader says what of a model somebody may know.
type Reader interface {
	// Reads tells whether the documents of a collection may be known, or some of them.
	Reads(collection string) bool
	// Sees tells whether a member may be known. An element of an array is the name -.
	Sees(collection string, names []string) bool
	// Values tells whether it may be known which values of members fit the collection's schema.
	Values(collection string) bool
}

// writer makes the types of one model.
type writer struct {
	model   *model.Model
	reader  Reader // nil for one who knows everything
	types   map[string]*shape
	used    map[string]bool // names of types, in lower case
	free    func(name string) bool
	members int
	copies  int
	within  []string // the references that are being followed
}

// newWriter returns a writer that has the types of all collections.
func newWriter(m *model.Model, reader Reader) *writer {
	w := &writer{model: m, reader: reader, types: map[string]*shape{}, used: map[string]bool{}}
	for _, c := range m.Collections {
		s := w.written(c)
		for _, q := range c.Sequences {
			s.at(q.Path, ofSequence(q), byCounter)
		}
		if reader != nil && !reader.Values(c.Name) {
			s.withoutValues()
		}
		w.types[c.Name] = w.shown(c.Name, nil, s)
	}
	for _, r := range m.Rules { // each after those that it depends on
		if of := w.shown(r.Collection, placeOf(r.Path), w.ofRule(r)); of != nil {
			w.types[r.Collection].at(r.Path, of, byRule)
		}
	}
	return w
}

// placeOf returns the names that lead to a path. An element of an array is the name -.
func placeOf(path model.Path) (names []string) {
	for _, step := range path {
		if step.Each() {
			names = append(names, "-")
		} else {
			names = append(names, step.Name)
		}
	}
	return names
}

// shown returns what the reader may know of the type of a place in a collection's documents, nil for nothing.
func (w *writer) shown(collection string, place []string, s *shape) *shape {
	if w.reader == nil {
		return s
	}
	sees := func(names []string) bool { return w.reader.Sees(collection, names) }
	if len(place) > 0 && !sees(place) {
		return nil
	}
	s.without(place, sees)
	return s
}

// nameOf returns a name for a collection's types, which it has given out for no other one, whatever the case of letters.
func (w *writer) nameOf(collection string) string {
	name := ""
	for _, part := range regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(collection, -1) {
		name += strings.ToUpper(part[:1]) + part[1:]
	}
	if name == "" || name[0] <= '9' || !w.free(name) {
		name = "C" + name
	}
	for n, first := 2, name; w.used[strings.ToLower(name)] || !w.free(name); n++ {
		name = first + strconv.Itoa(n)
	}
	w.used[strings.ToLower(name)] = true
	return name
}

// written returns the type of a collection's documents as they are written.
func (w *writer) written(c *model.Collection) *shape {
	s := &shape{object: true, open: true}
	if c.Schema != nil {
		t := jsondoc.MustParse(c.Schema)
		if of := w.ofSchema(t, jsondoc.Root, 0); of.object {
			s = of
		}
	}
	if i := s.index("id"); i >= 0 && s.members[i].of.any() {
		s.members = slices.Delete(s.members, i, i+1)
	}
	s.put("id", &shape{plain: "string", id: true}, bySender)
	for _, r := range c.Relations {
		s.at(r.Path, &shape{plain: "string", id: true, reference: true}, bySender)
	}
	return s
}

// ofSequence returns the type of a sequence's numbers.
func ofSequence(q *model.Sequence) *shape {
	if q.Format != nil {
		return &shape{plain: "string"}
	}
	return &shape{plain: "integer"}
}

// ofRule returns the type of a rule's value.
func (w *writer) ofRule(r *model.Rule) *shape {
	switch {
	case r.Kind == model.Count:
		return &shape{plain: "integer"}
	case r.Kind.Aggregates() || r.Total != "":
		return &shape{plain: "number"}
	case r.Kind == model.IDs:
		return &shape{element: &shape{plain: "string"}}
	case r.Kind == model.Recent:
		of := &shape{object: true}
		for _, name := range r.Fields {
			of.put(name, w.copy(w.target(r.Relation.Collection).member(name)), byRule)
		}
		return &shape{element: of}
	case r.Kind != model.Copy:
		return &shape{}
	}
	value := w.copied(r)
	if r.List() {
		return &shape{element: value}
	}
	return value
}

// target returns the type of a collection's documents for a rule that takes members of them, nil where it may not be known.
func (w *writer) target(collection string) *shape {
	if w.reader != nil && (!w.reader.Reads(collection) || !w.reader.Values(collection)) {
		return nil
	}
	return w.types[collection]
}

// memberOfDoc is an expression that gives a member of the target.
var memberOfDoc = regexp.MustCompile(`^\s*doc((?:\.[A-Za-z_]\w*)+)\s*$`)

// copied returns the type of what a rule copies: of the member of the target, or any value.
func (w *writer) copied(r *model.Rule) *shape {
	at := w.target(r.Relation.To)
	if found := memberOfDoc.FindStringSubmatch(r.Value); found != nil {
		for _, name := range strings.Split(found[1], ".")[1:] {
			at = at.member(name)
		}
		return w.copy(at)
	}
	return &shape{}
}

// copy returns a copy of a type, of any value for nil, and for what is more than maxPrinted lets.
func (w *writer) copy(s *shape) *shape {
	if w.copies++; s == nil || w.copies > maxPrinted {
		return &shape{}
	}
	c := *s
	c.either, c.members = slices.Clone(s.either), slices.Clone(s.members)
	for i, one := range c.either {
		c.either[i] = w.copy(one)
	}
	if c.element != nil {
		c.element = w.copy(c.element)
	}
	for i, m := range c.members {
		c.members[i].of = w.copy(m.of)
	}
	return &c
}

// ofSchema returns the type of what a schema lets.
func (w *writer) ofSchema(t *jsondoc.Tree, n jsondoc.Node, depth int) *shape {
	if w.members++; depth > maxDepth || w.members > maxMembers || t.Kind(n) != jsondoc.Object {
		return &shape{}
	}
	if ref := t.Text(t.Member(n, "$ref")); ref != "" {
		if ref == "#" || slices.Contains(w.within, ref) { // what leads into itself is any value there
			return &shape{}
		}
		w.within = append(w.within, ref)
		defer func() { w.within = w.within[:len(w.within)-1] }()
		return w.ofSchema(t, resolve(t, ref), depth+1)
	}
	if all := t.Member(n, "enum"); all != jsondoc.None {
		return union(t, all, func(one jsondoc.Node) *shape { return literal(t, one) })
	}
	if one := t.Member(n, "const"); one != jsondoc.None {
		return literal(t, one)
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if all := t.Member(n, name); all != jsondoc.None {
			return union(t, all, func(one jsondoc.Node) *shape { return w.ofSchema(t, one, depth+1) })
		}
	}
	if kind := t.Member(n, "type"); t.Kind(kind) == jsondoc.Array {
		return union(t, kind, func(one jsondoc.Node) *shape { return w.ofType(t, n, t.Text(one), depth) })
	} else if kind != jsondoc.None {
		return w.ofType(t, n, t.Text(kind), depth)
	}
	if t.Member(n, "properties") != jsondoc.None {
		return w.ofType(t, n, "object", depth)
	}
	return &shape{}
}

// wordsOf has the keywords that are told of a type.
var wordsOf = map[string][]string{
	"string":  {"format", "pattern", "minLength", "maxLength"},
	"number":  {"minimum", "maximum"},
	"integer": {"minimum", "maximum"},
	"array":   {"minItems", "maxItems", "uniqueItems"},
}

// ofType returns the type of those values that a schema lets which are of a type of JSON.
func (w *writer) ofType(t *jsondoc.Tree, n jsondoc.Node, kind string, depth int) *shape {
	var words []word
	for _, name := range wordsOf[kind] {
		if value := t.Member(n, name); value != jsondoc.None {
			words = append(words, word{name, t.Raw(value)})
		}
	}
	switch kind {
	case "string", "boolean", "null", "number", "integer":
		return &shape{plain: kind, words: words}
	case "array":
		return &shape{element: w.ofSchema(t, t.Member(n, "items"), depth+1), words: words}
	case "object":
		s := &shape{object: true, open: t.Kind(t.Member(n, "properties")) != jsondoc.Object,
			closed: t.Kind(t.Member(n, "additionalProperties")) == jsondoc.False && t.Member(n, "patternProperties") == jsondoc.None}
		for p := t.First(t.Member(n, "properties")); p != jsondoc.None; p = t.Next(p) {
			s.put(t.Key(p), w.ofSchema(t, p, depth+1), bySender)
		}
		for r := t.First(t.Member(n, "required")); r != jsondoc.None; r = t.Next(r) {
			if i := s.index(t.Text(r)); i >= 0 && t.Text(r) != "id" {
				s.members[i].required = true
			}
		}
		return s
	}
	return &shape{}
}

// resolve returns what a reference within a schema leads to.
func resolve(t *jsondoc.Tree, ref string) jsondoc.Node {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return jsondoc.None
	}
	at := jsondoc.Root
	for _, token := range jsondoc.PointerTokens(pointer) {
		at = t.Member(at, token)
	}
	return at
}

// union returns the type of what is one of several.
func union(t *jsondoc.Tree, all jsondoc.Node, of func(one jsondoc.Node) *shape) *shape {
	s := &shape{}
	seen := map[string]bool{}
	for one := t.First(all); one != jsondoc.None; one = t.Next(one) {
		branch := of(one)
		if branch.any() {
			return &shape{}
		}
		if text := distinct(branch); text == "" || !seen[text] {
			seen[text] = true
			s.either = append(s.either, branch)
		}
	}
	if len(s.either) == 1 {
		return s.either[0]
	}
	return s
}

// distinct returns the same text for equal types that have no others within them, "" for those that have.
func distinct(s *shape) string {
	if s.value != nil {
		return string(s.value)
	}
	return s.plain
}

// literal returns the type of one value.
func literal(t *jsondoc.Tree, n jsondoc.Node) *shape {
	switch t.Kind(n) {
	case jsondoc.String, jsondoc.Number, jsondoc.True, jsondoc.False, jsondoc.Null:
		return &shape{value: slices.Clone(t.Raw(n))}
	}
	return &shape{}
}
