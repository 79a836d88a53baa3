package mask

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Restore returns a document that somebody wrote who does not see the masked members, with those that was has, the document before; nil for none. doc has
// no masked member. Elements of an array are those before where they are equal but for masked members, and otherwise where as many are left as had something
// masked before. The error is Forbidden where it is not known to which element something masked belongs, or where it would go with what is around it.
func (m *Mask) Restore(doc, was []byte) ([]byte, error) {
	if m == nil || was == nil {
		return doc, nil
	}
	r := restorer{new: jsondoc.MustParse(doc), old: jsondoc.MustParse(was)}
	out := r.value(make([]byte, 0, len(doc)+len(was)/4), m.root, jsondoc.Root, jsondoc.Root)
	if r.lost != "" {
		return nil, &fanfold.Error{Code: fanfold.Forbidden, Message: "the write would move or remove what you may not see; nothing was written",
			Problems: []fanfold.Problem{{Path: r.lost, Detail: "is private: leave what is around it as it is"}}}
	}
	return out, nil
}

// restorer brings what is masked in an old document into a new one.
type restorer struct {
	new, old *jsondoc.Tree
	lost     string // the path of something masked that has no place
}

// value appends the new value at a place, with what is masked in the old one.
func (r *restorer) value(dst []byte, p *place, n, o jsondoc.Node) []byte {
	switch kind, was := r.new.Kind(n), r.old.Kind(o); {
	case kind == jsondoc.Object && was == jsondoc.Object && p.members != nil:
		return r.object(dst, p, n, o)
	case kind == jsondoc.Array && was == jsondoc.Array && p.each != nil:
		return r.array(dst, p, n, o)
	}
	r.lose(p, o)
	return append(dst, r.new.Raw(n)...)
}

// lose notes that what is masked in an old value has no place any more.
func (r *restorer) lose(p *place, o jsondoc.Node) {
	if path := r.maskedIn(p, o); path != "" && r.lost == "" {
		r.lost = path
	}
}

// maskedIn returns the path of something masked in an old value at a place, "" for none.
func (r *restorer) maskedIn(p *place, o jsondoc.Node) string {
	switch {
	case o == jsondoc.None:
		return ""
	case p.masked != "":
		return p.masked
	}
	for c := r.old.First(o); c != jsondoc.None; c = r.old.Next(c) {
		if inner := p.inner(r.old, r.old.Kind(o), c); inner != nil {
			if path := r.maskedIn(inner, c); path != "" {
				return path
			}
		}
	}
	return ""
}

// object appends a new object with the masked members of an old one. Each comes after the member that was before it, if that is there.
func (r *restorer) object(dst []byte, p *place, n, o jsondoc.Node) []byte {
	masked := map[string][]jsondoc.Node{} // by the name of the member before
	anchor := ""
	for m := r.old.First(o); m != jsondoc.None; m = r.old.Next(m) {
		name := r.old.Key(m)
		inner := p.members[name]
		switch {
		case inner != nil && inner.masked != "", inner != nil && r.new.Member(n, name) == jsondoc.None && r.maskedIn(inner, m) != "":
			masked[anchor] = append(masked[anchor], m)
		case r.new.Member(n, name) != jsondoc.None:
			anchor = name
		}
	}
	dst = append(dst, '{')
	w := &members{dst: dst, begin: len(dst)}
	r.restore(w, p, masked[""])
	for m := r.new.First(n); m != jsondoc.None; m = r.new.Next(m) {
		w.name(r.new.RawKey(m))
		name := r.new.Key(m)
		if inner := p.members[name]; inner != nil {
			w.dst = r.value(w.dst, inner, m, r.old.Member(o, name))
		} else {
			w.dst = append(w.dst, r.new.Raw(m)...)
		}
		if name != "" {
			r.restore(w, p, masked[name])
		}
	}
	return append(w.dst, '}')
}

// members writes the members of an object.
type members struct {
	dst   []byte
	begin int
}

// name begins a member.
func (w *members) name(quoted []byte) {
	if len(w.dst) > w.begin {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(append(w.dst, quoted...), ':')
}

// restore appends old members of a place: masked ones, and of others what is masked in them. An array loses its elements, so it loses what is masked there.
func (r *restorer) restore(w *members, p *place, old []jsondoc.Node) {
	for _, m := range old {
		inner := p.members[r.old.Key(m)]
		switch {
		case inner.masked != "":
			w.name(r.old.RawKey(m))
			w.dst = append(w.dst, r.old.Raw(m)...)
		case r.old.Kind(m) == jsondoc.Object:
			w.name(r.old.RawKey(m))
			w.dst = r.object(w.dst, inner, jsondoc.None, m)
		default:
			r.lose(inner, m)
		}
	}
}

// array appends a new array with what is masked in the elements of an old one.
func (r *restorer) array(dst []byte, p *place, n, o jsondoc.Node) []byte {
	old := r.match(p, n, o)
	dst = append(dst, '[')
	for i, e := 0, r.new.First(n); e != jsondoc.None; i, e = i+1, r.new.Next(e) {
		if i > 0 {
			dst = append(dst, ',')
		}
		if old[i] == jsondoc.None {
			dst = append(dst, r.new.Raw(e)...)
		} else {
			dst = r.value(dst, p.each, e, old[i])
		}
	}
	return append(dst, ']')
}

// match returns for each new element the old one that it is, or None for another one.
func (r *restorer) match(p *place, n, o jsondoc.Node) []jsondoc.Node {
	was := r.elementsOf(p, o)
	size := r.new.Len(n)
	found, left := make([]jsondoc.Node, size), []int{}
	texts := make([][]byte, 0, size)
	for e := r.new.First(n); e != jsondoc.None; e = r.new.Next(e) {
		texts = append(texts, r.new.Raw(e))
	}
	for i, text := range texts { // those that stayed where they were come first
		if i < len(was) && was[i].is(text) {
			found[i], was[i].taken = was[i].node, true
		}
	}
	byText := newLookup(was)
	for i, text := range texts {
		if found[i] != jsondoc.None {
			continue
		}
		if at := byText.take(text, was); at >= 0 {
			found[i] = was[at].node
		} else {
			left = append(left, i)
		}
	}
	r.pair(p, found, left, was)
	return found
}

// pair matches the new elements that are equal to none with the old ones that are left, in order. If they are not as many, nobody knows which is which.
func (r *restorer) pair(p *place, found []jsondoc.Node, left []int, was []element) {
	rest := slices.DeleteFunc(was, func(e element) bool { return e.taken })
	private := slices.ContainsFunc(rest, func(e element) bool { return r.maskedIn(p.each, e.node) != "" })
	switch {
	case !private:
	case len(rest) == len(left):
		for i, at := range left {
			found[at] = rest[i].node
		}
	default:
		for _, e := range rest {
			r.lose(p.each, e.node)
		}
	}
}

// element is an element of an old array.
type element struct {
	node  jsondoc.Node
	shown []byte // without what is masked, in a form that is the same for equal values
	taken bool
}

// is tells whether a new element is equal to what is shown of the old one.
func (e *element) is(text []byte) bool {
	return bytes.Equal(e.shown, text) || bytes.Equal(e.shown, jsondoc.Dense(text))
}

// elementsOf returns the elements of an old array.
func (r *restorer) elementsOf(p *place, o jsondoc.Node) (all []element) {
	for e := r.old.First(o); e != jsondoc.None; e = r.old.Next(e) {
		all = append(all, element{node: e, shown: jsondoc.Dense(cut(nil, r.old, p.each, e))})
	}
	return all
}

// lookup finds old elements by what is shown of them.
type lookup map[string][]int

func newLookup(was []element) lookup {
	l := lookup{}
	for i, e := range was {
		if !e.taken {
			l[string(e.shown)] = append(l[string(e.shown)], i)
		}
	}
	return l
}

// take returns the place of an old element that is not taken and is equal to a new one, and takes it; -1 for none.
func (l lookup) take(text []byte, was []element) int {
	key := string(jsondoc.Dense(text))
	places := l[key]
	if len(places) == 0 {
		return -1
	}
	l[key] = places[1:]
	was[places[0]].taken = true
	return places[0]
}
