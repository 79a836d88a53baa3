package modeltypes

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/model"
)

// Header is the first line of what TypeScript returns, by which a file is known that may be written anew.
const Header = "// Made by fanfold model types. Do not change it: make it again.\n"

// TypeScript returns an interface for each collection that a model declares, by name, and Models, which has them by the names of the collections. Members that
// the store writes are readonly.
func TypeScript(m *model.Model) []byte {
	w := newWriter(m, nil)
	w.free = func(name string) bool { return name != "Models" }
	left := maxPrinted
	var out, models bytes.Buffer
	out.WriteString(Header)
	for _, c := range m.Collections {
		name := w.nameOf(c.Name)
		fmt.Fprintf(&out, "\n/** A document of %s. */\nexport interface %s %s\n", c.Name, name, w.types[c.Name].typescript("", &left))
		fmt.Fprintf(&models, "  %s: %s;\n", property(c.Name), name)
	}
	fmt.Fprintf(&out, "\nexport interface Models {\n%s}\n", models.Bytes())
	return out.Bytes()
}

// typescript returns the type as TypeScript, in lines that begin with an indent. It counts what is left to be printed down.
func (s *shape) typescript(indent string, left *int) string {
	if !spend(left, s.size()) || s.any() {
		return "unknown"
	}
	switch {
	case s.value != nil:
		return string(s.value)
	case s.plain == "integer":
		return "number"
	case s.plain != "":
		return s.plain
	case s.either != nil:
		var texts []string
		for _, one := range s.either {
			if text := one.typescript(indent, left); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		if slices.Contains(texts, "unknown") {
			return "unknown"
		}
		return strings.Join(texts, " | ")
	case s.element != nil:
		of := s.element.typescript(indent, left)
		if s.element.either != nil && strings.Contains(of, " | ") {
			of = "(" + of + ")"
		}
		return of + "[]"
	}
	var out strings.Builder
	out.WriteString("{\n")
	for _, m := range s.members {
		if !spend(left, len(m.name)) {
			break
		}
		out.WriteString(indent + "  ")
		if m.written != bySender {
			out.WriteString("readonly ")
		}
		out.WriteString(property(m.name))
		if !m.required {
			out.WriteString("?")
		}
		out.WriteString(": " + m.of.typescript(indent+"  ", left) + ";\n")
	}
	if s.open {
		out.WriteString(indent + "  [member: string]: unknown;\n")
	}
	return out.String() + indent + "}"
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// property returns the name of a member as TypeScript has it.
func property(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return quoted(name)
}
