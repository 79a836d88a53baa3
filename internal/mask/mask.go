// Package mask takes members out of documents for readers who may not see them, and brings them into what such a reader writes.
package mask

import (
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Mask names the members of a collection's documents that a reader may not see. It may be used from many goroutines.
type Mask struct{ root *place }

// place is a place in a document on the way to masked members, or one of them.
type place struct {
	masked  string            // the path of the masked member; "" for a place on the way
	members map[string]*place // of an object
	each    *place            // of the elements of an array
}

// Of returns the mask of the members at some paths, nil for none. Each path ends at a member, and none leads into another.
func Of(paths []model.Path) *Mask {
	if len(paths) == 0 {
		return nil
	}
	root := &place{}
	for _, path := range paths {
		p := root
		for _, step := range path {
			p = p.step(step)
		}
		p.masked = path.String()
	}
	return &Mask{root}
}

// step returns the place to which a step leads, and makes it where it is not there.
func (p *place) step(s model.Step) *place {
	if s.Each() {
		if p.each == nil {
			p.each = &place{}
		}
		return p.each
	}
	if p.members == nil {
		p.members = map[string]*place{}
	}
	if p.members[s.Name] == nil {
		p.members[s.Name] = &place{}
	}
	return p.members[s.Name]
}

// Cut returns a document without its masked members. It writes each object on the way to one anew, whether it has the member or not, so that nothing tells
// whether one was there. A nil mask hides nothing.
func (m *Mask) Cut(doc []byte) []byte {
	if m == nil || doc == nil {
		return doc
	}
	t := &jsondoc.Tree{}
	if t.Parse(doc) != nil {
		return []byte("null") // nothing is known of what is in it
	}
	return cut(make([]byte, 0, len(doc)), t, m.root, jsondoc.Root)
}

// cut appends a value at a place, which is not masked, without what is masked in it.
func cut(dst []byte, t *jsondoc.Tree, p *place, n jsondoc.Node) []byte {
	kind := t.Kind(n)
	switch {
	case kind == jsondoc.Object && p.members != nil:
		dst = append(dst, '{')
	case kind == jsondoc.Array && p.each != nil:
		dst = append(dst, '[')
	default:
		return append(dst, t.Raw(n)...)
	}
	begin := len(dst)
	for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
		inner := p.inner(t, kind, c)
		if inner != nil && inner.masked != "" {
			continue
		}
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		if kind == jsondoc.Object {
			dst = append(append(dst, t.RawKey(c)...), ':')
		}
		if inner == nil {
			dst = append(dst, t.Raw(c)...)
		} else {
			dst = cut(dst, t, inner, c)
		}
	}
	return append(dst, t.Raw(n)[len(t.Raw(n))-1])
}

// inner returns the place of a member or an element of a value of a kind; nil where nothing is masked in it.
func (p *place) inner(t *jsondoc.Tree, kind jsondoc.Kind, c jsondoc.Node) *place {
	if kind == jsondoc.Object {
		return p.members[t.Key(c)]
	}
	return p.each
}

// Found returns the JSON pointers of the masked members that a document has, in its order. The document must be JSON.
func (m *Mask) Found(doc []byte) (pointers []string) {
	if m == nil {
		return nil
	}
	t := jsondoc.MustParse(doc)
	var find func(p *place, n jsondoc.Node)
	find = func(p *place, n jsondoc.Node) {
		if p.masked != "" {
			pointers = append(pointers, t.Pointer(n))
			return
		}
		for c := t.First(n); c != jsondoc.None; c = t.Next(c) {
			if inner := p.inner(t, t.Kind(n), c); inner != nil {
				find(inner, c)
			}
		}
	}
	find(m.root, jsondoc.Root)
	return pointers
}

// Hides returns the path of the masked member at a place or around it, "" for none. The names lead from the document; an index or - stands for an element.
func (m *Mask) Hides(names []string) string {
	if m == nil {
		return ""
	}
	path := ""
	m.root.along(names, func(p *place, _ []string) {
		if p.masked != "" {
			path = p.masked
		}
	})
	return path
}

// Check returns a Forbidden where part of a request about documents of a collection names a masked member, or a place in one: see Hides.
func (m *Mask) Check(part, collection string, names []string) error {
	if path := m.Hides(names); path != "" {
		return Refuse(part+" names", collection, path)
	}
	return nil
}

// Refuse returns the Forbidden of a request that does something with a masked member of a collection's documents.
func Refuse(does, collection, path string) error {
	return &fanfold.Error{Code: fanfold.Forbidden, Message: does + " " + path + " of " + collection + ", which is private: leave it out, or ask for a key with a role that sees it",
		Problems: []fanfold.Problem{{Path: path, Detail: "is private"}}}
}

// along calls fn with each place on the way to some names, and the names that are left.
func (p *place) along(names []string, fn func(p *place, rest []string)) {
	fn(p, names)
	if len(names) == 0 {
		return
	}
	if next := p.members[names[0]]; next != nil {
		next.along(names[1:], fn)
	}
	if p.each != nil && isElement(names[0]) {
		p.each.along(names[1:], fn)
	}
}

// isElement tells whether a name of a JSON pointer may stand for an element of an array.
func isElement(name string) bool {
	return name == "-" || name != "" && strings.Trim(name, "0123456789") == ""
}

// Touches returns the path of a masked member at a path, around it or in it, "" for none. A value made of those there may tell of it.
func (m *Mask) Touches(path model.Path) (masked string) {
	if m == nil {
		return ""
	}
	m.root.along(path.Names(), func(p *place, rest []string) {
		if p.masked != "" {
			masked = p.masked
		} else if len(rest) == 0 {
			masked = p.within()
		}
	})
	return masked
}

// within returns the path of a masked member at a place or in it.
func (p *place) within() string {
	if p.masked != "" {
		return p.masked
	}
	for _, inner := range p.members {
		if path := inner.within(); path != "" {
			return path
		}
	}
	if p.each != nil {
		return p.each.within()
	}
	return ""
}
