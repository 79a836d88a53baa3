package jsondoc

import (
	"slices"
	"strconv"
	"strings"
)

// Undo returns the document that a JSON Patch was applied to, given what it made of it. The patch's operations are add,
// remove and replace, also carry old, the value before, and are about places none of which lies in another. A member that
// was removed comes back among those that source, the document without what the patch changes, does not have, which are in
// order of their names; source is called where there is such a member. Neither text may have whitespace around its tokens.
// ok is false where that is not what doc and patch are.
func Undo(doc, patch []byte, source func() []byte) (before []byte, ok bool) {
	var u undoing
	var ops Tree
	if ops.Parse(patch) != nil || u.doc.Parse(doc) != nil {
		return nil, false
	}
	root := &undo{}
	for op := ops.First(Root); op != None; op = ops.Next(op) {
		if !root.add(&ops, op) {
			return nil, false
		}
	}
	if root.inserts {
		if u.source.Parse(source()) != nil {
			return nil, false
		}
	} else if u.source.Parse([]byte("{}")) != nil {
		return nil, false
	}
	u.out = make([]byte, 0, len(doc)+64)
	if !u.write(Root, Root, root) {
		return nil, false
	}
	return u.out, true
}

// undo is what is to be undone at one place of a document, and below it.
type undo struct {
	op      string // "" for nothing here
	old     []byte
	below   map[string]*undo
	removed []string // names of members that were removed here
	inserts bool     // here or below
}

// add adds an operation of a patch. It is false for one that cannot be undone.
func (u *undo) add(ops *Tree, op Node) bool {
	name, path := ops.Text(ops.Member(op, "op")), ops.Text(ops.Member(op, "path"))
	old := ops.Member(op, "old")
	if (old == None) != (name == "add") || !slices.Contains([]string{"add", "remove", "replace"}, name) {
		return false
	}
	for path != "" {
		token, rest, more := strings.Cut(path[1:], "/")
		if path = ""; more {
			path = "/" + rest
		}
		token = pointerUnescaper.Replace(token)
		if path == "" && name == "remove" {
			u.removed = append(u.removed, token)
		}
		u.inserts = u.inserts || name == "remove"
		if u.below == nil {
			u.below = map[string]*undo{}
		}
		next := u.below[token]
		if next == nil {
			next = &undo{}
			u.below[token] = next
		}
		u = next
	}
	u.op = name
	if old != None {
		u.old = ops.Raw(old)
	}
	return true
}

// undoing writes a document as it was before a patch.
type undoing struct {
	doc, source Tree
	out         []byte
}

// write writes the node n as it was before. source is its place in the source, None where it has none.
func (u *undoing) write(n, source Node, what *undo) bool {
	switch {
	case what != nil && what.op == "replace":
		u.out = append(u.out, what.old...)
		return true
	case what == nil || what.op == "" && what.below == nil:
		u.out = append(u.out, u.doc.Raw(n)...)
		return true
	case u.doc.Kind(n) == Object:
		return u.object(n, source, what)
	case u.doc.Kind(n) == Array:
		return u.array(n, source, what)
	}
	return false
}

// array writes an array as it was before.
func (u *undoing) array(n, source Node, what *undo) bool {
	if len(what.removed) > 0 {
		return false
	}
	u.out = append(u.out, '[')
	from := None
	if source != None && u.source.Kind(source) == Array {
		from = u.source.First(source)
	}
	for i, c := 0, u.doc.First(n); c != None; i, c = i+1, u.doc.Next(c) {
		if i > 0 {
			u.out = append(u.out, ',')
		}
		if !u.write(c, from, what.below[strconv.Itoa(i)]) {
			return false
		}
		if from != None {
			from = u.source.Next(from)
		}
	}
	u.out = append(u.out, ']')
	return true
}

// object writes an object as it was before. The members that it has from the source come first.
func (u *undoing) object(n, source Node, what *undo) bool {
	slices.Sort(what.removed)
	missing := what.removed
	u.out = append(u.out, '{')
	own := None
	if source != None && u.source.Kind(source) == Object {
		own = u.source.First(source)
	}
	for c := u.doc.First(n); c != None; c = u.doc.Next(c) {
		name := u.doc.Key(c)
		from := own
		for from != None && !u.source.KeyIs(from, name) {
			from = u.source.Next(from) // it is hidden
		}
		if from != None {
			own = u.source.Next(from)
		} else {
			own = None
			for len(missing) > 0 && missing[0] < name {
				u.insert(missing[0], what)
				missing = missing[1:]
			}
		}
		below := what.below[name]
		if below != nil && below.op == "add" {
			continue
		}
		u.out = appendName(u.out, u.doc.RawKey(c))
		if !u.write(c, from, below) {
			return false
		}
	}
	for _, name := range missing {
		u.insert(name, what)
	}
	u.out = append(u.out, '}')
	return true
}

// insert writes a member that was removed.
func (u *undoing) insert(name string, what *undo) {
	u.out = append(appendName(u.out, Quote(name)), what.below[name].old...)
}
