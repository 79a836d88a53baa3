package modelfile

import (
	"slices"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// access reads who reads and writes a collection's documents, such as {read: [support], write: [accounting]}.
func (p *parser) access(n jsondoc.Node, at string) *model.Access {
	if p.tree.Kind(n) != jsondoc.Object {
		p.problem(at, "must be a mapping with read and write, each a list of roles")
		return nil
	}
	a := &model.Access{}
	p.members(n, at, func(member string, v jsondoc.Node) {
		at := at + "." + member
		switch member {
		case "read":
			a.Read = p.roles(v, at)
		case "write":
			a.Write = p.roles(v, at)
		default:
			p.problem(at, "unknown member; access has read and write")
		}
	})
	return a
}

// roles reads a list of roles, and returns it sorted.
func (p *parser) roles(n jsondoc.Node, at string) []string {
	var roles []string
	for c := range p.list(n, at, "roles") {
		if len(roles) == model.MaxRoles {
			p.problem(at, "has more than %d roles", model.MaxRoles)
			return roles
		}
		role := p.text(c, at)
		switch {
		case role == "": // told by text
		case !model.IsRole(role):
			p.problem(at, "%q cannot name a role: use [a-z][a-z0-9_-]*, at most %d bytes", role, model.MaxRoleLen)
		case slices.Contains(roles, role):
			p.problem(at, "names %s twice", role)
		default:
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return roles
}
