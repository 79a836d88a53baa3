package modeltypes

import (
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// shape is a type: one of JSON's, a value, one of several types, an array, or an object. The zero shape is any value.
type shape struct {
	plain   string // string, number, integer, boolean or null; "" for the others
	id      bool   // a string is an id, which documents may have as a number
	words   []word // what a schema says besides about a plain one or an array
	value   []byte // the only value, as JSON
	either  []*shape
	element *shape // of an array
	object  bool
	open    bool // a schema names none of an object's members
	closed  bool // no member is taken that a schema does not name
	members []member

	reference bool // a string is an id of another document, or null for none
}

// member is one of an object.
type member struct {
	name     string
	of       *shape
	required bool
	written  by
}

// by says who writes a member.
type by int

const (
	bySender by = iota
	byCounter
	byRule
)

// word is a keyword of JSON Schema with its value.
type word struct {
	name  string
	value []byte
}

// maxPrinted bounds the types that are copied from other ones, and those that are printed; more are any value. Copies of copies grow by powers. A name, or what
// else a schema says, counts as a type for each 64 bytes.
const (
	maxPrinted = 100_000
	nameBytes  = 64
)

// spend takes a type and its names, of so many bytes, off what may be printed yet. It tells whether it may be printed.
func spend(left *int, bytes int) bool {
	*left -= 1 + bytes/nameBytes
	return *left >= 0
}

// size returns how many bytes of the schema stand in the text of the type itself.
func (s *shape) size() int {
	if s == nil {
		return 0
	}
	n := len(s.value)
	for _, w := range s.words {
		n += len(w.value)
	}
	return n
}

// any tells whether a type is any value.
func (s *shape) any() bool {
	return s == nil || s.plain == "" && s.value == nil && s.either == nil && s.element == nil && !s.object
}

// index returns the place of a member, -1 where there is none.
func (s *shape) index(name string) int {
	return slices.IndexFunc(s.members, func(m member) bool { return m.name == name })
}

// member returns the type of a member, nil where it is not known.
func (s *shape) member(name string) *shape {
	if s == nil {
		return nil
	}
	if i := s.index(name); i >= 0 {
		return s.members[i].of
	}
	return nil
}

// put adds a member that is not there. One that the store writes takes the place of another.
func (s *shape) put(name string, of *shape, written by) {
	if i := s.index(name); i < 0 {
		s.members = append(s.members, member{name: name, of: of, written: written})
	} else if written != bySender {
		s.members[i] = member{name: name, of: of, written: written}
	}
}

// at adds a member at a path, and makes the objects and arrays on the way to it.
func (s *shape) at(path model.Path, of *shape, written by) {
	for i := 0; i < len(path); i++ {
		if path[i].Each() {
			if s.element == nil {
				*s = shape{element: &shape{object: true, open: true}}
			}
			if i == len(path)-1 {
				if !s.element.object || len(s.element.members) == 0 {
					s.element = of
				}
				return
			}
			s = s.element
			continue
		}
		if !s.object {
			*s = shape{object: true, open: true}
		}
		if i == len(path)-1 {
			s.put(path[i].Name, of, written)
			return
		}
		if s.member(path[i].Name) == nil {
			s.put(path[i].Name, &shape{object: true, open: true}, bySender)
		}
		s = s.member(path[i].Name)
	}
}

// without takes the members away that sees does not let through, by their places. An element of an array is the name -.
func (s *shape) without(at []string, sees func(names []string) bool) {
	if s == nil {
		return
	}
	for _, one := range s.either {
		one.without(at, sees)
	}
	s.element.without(append(at, "-"), sees)
	s.members = slices.DeleteFunc(s.members, func(m member) bool {
		names := slices.Concat(at, []string{m.name})
		if !sees(names) {
			return true
		}
		m.of.without(names, sees)
		return false
	})
	if s.element != nil && !sees(append(at, "-")) {
		*s.element = shape{}
	}
}

// withoutValues makes every list of values the type of its values, and drops what a schema says besides.
func (s *shape) withoutValues() {
	if s == nil {
		return
	}
	s.words = nil
	if s.value != nil {
		*s = shape{plain: kindOf(s.value)}
	}
	kinds := map[string]bool{}
	var distinct []*shape
	for _, one := range s.either {
		if one.withoutValues(); one.plain == "" || !kinds[one.plain] {
			distinct = append(distinct, one)
		}
		kinds[one.plain] = true
	}
	if s.either = distinct; len(distinct) == 1 {
		*s = *distinct[0]
	}
	s.element.withoutValues()
	for _, m := range s.members {
		m.of.withoutValues()
	}
}

// kindOf returns the type of a value that is neither an object nor an array.
func kindOf(value []byte) string {
	switch value[0] {
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// quoted returns a text as JSON.
func quoted(text string) string { return string(jsondoc.Quote(text)) }
