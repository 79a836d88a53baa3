package modelfile

import (
	"slices"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// actWrite is the member of a collection's access that stands for create, update and delete.
const actWrite = "write"

// access reads who reads and writes a collection's documents, such as {read: [support], write: [accounting]}.
func (p *parser) access(n jsondoc.Node, at string) *model.Access {
	if p.tree.Kind(n) != jsondoc.Object {
		p.problem(at, "must be a mapping with read and write, each a list of roles")
		return nil
	}
	a, written := &model.Access{}, ""
	someAccess.read(p, n, at, func(member, at string, v jsondoc.Node) {
		switch {
		case member == actWrite && written == "":
			a.Create = readRight(p, v, at, actWrite)
			a.Update, a.Delete = a.Create, a.Create
		case slices.Contains(model.Acts, member) && (member == model.ActRead || written != actWrite):
			*a.Of(member) = readRight(p, v, at, member)
		default:
			p.problem(at, "write stands for create, update and delete, and does not go beside them")
		}
		if member != model.ActRead {
			written = member
		}
	})
	a.LetWritersRead()
	return a
}

// readRight reads who has a right: a list of roles, or a mapping with such a list and an expression, such as {roles: [support], where: doc.open}.
func readRight(p *parser, n jsondoc.Node, at, act string) (r model.Right) {
	if p.tree.Kind(n) != jsondoc.Object {
		r.Roles = p.roles(n, at)
		return r
	}
	aRight.read(p, n, at, func(member, at string, v jsondoc.Node) {
		switch member {
		case "roles":
			r.Roles = p.roles(v, at)
		case "where":
			if r.Where = p.text(v, at); r.Where != "" {
				checkText(p, r.Where, at, ofRight(act))
			}
		}
	})
	return r
}

// ofRight returns what the expression of a right to an action sees.
func ofRight(act string) variables {
	known := func(source string) (*expr.Program, error) { return nil, access.ParseRule(act, source) }
	return variables{known, func(source string) (parts int, err error) { return access.CheckRule(act, source) }}
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
