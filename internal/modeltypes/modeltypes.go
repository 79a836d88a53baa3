// Package modeltypes writes the TypeScript types of a model's documents.
package modeltypes

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Header is the first line of what TypeScript returns, by which a file is known that may be written anew.
const Header = "// Made by fanfold model types. Do not change it: make it again.\n"

// Bounds of what is read of a schema.
const (
	maxDepth   = 32     // levels; deeper ones are unknown
	maxMembers = 10_000 // of all types; more are unknown
)

// TypeScript returns an interface for each collection that a model declares, by name, and Models, which has them by the names of the collections. Members that
// the store derives are readonly.
func TypeScript(m *model.Model) []byte {
	w := &writer{model: m, types: map[string]*shape{}, names: map[string]string{}}
	for _, c := range m.Collections {
		w.types[c.Name] = w.written(c)
	}
	for _, r := range m.Rules { // each after those that it depends on
		w.derive(r)
	}
	out := Header
	for _, c := range m.Collections {
		out += fmt.Sprintf("\n/** A document of %s. */\nexport interface %s %s\n", c.Name, w.nameOf(c.Name), w.types[c.Name].text(""))
	}
	out += "\nexport interface Models {\n"
	for _, c := range m.Collections {
		out += fmt.Sprintf("  %s: %s;\n", property(c.Name), w.nameOf(c.Name))
	}
	return []byte(out + "}\n")
}

// writer makes the types of one model.
type writer struct {
	model   *model.Model
	types   map[string]*shape
	names   map[string]string // of interfaces, by collection
	members int
}

// nameOf returns the name of a collection's interface, which no other collection's has.
func (w *writer) nameOf(collection string) string {
	if name, ok := w.names[collection]; ok {
		return name
	}
	name := ""
	for _, part := range regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(collection, -1) {
		name += strings.ToUpper(part[:1]) + part[1:]
	}
	if name == "" || name[0] <= '9' || name == "Models" {
		name = "C" + name
	}
	for n, first := 2, name; slices.Contains(values(w.names), name); n++ {
		name = first + strconv.Itoa(n)
	}
	w.names[collection] = name
	return name
}

// values returns the values of a map.
func values(of map[string]string) (all []string) {
	for _, v := range of {
		all = append(all, v)
	}
	return all
}

// written returns the type of a collection's documents as they are written.
func (w *writer) written(c *model.Collection) *shape {
	s := &shape{object: true, open: true}
	if c.Schema != nil {
		t := jsondoc.MustParse(c.Schema)
		if of := w.ofSchema(t, jsondoc.Root, 0); of.object && of.plain == "" {
			s = of
		}
	}
	s.put("id", &shape{plain: "string"}, false)
	for _, r := range c.Relations {
		s.at(r.Path, &shape{plain: "string"}, false)
	}
	return s
}

// derive adds the member that a rule derives.
func (w *writer) derive(r *model.Rule) {
	s := w.types[r.Collection]
	if s == nil {
		return
	}
	s.at(r.Path, w.ofRule(r), true)
}

// ofRule returns the type of a rule's value.
func (w *writer) ofRule(r *model.Rule) *shape {
	number, unknown := &shape{plain: "number"}, &shape{plain: "unknown"}
	switch {
	case r.Kind == model.Count || r.Kind.Aggregates() || r.Total != "":
		return number
	case r.Kind == model.IDs:
		return &shape{element: &shape{plain: "string"}}
	case r.Kind == model.Recent:
		of := &shape{object: true}
		for _, name := range r.Fields {
			child := w.types[r.Relation.Collection].member(name)
			if child == nil {
				child = unknown
			}
			of.put(name, child, true)
		}
		return &shape{element: of}
	case r.Kind != model.Copy:
		return unknown
	}
	value := w.copied(r)
	if r.List() {
		return &shape{element: value}
	}
	return value
}

// memberOfDoc is an expression that gives a member of the target.
var memberOfDoc = regexp.MustCompile(`^\s*doc((?:\.[A-Za-z_]\w*)+)\s*$`)

// copied returns the type of what a rule copies: of the member of the target, or unknown.
func (w *writer) copied(r *model.Rule) *shape {
	at := w.types[r.Relation.To]
	if found := memberOfDoc.FindStringSubmatch(r.Value); found != nil {
		for _, name := range strings.Split(found[1], ".")[1:] {
			at = at.member(name)
		}
		if at != nil {
			return at
		}
	}
	return &shape{plain: "unknown"}
}

// ofSchema returns the type of what a schema lets.
func (w *writer) ofSchema(t *jsondoc.Tree, n jsondoc.Node, depth int) *shape {
	if w.members++; depth > maxDepth || w.members > maxMembers || t.Kind(n) != jsondoc.Object {
		return &shape{plain: "unknown"}
	}
	if ref := t.Text(t.Member(n, "$ref")); ref != "" {
		return w.ofSchema(t, resolve(t, ref), depth+1)
	}
	if all := t.Member(n, "enum"); all != jsondoc.None {
		return union(t, all, func(one jsondoc.Node) *shape { return literal(t, one) })
	}
	if one := t.Member(n, "const"); one != jsondoc.None {
		return literal(t, one)
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		if all := t.Member(n, word); all != jsondoc.None {
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
	return &shape{plain: "unknown"}
}

// ofType returns the type of those values that a schema lets which are of a type of JSON.
func (w *writer) ofType(t *jsondoc.Tree, n jsondoc.Node, kind string, depth int) *shape {
	switch kind {
	case "string", "boolean", "null", "number":
		return &shape{plain: kind}
	case "integer":
		return &shape{plain: "number"}
	case "array":
		return &shape{element: w.ofSchema(t, t.Member(n, "items"), depth+1)}
	case "object":
		s := &shape{object: true, open: t.Kind(t.Member(n, "properties")) != jsondoc.Object}
		for p := t.First(t.Member(n, "properties")); p != jsondoc.None; p = t.Next(p) {
			s.put(t.Key(p), w.ofSchema(t, p, depth+1), false)
		}
		for r := t.First(t.Member(n, "required")); r != jsondoc.None; r = t.Next(r) {
			if i := s.index(t.Text(r)); i >= 0 && t.Text(r) != "id" {
				s.members[i].required = true
			}
		}
		return s
	}
	return &shape{plain: "unknown"}
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
	var texts []string
	var only *shape
	for one := t.First(all); one != jsondoc.None; one = t.Next(one) {
		only = of(one)
		if text := only.text(""); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	switch {
	case len(texts) == 0 || slices.Contains(texts, "unknown"):
		return &shape{plain: "unknown"}
	case len(texts) == 1:
		return only
	}
	return &shape{plain: strings.Join(texts, " | ")}
}

// literal returns the type of one value.
func literal(t *jsondoc.Tree, n jsondoc.Node) *shape {
	switch t.Kind(n) {
	case jsondoc.String:
		return &shape{plain: string(jsondoc.Quote(t.Text(n)))}
	case jsondoc.Number, jsondoc.True, jsondoc.False, jsondoc.Null:
		return &shape{plain: string(t.Raw(n))}
	}
	return &shape{plain: "unknown"}
}
