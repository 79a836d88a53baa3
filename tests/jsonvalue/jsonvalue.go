// Package jsonvalue has JSON values that keep their text, for the oracle: slow, obvious, and
// without a line of the product's code.
package jsonvalue

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Value is a JSON value that keeps the text of scalars and names and the order of members.
type Value struct {
	Kind  byte   // '{', '[', '"', '0' for numbers, else the literal's first letter
	Text  string // of a scalar, as written
	Items []Member
}

// String is the canonical form: no whitespace, derived members last, by name.
func (v *Value) String() string {
	switch v.Kind {
	case '[':
		parts := make([]string, len(v.Items))
		for i, m := range v.Items {
			parts[i] = m.Val.String()
		}
		return "[" + strings.Join(parts, ",") + "]"
	case '{':
		items := slices.Clone(v.Items)
		slices.SortStableFunc(items, func(a, b Member) int {
			if a.derived && b.derived {
				return strings.Compare(a.Key, b.Key)
			}
			return rank(a) - rank(b)
		})
		parts := make([]string, len(items))
		for i, m := range items {
			parts[i] = m.Raw + ":" + m.Val.String()
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return v.Text
}

// Sorted is a form in which the order of members does not matter.
func (v *Value) Sorted() string {
	c := v.Clone()
	c.sortKeys()
	return c.String()
}

func (v *Value) sortKeys() {
	for i := range v.Items {
		v.Items[i].derived = false
		v.Items[i].Val.sortKeys()
	}
	if v.Kind == '{' {
		slices.SortFunc(v.Items, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
	}
}

// Clone returns a deep copy.
func (v *Value) Clone() *Value {
	c := &Value{Kind: v.Kind, Text: v.Text, Items: slices.Clone(v.Items)}
	for i := range c.Items {
		c.Items[i].Val = c.Items[i].Val.Clone()
	}
	return c
}

func (v *Value) index(key string) int {
	if v == nil || v.Kind != '{' {
		return -1
	}
	return slices.IndexFunc(v.Items, func(m Member) bool { return m.Key == key })
}

// Get returns the value of a member, nil where there is none.
func (v *Value) Get(key string) *Value {
	if i := v.index(key); i >= 0 {
		return v.Items[i].Val
	}
	return nil
}

// All are the values at a path, in document order; a step "[]" goes into each element.
func (v *Value) All(path []string) []*Value {
	switch {
	case v == nil:
		return nil
	case len(path) == 0:
		return []*Value{v}
	case path[0] != "[]":
		return v.Get(path[0]).All(path[1:])
	case v.Kind != '[':
		return nil
	}
	var out []*Value
	for _, m := range v.Items {
		out = append(out, m.Val.All(path[1:])...)
	}
	return out
}

// IDs are the ids at a path; what is no id is passed over.
func (v *Value) IDs(path []string) []string {
	var out []string
	for _, n := range v.All(path) {
		id := n.Text
		switch n.Kind {
		case '"':
			id = Unquote(id)
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

// Place puts a derived value at a path of names, making the objects that are missing.
func (v *Value) Place(path []string, val *Value) {
	for _, name := range path[:len(path)-1] {
		if v.Kind != '{' {
			return
		}
		if v.index(name) < 0 {
			v.Items = append(v.Items, Member{Key: name, Raw: Quote(name), Val: &Value{Kind: '{'}, derived: true})
		}
		v = v.Get(name)
	}
	if v.Kind == '{' {
		name := path[len(path)-1]
		v.Items = append(v.Items, Member{Key: name, Raw: Quote(name), Val: val, derived: true})
	}
}

// Strip removes the members at a path and tells whether there were any.
func (v *Value) Strip(path []string) bool {
	some := false
	for _, n := range v.All(path[:len(path)-1]) {
		if i := n.index(path[len(path)-1]); i >= 0 {
			n.Items = slices.Delete(n.Items, i, i+1)
			some = true
		}
	}
	return some
}

func (v *Value) set(m Member, val *Value) {
	if i := v.index(m.Key); i >= 0 {
		v.Items[i].Val = val
		return
	}
	v.Items = append(v.Items, Member{Key: m.Key, Raw: m.Raw, Val: val})
}

// find is the index of a member or element, or where it would be added; -1 for nowhere.
func (v *Value) find(token string) (i int, found bool) {
	if v.Kind == '{' {
		if i := v.index(token); i >= 0 {
			return i, true
		}
		return len(v.Items), false
	}
	if token == "-" {
		return len(v.Items), false
	}
	i, err := strconv.Atoi(token)
	if err != nil || i > len(v.Items) {
		return -1, false
	}
	return i, i < len(v.Items)
}

// MarkLinks marks what goes where the path leads to id: the innermost array element, or the id.
func (v *Value) MarkLinks(path []string, id string, elem *Value, hits map[*Value]bool) {
	switch {
	case v == nil:
	case len(path) == 0:
		if len(v.IDs(nil)) == 1 && v.IDs(nil)[0] == id {
			if elem == nil {
				elem = v
			}
			hits[elem] = true
		}
	case path[0] != "[]":
		v.Get(path[0]).MarkLinks(path[1:], id, elem, hits)
	case v.Kind == '[':
		for _, m := range v.Items {
			m.Val.MarkLinks(path[1:], id, m.Val, hits)
		}
	}
}

// Drop removes the members and elements with these values, at every depth.
func (v *Value) Drop(hits map[*Value]bool) {
	v.Items = slices.DeleteFunc(v.Items, func(m Member) bool { return hits[m.Val] })
	for _, m := range v.Items {
		m.Val.Drop(hits)
	}
}

// Member is a member of an object or, without names, an element of an array.
type Member struct {
	Key, Raw string // decoded, and as written
	Val      *Value
	derived  bool // stands after the written ones, by name
}

// Parse reads text that is known to be JSON.
func Parse(s string) *Value { return (&jparser{s: s}).value() }

// Quote returns a text as a JSON string.
func Quote(s string) string { return `"` + s + `"` } // the tests' strings need no escapes

// Unquote returns the text of a JSON string.
func Unquote(raw string) string {
	var s string
	if err := json.Unmarshal([]byte(raw), &s); err != nil {
		panic(err)
	}
	return s
}

// MergePatch applies a merge patch to a document (RFC 7396).
func MergePatch(doc, patch *Value) {
	for _, m := range patch.Items {
		i := doc.index(m.Key)
		switch {
		case m.Val.Kind == 'n' && i >= 0:
			doc.Items = slices.Delete(doc.Items, i, i+1)
		case m.Val.Kind == 'n':
		case m.Val.Kind == '{' && i >= 0 && doc.Items[i].Val.Kind == '{':
			MergePatch(doc.Items[i].Val, m.Val)
		case m.Val.Kind == '{':
			fresh := &Value{Kind: '{'}
			MergePatch(fresh, m.Val)
			doc.set(m, fresh)
		default:
			doc.set(m, m.Val)
		}
	}
}

// ApplyPatch applies a JSON Patch and tells whether all of it fits.
func ApplyPatch(doc *Value, patch string) bool {
	for _, m := range Parse(patch).Items {
		value := ""
		if v := m.Val.Get("value"); v != nil {
			value = v.String()
		}
		if !ApplyOperation(doc, Unquote(m.Val.Get("op").Text), Unquote(m.Val.Get("path").Text), value) {
			return false
		}
	}
	return true
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

func (p *jparser) value() *Value {
	switch c := p.space(); c {
	case '{', '[':
		return p.container(c)
	case '"':
		return &Value{Kind: c, Text: p.str()}
	}
	start := p.at
	for p.at < len(p.s) && strings.IndexByte(" \t\r\n,]}", p.s[p.at]) < 0 {
		p.at++
	}
	v := &Value{Kind: p.s[start], Text: p.s[start:p.at]}
	if strings.IndexByte("-0123456789", v.Kind) >= 0 {
		v.Kind = '0'
	}
	return v
}

func (p *jparser) container(open byte) *Value {
	v := &Value{Kind: open}
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
		m := Member{}
		if open == '{' {
			m.Raw = p.str()
			m.Key = Unquote(m.Raw)
			p.space()
			p.at++ // the colon
		}
		m.Val = p.value()
		v.Items = append(v.Items, m)
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

func rank(m Member) int {
	if m.derived {
		return 1
	}
	return 0
}

// At is the value at a JSON pointer, or nil.
func At(v *Value, pointer string) *Value {
	if pointer == "" {
		return v
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if v.Kind != '{' && v.Kind != '[' {
			return nil
		}
		i, found := v.find(token)
		if !found {
			return nil
		}
		v = v.Items[i].Val
	}
	return v
}

// ApplyOperation applies one operation of a JSON Patch. It returns false where the path is not there.
func ApplyOperation(doc *Value, op, path, value string) bool {
	if path == "" && op == "replace" {
		*doc = *Parse(value)
		return true
	}
	cut := strings.LastIndexByte(path, '/')
	parent, last := At(doc, path[:cut]), path[cut+1:]
	if parent == nil || parent.Kind != '{' && parent.Kind != '[' {
		return false
	}
	i, found := parent.find(last)
	switch {
	case i < 0 || op != "add" && !found:
		return false
	case op == "remove":
		parent.Items = slices.Delete(parent.Items, i, i+1)
	case op == "replace" || parent.Kind == '{' && found:
		parent.Items[i].Val = Parse(value)
	default:
		parent.Items = slices.Insert(parent.Items, i, Member{Key: last, Raw: Quote(last), Val: Parse(value)})
	}
	return true
}
