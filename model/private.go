package model

import (
	"slices"
	"strings"
)

// Private says who sees a member of a collection's documents: whoever has one of some roles, and admin. Everybody else gets the documents without it.
type Private struct {
	Path  Path // through arrays, and to a member
	Roles []string
}

// PrivateOf returns the private members of a collection, by path.
func (m *Model) PrivateOf(collection string) []Private {
	if c := m.byName[collection]; c != nil {
		return c.Private
	}
	return nil
}

// samePrivate tells whether two collections say the same about who sees which members.
func samePrivate(a, b []Private) bool {
	return slices.EqualFunc(a, b, func(a, b Private) bool { return slices.Equal(a.Path, b.Path) && slices.Equal(a.Roles, b.Roles) })
}

// privateIn returns in words who sees a private member, "everybody who reads the document" for one that is not private.
func privateIn(all []Private, path string) string {
	i := slices.IndexFunc(all, func(p Private) bool { return p.Path.String() == path })
	switch {
	case i < 0:
		return "everybody who reads the document"
	case len(all[i].Roles) == 0:
		return "role " + RoleAdmin
	}
	return people(all[i].Roles)
}

// private adds which members are shown to others than before.
func (d *differ) private(at string, before, after []Private) {
	var paths []string
	for _, p := range slices.Concat(before, after) {
		if path := p.Path.String(); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		was, is := privateIn(before, path), privateIn(after, path)
		if was == is {
			continue
		}
		has := func(all []Private) bool {
			return slices.ContainsFunc(all, func(p Private) bool { return p.Path.String() == path })
		}
		d.add(Difference{Path: at + ".private." + path, Change: changeOf(has(before), has(after)),
			Detail: strings.Join([]string{is, "sees it; before it was", was}, " "), Removes: !has(after)})
	}
}
