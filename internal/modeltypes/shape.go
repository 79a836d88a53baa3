package modeltypes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// shape is a type: a plain one, an array, or an object.
type shape struct {
	plain   string // its text; "" for the others
	element *shape // of an array
	object  bool
	open    bool // an object may have other members, too
	members []member
}

// member is one of an object.
type member struct {
	name     string
	of       *shape
	required bool
	derived  bool // the store writes it
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

// put adds a member that is not there. A derived one takes the place of another.
func (s *shape) put(name string, of *shape, derived bool) {
	if i := s.index(name); i < 0 {
		s.members = append(s.members, member{name: name, of: of, derived: derived})
	} else if derived {
		s.members[i] = member{name: name, of: of, derived: true}
	}
}

// at adds a member at a path, and makes the objects and arrays on the way to it.
func (s *shape) at(path model.Path, of *shape, derived bool) {
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
			s.put(path[i].Name, of, derived)
			return
		}
		if s.member(path[i].Name) == nil {
			s.put(path[i].Name, &shape{object: true, open: true}, false)
		}
		s = s.member(path[i].Name)
	}
}

// text returns the type as TypeScript, in lines that begin with an indent.
func (s *shape) text(indent string) string {
	switch {
	case s.plain != "":
		return s.plain
	case s.element != nil:
		of := s.element.text(indent)
		if strings.Contains(of, " | ") && !s.element.object {
			of = "(" + of + ")"
		}
		return of + "[]"
	}
	out := "{\n"
	for _, m := range s.members {
		out += indent + "  "
		if m.derived {
			out += "readonly "
		}
		out += property(m.name)
		if !m.required {
			out += "?"
		}
		out += ": " + m.of.text(indent+"  ") + ";\n"
	}
	if s.open {
		out += indent + "  [member: string]: unknown;\n"
	}
	return out + indent + "}"
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// property returns the name of a member as TypeScript has it.
func property(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return string(jsondoc.Quote(name))
}
