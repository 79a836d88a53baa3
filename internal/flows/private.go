package flows

import (
	"slices"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/mask"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
)

// member is a private member of a collection.
type member struct {
	model.Private
	collection string
}

// privateRead returns the private members that a rule makes its value of, by itself. A value that is made of another derived one is private, or published, there.
func privateRead(m *model.Model, r *model.Rule) (all []member) {
	add := func(collection string, reads []place) {
		for _, p := range m.PrivateOf(collection) {
			if slices.ContainsFunc(reads, func(at place) bool { return at.touches(p.Path) }) || shows(m, r, p) {
				all = append(all, member{p, collection})
			}
		}
	}
	switch r.Kind {
	case model.Copy:
		add(r.Collection, []place{{path: r.Relation.Path}}) // it tells of the holder and its document
		add(r.Relation.To, expressions(r))
	case model.Computed:
		add(r.Collection, append(expressions(r), place{path: r.Of}))
	default:
		reads := append(expressions(r), place{path: r.Of}, place{path: r.OrderBy}, place{path: r.Relation.Path})
		add(r.Relation.Collection, reads)
	}
	return all
}

// shows tells whether a Recent has a private member among its fields, which is not private there.
func shows(m *model.Model, r *model.Rule, p model.Private) bool {
	if !slices.Contains(r.Fields, p.Path[0].Name) {
		return false
	}
	there := slices.Concat(r.Path, model.Path{{}}, p.Path)
	return !slices.ContainsFunc(m.PrivateOf(r.Collection), func(own model.Private) bool {
		return len(own.Path) <= len(there) && there.Overlaps(own.Path) && !slices.ContainsFunc(own.Roles, func(role string) bool { return !slices.Contains(p.Roles, role) })
	})
}

// place is one at which a rule looks: a path, nil for none, or names in which expr.AnyElement stands for an element.
type place struct {
	path  model.Path
	names []string
	known bool // names are the place
}

// touches tells whether a private member is at the place, around it or in it.
func (p place) touches(private model.Path) bool {
	if !p.known {
		return p.path != nil && p.path.Overlaps(private)
	}
	if mask.Of([]model.Path{private}).Hides(p.names) != "" {
		return true
	}
	path := make(model.Path, len(p.names))
	for i, name := range p.names {
		if path[i] = (model.Step{Name: name}); name == expr.AnyElement {
			path[i] = model.Step{}
		}
	}
	return path.Overlaps(private)
}

// expressions returns the places at which the expressions of a rule look. One that cannot be read looks at the whole document.
func expressions(r *model.Rule) (all []place) {
	for _, source := range []string{r.Value, r.Where} {
		if source == "" {
			continue
		}
		for _, variable := range []string{"doc", "element"} {
			paths, err := expr.PathsRead(source, variable)
			if err != nil {
				paths = [][]string{nil}
			}
			for _, names := range paths {
				if variable == "element" {
					names = append(r.Elements().Names(), names...)
				}
				all = append(all, place{names: names, known: true})
			}
		}
	}
	return all
}

// rolesOf returns who sees a private member.
func rolesOf(m *model.Model, collection, path string) []string {
	for _, p := range m.PrivateOf(collection) {
		if p.Path.String() == path {
			return p.Roles
		}
	}
	return nil
}

// privateAround returns the private member that a flow's field is, or in which it stands; nil for none.
func privateAround(m *model.Model, f wire.ModelFlow) *model.Private {
	path, err := model.ParsePath(f.Rule[len(f.To)+1:])
	if err != nil {
		return nil
	}
	for _, p := range m.PrivateOf(f.To) {
		if len(p.Path) <= len(path) && path.Overlaps(p.Path) {
			return &p
		}
	}
	return nil
}
