package tests

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// The oracle recomputes embedded views from a history of accepted writes and models: slow,
// obvious, and without a line of the product's code.

// jv is a JSON value that keeps the text of scalars and names and the order of members.
type jv struct {
	kind  byte   // '{', '[', '"', '0' for numbers, else the literal's first letter
	text  string // of a scalar, as written
	items []jmember
}

// jmember is a member of an object or, without names, an element of an array.
type jmember struct {
	key, raw string // decoded, and as written
	val      *jv
	derived  bool // stands behind the written ones, by name
}

type jparser struct {
	s  string
	at int
}

func (p *jparser) space() byte {
	for strings.IndexByte(" \t\r\n", p.s[p.at]) >= 0 {
		p.at++
	}
	return p.s[p.at]
}

func (p *jparser) value() *jv {
	switch c := p.space(); c {
	case '{', '[':
		return p.container(c)
	case '"':
		return &jv{kind: c, text: p.str()}
	}
	start := p.at
	for p.at < len(p.s) && strings.IndexByte(" \t\r\n,]}", p.s[p.at]) < 0 {
		p.at++
	}
	v := &jv{kind: p.s[start], text: p.s[start:p.at]}
	if strings.IndexByte("-0123456789", v.kind) >= 0 {
		v.kind = '0'
	}
	return v
}

func (p *jparser) container(open byte) *jv {
	v := &jv{kind: open}
	p.at++
	for {
		switch p.space() {
		case '}', ']':
			p.at++
			return v
		case ',':
			p.at++
			continue
		}
		m := jmember{}
		if open == '{' {
			m.raw = p.str()
			m.key = unquote(m.raw)
			p.space()
			p.at++ // the colon
		}
		m.val = p.value()
		v.items = append(v.items, m)
	}
}

func (p *jparser) str() string {
	start := p.at
	for p.at++; p.s[p.at] != '"'; p.at++ {
		if p.s[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	return p.s[start:p.at]
}

// parseJSON reads text that is known to be JSON.
func parseJSON(s string) *jv { return (&jparser{s: s}).value() }

// String is the canonical form: no whitespace, derived members last, by name.
func (v *jv) String() string {
	switch v.kind {
	case '[':
		parts := make([]string, len(v.items))
		for i, m := range v.items {
			parts[i] = m.val.String()
		}
		return "[" + strings.Join(parts, ",") + "]"
	case '{':
		items := slices.Clone(v.items)
		slices.SortStableFunc(items, func(a, b jmember) int {
			if a.derived && b.derived {
				return strings.Compare(a.key, b.key)
			}
			return rank(a) - rank(b)
		})
		parts := make([]string, len(items))
		for i, m := range items {
			parts[i] = m.raw + ":" + m.val.String()
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return v.text
}

func rank(m jmember) int {
	if m.derived {
		return 1
	}
	return 0
}

// sorted is a form in which the order of members does not matter.
func (v *jv) sorted() string {
	c := v.clone()
	c.sortKeys()
	return c.String()
}

func (v *jv) sortKeys() {
	for i := range v.items {
		v.items[i].derived = false
		v.items[i].val.sortKeys()
	}
	if v.kind == '{' {
		slices.SortFunc(v.items, func(a, b jmember) int { return strings.Compare(a.key, b.key) })
	}
}

func (v *jv) clone() *jv {
	c := &jv{kind: v.kind, text: v.text, items: slices.Clone(v.items)}
	for i := range c.items {
		c.items[i].val = c.items[i].val.clone()
	}
	return c
}

func (v *jv) index(key string) int {
	if v == nil || v.kind != '{' {
		return -1
	}
	return slices.IndexFunc(v.items, func(m jmember) bool { return m.key == key })
}

func (v *jv) get(key string) *jv {
	if i := v.index(key); i >= 0 {
		return v.items[i].val
	}
	return nil
}

// all are the values at a path, in document order; a step "[]" goes into each element.
func (v *jv) all(path []string) []*jv {
	switch {
	case v == nil:
		return nil
	case len(path) == 0:
		return []*jv{v}
	case path[0] != "[]":
		return v.get(path[0]).all(path[1:])
	case v.kind != '[':
		return nil
	}
	var out []*jv
	for _, m := range v.items {
		out = append(out, m.val.all(path[1:])...)
	}
	return out
}

// ids are the ids at a path; what is no id is passed over.
func (v *jv) ids(path []string) []string {
	var out []string
	for _, n := range v.all(path) {
		id := n.text
		switch n.kind {
		case '"':
			id = unquote(id)
		case '0':
		default:
			continue
		}
		if id != "" && len(id) <= 255 {
			out = append(out, id)
		}
	}
	return out
}

// place puts a derived value at a path of names, making the objects that are missing.
func (v *jv) place(path []string, val *jv) {
	for _, name := range path[:len(path)-1] {
		if v.kind != '{' {
			return
		}
		if v.index(name) < 0 {
			v.items = append(v.items, jmember{key: name, raw: quote(name), val: &jv{kind: '{'}, derived: true})
		}
		v = v.get(name)
	}
	if v.kind == '{' {
		name := path[len(path)-1]
		v.items = append(v.items, jmember{key: name, raw: quote(name), val: val, derived: true})
	}
}

// strip removes the members at a path and tells whether there were any.
func (v *jv) strip(path []string) bool {
	some := false
	for _, n := range v.all(path[:len(path)-1]) {
		if i := n.index(path[len(path)-1]); i >= 0 {
			n.items = slices.Delete(n.items, i, i+1)
			some = true
		}
	}
	return some
}

func (v *jv) set(m jmember, val *jv) {
	if i := v.index(m.key); i >= 0 {
		v.items[i].val = val
		return
	}
	v.items = append(v.items, jmember{key: m.key, raw: m.raw, val: val})
}

// find is the index of a member or element, or where it would be added; -1 for nowhere.
func (v *jv) find(token string) (i int, found bool) {
	if v.kind == '{' {
		if i := v.index(token); i >= 0 {
			return i, true
		}
		return len(v.items), false
	}
	if token == "-" {
		return len(v.items), false
	}
	i, err := strconv.Atoi(token)
	if err != nil || i > len(v.items) {
		return -1, false
	}
	return i, i < len(v.items)
}

// at is the value at a JSON pointer, or nil.
func at(v *jv, pointer string) *jv {
	if pointer == "" {
		return v
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if v.kind != '{' && v.kind != '[' {
			return nil
		}
		i, found := v.find(token)
		if !found {
			return nil
		}
		v = v.items[i].val
	}
	return v
}

func mergePatch(doc, patch *jv) {
	for _, m := range patch.items {
		i := doc.index(m.key)
		switch {
		case m.val.kind == 'n' && i >= 0:
			doc.items = slices.Delete(doc.items, i, i+1)
		case m.val.kind == 'n':
		case m.val.kind == '{' && i >= 0 && doc.items[i].val.kind == '{':
			mergePatch(doc.items[i].val, m.val)
		case m.val.kind == '{':
			fresh := &jv{kind: '{'}
			mergePatch(fresh, m.val)
			doc.set(m, fresh)
		default:
			doc.set(m, m.val)
		}
	}
}

// applyPatch applies a JSON Patch and tells whether all of it fits.
func applyPatch(doc *jv, patch string) bool {
	for _, m := range parseJSON(patch).items {
		value := ""
		if v := m.val.get("value"); v != nil {
			value = v.String()
		}
		if !applyOperation(doc, unquote(m.val.get("op").text), unquote(m.val.get("path").text), value) {
			return false
		}
	}
	return true
}

func applyOperation(doc *jv, op, path, value string) bool {
	if path == "" && op == "replace" {
		*doc = *parseJSON(value)
		return true
	}
	cut := strings.LastIndexByte(path, '/')
	parent, last := at(doc, path[:cut]), path[cut+1:]
	if parent == nil || parent.kind != '{' && parent.kind != '[' {
		return false
	}
	i, found := parent.find(last)
	switch {
	case i < 0 || op != "add" && !found:
		return false
	case op == "remove":
		parent.items = slices.Delete(parent.items, i, i+1)
	case op == "replace" || parent.kind == '{' && found:
		parent.items[i].val = parseJSON(value)
	default:
		parent.items = slices.Insert(parent.items, i, jmember{key: last, raw: quote(last), val: parseJSON(value)})
	}
	return true
}

func unquote(raw string) string {
	var s string
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		panic(err)
	}
	return s
}

func quote(s string) string { return `"` + s + `"` } // the tests' strings need no escapes
