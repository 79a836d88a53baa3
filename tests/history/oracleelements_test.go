package history_test

import (
	"math/big"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// Rules that go through elements of arrays: a value beside each, and totals over a document's own.

// editing is the condition on elements that the oracle knows.
const editing = `element.role == 'ed'`

// arrayPaths are where values stand beside elements, and elementMembers what such values may read there.
var (
	arrayPaths     = []string{"authors[].own", "authors[].more.own", "authors[].name", "sections[].items[].own", "sections[].own"}
	elementMembers = map[string][]string{"authors[].": {"id", "role", "n", "more", "own", "name"}, "sections[].items[].": {"ref", "n", "own", "title"}, "sections[].": {"t", "own"}}
)

// ofElements tells whether the rule goes through elements of its own document.
func (r *orule) ofElements() bool { return r.rel == nil && r.kind != "value" }

// elements are the steps to the elements of a path's innermost array.
func elements(path string) []string {
	at := steps(path)
	for i := len(at); i > 0; i-- {
		if at[i-1] == "[]" {
			return at[:i]
		}
	}
	return nil
}

// arrayOf is the path to the elements of a path's innermost array, as text that member names follow.
func arrayOf(path string) string {
	for prefix := range elementMembers {
		if slices.Equal(elements(path), elements(prefix+"x")) {
			return prefix
		}
	}
	return "authors[]."
}

// addOfElements adds values beside elements, and a total over an array.
func (m *omodel) addOfElements(t *rapid.T) {
	c := draw(t, m.collections()...)
	for range 1 + upTo(t, 1) {
		r := &orule{kind: "each", collection: c, path: draw(t, arrayPaths...)}
		if m.rule(r.name()) == nil {
			r.options(t, m)
			m.rules = append(m.rules, r)
		}
	}
	r := &orule{kind: draw(t, "sum", "sum", "min", "max", "avg", "count"), collection: c, path: draw(t, "own", "stats.own", "count", "A")}
	if m.rule(r.name()) == nil {
		r.options(t, m)
		m.rules = append(m.rules, r)
	}
}

// elementExpression reads a member of the element, or of the document.
func elementExpression(t *rapid.T, m *omodel, r *orule) oexpr {
	array := arrayOf(r.path)
	switch draw(t, "element", "element", "element price", "doc", "stamp") {
	case "stamp":
		return stamp(t)
	case "element":
		return oexpr{"element", []string{array, draw(t, elementMembers[array]...)}}
	case "element price":
		return oexpr{"element price", []string{array, draw(t, "n", "n", "own")}}
	}
	names := slices.DeleteFunc(m.readable(r.collection), func(name string) bool { return name == "z-list" || name == steps(array)[0] })
	return oexpr{"member", []string{draw(t, names...)}}
}

// stamp says when a document was written, or by whom.
func stamp(t *rapid.T) oexpr { return oexpr{kind: draw(t, "untouched", "creator", "writer")} }

// arrayMember is a path through an array of a collection's documents, often to what a rule gives.
func (m *omodel) arrayMember(t *rapid.T, collection string) string {
	paths := []string{"authors[].n", "authors[].n", "authors[]", "tags[]", "grid[][]", "sections[].items[].n", "sections[].t"}
	for _, r := range m.rules {
		if r.collection == collection && elements(r.path) != nil {
			paths = append(paths, r.path, r.path, r.path)
		}
		if r.collection == collection && (r.kind == "ids" || r.kind == "copy" && elements(r.path) == nil) {
			paths = append(paths, r.path+"[]")
		}
	}
	return draw(t, paths...)
}

// conditionReads is what the rule's condition looks at: a top-level member, or a path in the elements.
func (r *orule) conditionReads() string {
	if r.where != editing {
		return conditionReads[r.where]
	}
	path := ""
	for _, step := range elements(r.of) {
		if step != "[]" && path != "" {
			path += "."
		}
		path += step
	}
	return path + ".role"
}

// part is the part of a document's view at a path that is made before a rule.
func (o *oracle) part(r *orule, d *odoc, path string) *jsonvalue.Value {
	return o.embed(d, steps(path), o.model.depth(r))
}

// beside is the value of a rule beside the element with a number, nil for none.
func (o *oracle) beside(r *orule, d *odoc, i int) *jsonvalue.Value {
	if len(r.expr.names) < 2 { // of the element, the array and the member

		return o.evalExact(r, d)
	}
	element := o.part(r, d, r.expr.reads()[0]).All(elements(r.path))[i]
	if element.Kind != '{' {
		return nil
	}
	v := element.Get(r.expr.names[1])
	if r.expr.kind == "element" || v == nil {
		return v
	}
	if v.Kind != '0' {
		return nil
	}
	return jsonvalue.Parse(priceOf(v.Text, true))
}

// deriveOfElements puts the values of a rule beside elements, or a total, into root.
func (o *oracle) deriveOfElements(root *jsonvalue.Value, d *odoc, r *orule, path []string) {
	if r.kind == "each" {
		base := elements(r.path)
		for i, anchor := range root.All(base) {
			if v := o.beside(r, d, i); v != nil {
				anchor.Place(path[len(base):], v)
			}
		}
		return
	}
	values := o.taken(r, d)
	switch text := totalOf(r, numbersOf(values)); {
	case r.kind == "count":
		root.Place(path, jsonvalue.Parse(strconv.Itoa(len(values))))
	case text != "":
		root.Place(path, jsonvalue.Parse(text))
	}
}

// taken are the values at a rule's path in the elements of a document for which its condition holds.
func (o *oracle) taken(r *orule, d *odoc) (values []*jsonvalue.Value) {
	base := elements(r.of)
	rest := steps(r.of)[len(base):]
	var roles []*jsonvalue.Value
	if r.where == editing {
		roles = o.part(r, d, r.conditionReads()).All(base)
	}
	for i, element := range o.part(r, d, r.of).All(base) {
		if r.where == editing {
			if role := roles[i].Get("role"); role == nil || role.Text != `"ed"` {
				continue
			}
		}
		values = append(values, element.All(rest)...)
	}
	return values
}

// numbersOf are the numbers among values.
func numbersOf(values []*jsonvalue.Value) (numbers []*big.Rat) {
	for _, v := range values {
		if v.Kind == '0' {
			n, _ := new(big.Rat).SetString(v.Text)
			numbers = append(numbers, n)
		}
	}
	return numbers
}
