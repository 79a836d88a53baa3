package jsondoc

import (
	"slices"
	"strconv"
	"strings"
)

// Undo returns the document that a JSON Patch was applied to, given what it made of it. The patch's operations are add,
// remove and replace, and also carry old, the value before. None of their places lies in another. source is the document
// without the patched parts, with its members in order of their names. A removed member comes back among source's members
// that the document lacks; source is called if there is such a member. Neither text may have whitespace around its tokens.
// ok is false where that is not what doc and patch are.
func Undo(doc, patch []byte, source func() []byte) (before []byte, ok bool) {
	return UndoAll(doc, [][]byte{patch}, source)
}

// UndoAll returns the document that JSON Patches were applied to, one after the other, given what they made of it. The last
// one applied comes first. It reads doc once, and returns what Undo returns of one after the other. A patch may be left out
// where one applied before it has the same operations at the same paths. ok is also false where the place of a member that
// comes back could depend on the documents between.
func UndoAll(doc []byte, patches [][]byte, source func() []byte) (before []byte, ok bool) {
	u := undoing{manyPatches: len(patches) > 1}
	root := &undo{}
	for _, patch := range patches {
		var ops Tree
		if ops.Parse(patch) != nil {
			return nil, false
		}
		for op := ops.First(Root); op != None; op = ops.Next(op) {
			if !root.add(&ops, op) {
				return nil, false
			}
		}
	}
	if u.doc.Parse(doc) != nil {
		return nil, false
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
	old     []byte // what was here; nil where it is what the document has
	added   bool   // a patch added it: nothing was here before
	below   map[string]*undo
	removed []string // names of members that were removed here, whether or not they had been added before
	was     bool     // among the removed of the object around it
	inserts bool     // here or below
}

// add adds an operation of a patch, which was applied before those that are there. It is false for one that cannot be undone.
func (u *undo) add(ops *Tree, op Node) bool {
	name, path := ops.Text(ops.Member(op, "op")), ops.Text(ops.Member(op, "path"))
	old := ops.Member(op, "old")
	if (old == None) != (name == "add") || !slices.Contains([]string{"add", "remove", "replace"}, name) {
		return false
	}
	for path != "" {
		if u.added {
			return false
		}
		token, rest, more := strings.Cut(path[1:], "/")
		if path = ""; more {
			path = "/" + rest
		}
		token = PointerUnescape(token)
		u.inserts = u.inserts || name == "remove"
		if u.below == nil {
			u.below = map[string]*undo{}
		}
		next := u.below[token]
		if next == nil {
			next = &undo{}
			u.below[token] = next
		}
		if path == "" && name == "remove" && !next.was {
			next.was, u.removed = true, append(u.removed, token)
		}
		u = next
	}
	*u = undo{added: name == "add", was: u.was}
	if old != None {
		u.old = ops.Raw(old)
	}
	return true
}

// undoing writes a document as it was before patches.
type undoing struct {
	doc, source Tree
	out         []byte
	manyPatches bool // there are more patches than one
}

// write writes the node n as it was before. source is its place in the source, None where it has none.
func (u *undoing) write(n, source Node, what *undo) bool {
	switch {
	case what != nil && what.old != nil:
		return u.writeOld(source, what)
	case what == nil || what.below == nil && !what.added:
		u.out = append(u.out, u.doc.Raw(n)...)
		return true
	case what.added:
		return false
	case u.doc.Kind(n) == Object:
		return u.object(n, source, what)
	case u.doc.Kind(n) == Array:
		return u.array(n, source, what)
	}
	return false
}

// writeOld writes the value that was at a place, without what earlier patches changed in it.
func (u *undoing) writeOld(source Node, what *undo) bool {
	if what.below == nil {
		u.out = append(u.out, what.old...)
		return true
	}
	doc := u.doc
	defer func() { u.doc = doc }()
	u.doc = Tree{}
	if u.doc.Parse(what.old) != nil {
		return false
	}
	inside := *what
	inside.old = nil
	return u.write(Root, source, &inside)
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
	missing := what.missing()
	if u.manyPatches && len(missing) > 0 && !u.inOrder(n, source, what) {
		return false
	}
	u.out = append(u.out, '{')
	own := u.firstOwn(source)
	for c := u.doc.First(n); c != None; c = u.doc.Next(c) {
		name := u.doc.Key(c)
		from := u.sourceOf(name, own)
		if from != None {
			own = u.source.Next(from)
		} else {
			own = None
			for len(missing) > 0 && missing[0] < name {
				if !u.insert(missing[0], what) {
					return false
				}
				missing = missing[1:]
			}
		}
		below := what.below[name]
		if below != nil && (below.added || below.was) {
			continue
		}
		u.out = appendName(u.out, u.doc.RawKey(c))
		if !u.write(c, from, below) {
			return false
		}
	}
	for _, name := range missing {
		if !u.insert(name, what) {
			return false
		}
	}
	u.out = append(u.out, '}')
	return true
}

// missing returns the names of the members that come back, in order.
func (u *undo) missing() (names []string) {
	for _, name := range u.removed {
		if !u.below[name].added {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// firstOwn returns the first member or element of a place in the source.
func (u *undoing) firstOwn(source Node) Node {
	if source == None || u.source.Kind(source) != Object {
		return None
	}
	return u.source.First(source)
}

// sourceOf returns the member of the source with a name, from one on; those before it are hidden.
func (u *undoing) sourceOf(name string, from Node) Node {
	for from != None && !u.source.KeyIs(from, name) {
		from = u.source.Next(from)
	}
	return from
}

// inOrder reports whether members of an object have the same places in whichever order they come and go. Then its derived
// members are in order of their names, and the source has no member of the name of any that is derived, comes or goes.
func (u *undoing) inOrder(n, source Node, what *undo) bool {
	var derived []string
	own := u.firstOwn(source)
	for c := u.doc.First(n); c != None; c = u.doc.Next(c) {
		name := u.doc.Key(c)
		if from := u.sourceOf(name, own); from != None {
			own = u.source.Next(from)
			continue
		}
		own = None
		if len(derived) > 0 && derived[len(derived)-1] >= name {
			return false
		}
		derived = append(derived, name)
	}
	for c := u.firstOwn(source); c != None; c = u.source.Next(c) {
		name := u.source.Key(c)
		if _, found := slices.BinarySearch(derived, name); found {
			return false
		}
		if below := what.below[name]; below != nil && (below.added || below.was) {
			return false
		}
	}
	return true
}

// insert writes a member that was removed.
func (u *undoing) insert(name string, what *undo) bool {
	u.out = appendName(u.out, Quote(name))
	return u.writeOld(None, what.below[name])
}
