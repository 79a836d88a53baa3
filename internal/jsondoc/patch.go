package jsondoc

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// PatchError says which operation of a patch failed and why.
type PatchError struct {
	Index  int // of the operation; -1 for the patch as a whole
	Path   string
	Reason string
	Large  bool // the document would grow past what is taken
}

func (e *PatchError) Error() string {
	if e.Index < 0 {
		return e.Reason
	}
	return fmt.Sprintf("operation %d at %q: %s", e.Index, e.Path, e.Reason)
}

// Merge applies a merge patch (RFC 7396): members keep their place and their bytes, new ones
// come at the end in the patch's order.
func Merge(doc, patch []byte) []byte {
	return appendMerged(nil, MustParse(doc), Root, MustParse(patch), Root)
}

func appendMerged(dst []byte, t *Tree, n Node, p *Tree, pn Node) []byte {
	if p.Kind(pn) != Object {
		return append(dst, p.Raw(pn)...)
	}
	dst = append(dst, '{')
	first := true
	add := func(key []byte) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(dst, key...), ':')
	}
	changes := p.members(pn)
	known := map[string]Node{}
	if t != nil && t.Kind(n) == Object {
		known = t.members(n)
		for c := t.First(n); c != None; c = t.Next(c) {
			change := changes[t.Key(c)]
			switch {
			case change == None:
				add(t.RawKey(c))
				dst = append(dst, t.Raw(c)...)
			case p.Kind(change) != Null:
				add(t.RawKey(c))
				dst = appendMerged(dst, t, c, p, change)
			}
		}
	}
	for c := p.First(pn); c != None; c = p.Next(c) {
		if p.Kind(c) != Null && known[p.Key(c)] == None {
			add(p.RawKey(c))
			dst = appendMerged(dst, nil, None, p, c)
		}
	}
	return append(dst, '}')
}

// members indexes an object by name, so that two large ones are merged in linear time.
func (t *Tree) members(n Node) map[string]Node {
	index := make(map[string]Node)
	for c := t.First(n); c != None; c = t.Next(c) {
		index[t.Key(c)] = c
	}
	return index
}

// Operation is one operation of a JSON Patch (RFC 6902).
type Operation struct {
	Op    string
	Path  []string // the pointer's tokens
	From  []string
	Value []byte
}

// MaxOperations bounds one JSON Patch: each operation may search the whole document.
const MaxOperations = 1000

// ParsePatch reads a JSON Patch that Check has accepted; the error is a *PatchError.
func ParsePatch(src []byte) ([]Operation, error) {
	t := MustParse(src)
	if t.Kind(Root) != Array {
		return nil, &PatchError{Index: -1, Reason: "a JSON Patch is an array of operations"}
	}
	if t.Len(Root) > MaxOperations {
		return nil, &PatchError{Index: -1, Reason: fmt.Sprintf("a JSON Patch has at most %d operations", MaxOperations)}
	}
	var ops []Operation
	for c := t.First(Root); c != None; c = t.Next(c) {
		op, err := parseOperation(t, c)
		if err != nil {
			return nil, &PatchError{Index: len(ops), Path: t.Text(t.Member(c, "path")), Reason: err.Error()}
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func parseOperation(t *Tree, n Node) (op Operation, err error) {
	op.Op = t.Text(t.Member(n, "op"))
	needValue, needFrom := false, false
	switch op.Op {
	case "add", "replace", "test":
		needValue = true
	case "move", "copy":
		needFrom = true
	case "remove":
	default:
		return op, fmt.Errorf("unknown op %q: want add, remove, replace, move, copy or test", op.Op)
	}
	if op.Path, err = pointer(t, t.Member(n, "path"), "path"); err != nil {
		return op, err
	}
	if needFrom {
		if op.From, err = pointer(t, t.Member(n, "from"), "from"); err != nil {
			return op, err
		}
	}
	if needValue {
		v := t.Member(n, "value")
		if v == None {
			return op, fmt.Errorf("value is missing")
		}
		op.Value = t.Raw(v)
	}
	return op, nil
}

var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

func pointer(t *Tree, n Node, name string) ([]string, error) {
	if t.Kind(n) != String {
		return nil, fmt.Errorf("%s is missing or not a string", name)
	}
	s := t.Text(n)
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("%s %q is not a JSON pointer: it must begin with /", name, s)
	}
	tokens := strings.Split(s[1:], "/")
	for i, tok := range tokens {
		for j := strings.IndexByte(tok, '~'); j >= 0; {
			if j+1 >= len(tok) || tok[j+1] != '0' && tok[j+1] != '1' {
				return nil, fmt.Errorf("%s %q has a ~ that is not ~0 or ~1", name, s)
			}
			next := strings.IndexByte(tok[j+1:], '~')
			if next < 0 {
				break
			}
			j += 1 + next
		}
		tokens[i] = pointerUnescaper.Replace(tok)
	}
	return tokens, nil
}

// item is a value that a patch may take apart: raw text until something inside it changes.
type item struct {
	raw   []byte
	kind  Kind
	keys  [][]byte // raw names, of an object that was taken apart
	items []*item  // members or elements, once taken apart
	open  bool
}

func newItem(raw []byte) *item { return &item{raw: raw, kind: kindOf(raw)} }

func kindOf(raw []byte) Kind {
	switch raw[0] {
	case '{':
		return Object
	case '[':
		return Array
	}
	return Invalid
}

// take splits a container into its parts.
func (v *item) take() {
	if v.open || v.kind == Invalid {
		return
	}
	t := MustParse(v.raw)
	for c := t.First(Root); c != None; c = t.Next(c) {
		if v.kind == Object {
			v.keys = append(v.keys, t.RawKey(c))
		}
		v.items = append(v.items, newItem(t.Raw(c)))
	}
	v.open = true
}

func (v *item) append(dst []byte) []byte {
	if !v.open {
		return append(dst, v.raw...)
	}
	brackets := "[]"
	if v.kind == Object {
		brackets = "{}"
	}
	dst = append(dst, brackets[0])
	for i, c := range v.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.kind == Object {
			dst = append(append(dst, v.keys[i]...), ':')
		}
		dst = c.append(dst)
	}
	return append(dst, brackets[1])
}

// find returns the index of a member or element; for an array "-" and its length mean the end.
func (v *item) find(token string) (i int, found bool, err error) {
	v.take()
	switch v.kind {
	case Object:
		for i, k := range v.keys {
			if unquote(k) == token {
				return i, true, nil
			}
		}
		return len(v.keys), false, nil
	case Array:
		if token == "-" {
			return len(v.items), false, nil
		}
		n, err := strconv.Atoi(token)
		if err != nil || n < 0 || strconv.Itoa(n) != token {
			return 0, false, fmt.Errorf("%q is not an index of an array", token)
		}
		if n > len(v.items) {
			return 0, false, fmt.Errorf("index %d is past the array's end", n)
		}
		return n, n < len(v.items), nil
	}
	return 0, false, fmt.Errorf("there is no %q in a value that is neither object nor array", token)
}

var errNoSuchPath = fmt.Errorf("there is nothing at this path")

func (v *item) get(path []string) (*item, error) {
	for _, token := range path {
		i, found, err := v.find(token)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, errNoSuchPath
		}
		v = v.items[i]
	}
	return v, nil
}

func (v *item) add(path []string, value *item) error {
	if len(path) == 0 {
		*v = *value
		return nil
	}
	last := len(path) - 1
	parent, err := v.get(path[:last])
	if err != nil {
		return err
	}
	i, found, err := parent.find(path[last])
	switch {
	case err != nil:
		return err
	case parent.kind == Object && found:
		parent.items[i] = value
	case parent.kind == Object:
		parent.keys = append(parent.keys, Quote(path[last]))
		parent.items = append(parent.items, value)
	default:
		parent.items = append(parent.items, nil)
		copy(parent.items[i+1:], parent.items[i:])
		parent.items[i] = value
	}
	return nil
}

func (v *item) remove(path []string) error {
	if len(path) == 0 {
		return fmt.Errorf("the whole document cannot be removed by a patch")
	}
	last := len(path) - 1
	parent, err := v.get(path[:last])
	if err != nil {
		return err
	}
	i, found, err := parent.find(path[last])
	if err != nil {
		return err
	}
	if !found {
		return errNoSuchPath
	}
	parent.items = append(parent.items[:i], parent.items[i+1:]...)
	if parent.kind == Object {
		parent.keys = append(parent.keys[:i], parent.keys[i+1:]...)
	}
	return nil
}

// maxPatched bounds what copy operations can make of a document, in bytes.
const maxPatched = 64 << 20

// Apply applies a JSON Patch; what it does not touch keeps its bytes. The error is a
// *PatchError.
func Apply(doc []byte, ops []Operation) ([]byte, error) {
	root, size := newItem(doc), len(doc)
	for i, op := range ops {
		grown, err := root.apply(op)
		if size += grown; err == nil && size > maxPatched {
			return nil, &PatchError{Index: i, Path: "/" + strings.Join(op.Path, "/"), Large: true, Reason: fmt.Sprintf("the document grows past %d bytes", maxPatched)}
		}
		if err != nil {
			return nil, &PatchError{Index: i, Path: "/" + strings.Join(op.Path, "/"), Reason: err.Error()}
		}
	}
	return root.append(nil), nil
}

func (v *item) apply(op Operation) (grown int, err error) {
	switch op.Op {
	case "add":
		return len(op.Value), v.add(op.Path, newItem(op.Value))
	case "remove":
		err = v.remove(op.Path)
	case "replace":
		var at *item
		if at, err = v.get(op.Path); err == nil {
			*at = *newItem(op.Value)
		}
		return len(op.Value), err
	case "test":
		var at *item
		if at, err = v.get(op.Path); err == nil && !Equal(at.append(nil), op.Value) {
			err = fmt.Errorf("the value is not the one tested for")
		}
	case "copy":
		var from *item
		if from, err = v.get(op.From); err == nil {
			raw := from.append(nil)
			return len(raw), v.add(op.Path, newItem(raw))
		}
	case "move":
		err = v.move(op)
	}
	return 0, err
}

func (v *item) move(op Operation) error {
	if len(op.Path) > len(op.From) && strings.Join(op.Path[:len(op.From)], "/") == strings.Join(op.From, "/") {
		return fmt.Errorf("a value cannot be moved into itself")
	}
	from, err := v.get(op.From)
	if err != nil {
		return err
	}
	if len(op.From) == len(op.Path) && strings.Join(op.From, "/") == strings.Join(op.Path, "/") {
		return nil
	}
	moved := *from
	if err := v.remove(op.From); err != nil {
		return err
	}
	return v.add(op.Path, &moved)
}

// Equal tells whether two JSON texts hold equal values (RFC 6902, 4.6): members in any order,
// numbers by value.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return equalNodes(MustParse(a), Root, MustParse(b), Root)
}

func equalNodes(a *Tree, an Node, b *Tree, bn Node) bool {
	if a.Kind(an) != b.Kind(bn) {
		return false
	}
	switch a.Kind(an) {
	case Number:
		return equalNumbers(a.Text(an), b.Text(bn))
	case String:
		return a.Text(an) == b.Text(bn)
	case Array:
		x, y := a.First(an), b.First(bn)
		for x != None && y != None && equalNodes(a, x, b, y) {
			x, y = a.Next(x), b.Next(y)
		}
		return x == None && y == None
	case Object:
		if a.Len(an) != b.Len(bn) {
			return false
		}
		for x := a.First(an); x != None; x = a.Next(x) {
			y := b.Member(bn, a.Key(x))
			if y == None || !equalNodes(a, x, b, y) {
				return false
			}
		}
	}
	return true
}

// equalNumbers compares decimal texts by value, exactly and without building large numbers.
func equalNumbers(a, b string) bool {
	an, ad, ae := decimal(a)
	bn, bd, be := decimal(b)
	return ad == bd && (ad == "" || an == bn && ae == be)
}

// decimal is a number as sign, digits without zeros at either end, and the power of ten of the
// last digit.
func decimal(s string) (negative bool, digits string, exp int) {
	s, negative = strings.CutPrefix(s, "-")
	mantissa, e, _ := strings.Cut(strings.ToLower(s), "e")
	if e != "" {
		exp, _ = strconv.Atoi(e) // an exponent past int saturates, and so stays unequal to any other
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exp -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(digits, "0")
	return negative, trimmed, exp + len(digits) - len(trimmed)
}
