package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Bounds of looking for misnamed members: the documents that are looked at, and the sentences of an answer.
const (
	misnamedSample = 32
	maxHints       = 8
)

// misnamed finds members that a query names, and that none of the first documents has, although each of some has one with a like name.
type misnamed struct {
	paths  [][]string
	hints  []string   // for each path, "" while nothing is like it
	looked int        // documents, up to the sample
	absent [][]string // the paths that no document has had, in the sample and after it
}

// misnamed returns what looks for the members that the query names.
func (q *Query) misnamed() misnamed {
	var paths [][]string
	for _, c := range q.conditions {
		paths = append(paths, c.compiled.Named()...)
	}
	add := func(x *model.Index) {
		if x == nil {
			return
		}
		for _, c := range x.Components {
			if c.Named != nil {
				paths = append(paths, c.Named...)
			} else if c.Expression == "" && c.Time == "" {
				paths = append(paths, namesOf(c.Path))
			}
		}
	}
	add(q.sort)
	if q.grouping != nil {
		add(q.grouping.by)
		for _, a := range q.grouping.compute {
			add(a.of)
		}
	}
	return misnamed{paths: paths, hints: make([]string, len(paths)), absent: slices.Clone(paths)}
}

// namesOf returns the names of a path up to its first array.
func namesOf(path model.Path) (names []string) {
	for _, step := range path {
		if step.Each() {
			break
		}
		names = append(names, step.Name)
	}
	return names
}

// look looks at a document: for hints, unless enough were looked at, and for members that no document has.
func (m *misnamed) look(doc *jsondoc.Tree) {
	if len(m.absent) > 0 {
		m.absent = slices.DeleteFunc(m.absent, func(path []string) bool { return hasMember(doc, path) })
	}
	if len(m.paths) == 0 || m.looked == misnamedSample {
		return
	}
	m.looked++
	for i := len(m.paths) - 1; i >= 0; i-- {
		has, hint := lookUp(doc, m.paths[i])
		if has {
			m.paths, m.hints = slices.Delete(m.paths, i, i+1), slices.Delete(m.hints, i, i+1)
		} else if m.hints[i] == "" {
			m.hints[i] = hint
		}
	}
}

// missing returns the object in which the first member of a path is missing, and that member's place in the path. It is len(path)
// where the document has them all, or something else than an object on the way.
func missing(doc *jsondoc.Tree, path []string) (in jsondoc.Node, i int) {
	at := jsondoc.Root
	for i, name := range path {
		if doc.Kind(at) != jsondoc.Object {
			break
		}
		next := doc.Member(at, name)
		if next == jsondoc.None {
			return at, i
		}
		at = next
	}
	return at, len(path)
}

// hasMember tells whether a document has the member at a path, or something else than an object on the way.
func hasMember(doc *jsondoc.Tree, path []string) bool {
	_, i := missing(doc, path)
	return i == len(path)
}

// lookUp tells what hasMember does. Otherwise the hint names a member that may be meant, "" for none.
func lookUp(doc *jsondoc.Tree, path []string) (has bool, hint string) {
	in, i := missing(doc, path)
	if i == len(path) {
		return true, ""
	}
	if hint = doc.Missing(in, path[i]); !jsondoc.Suggests(hint) {
		hint = ""
	}
	return false, hint
}

// never names the members that the query names, and that none of so many documents has; "" where too few were looked at, or each
// has some.
func (m *misnamed) never() string {
	if m.looked < misnamedSample || len(m.absent) == 0 {
		return ""
	}
	names := make([]string, 0, maxHints)
	for _, path := range m.absent[:min(len(m.absent), maxHints)] {
		if name := strconv.Quote(strings.Join(path, ".")); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}

// found returns a sentence for each misnamed member.
func (m *misnamed) found() (hints []string) {
	for _, hint := range m.hints {
		if hint != "" && !slices.Contains(hints, hint) && len(hints) < maxHints {
			hints = append(hints, hint)
		}
	}
	return hints
}
