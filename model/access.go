package model

import (
	"slices"
	"strings"
)

// The roles that every model knows without being told.
const (
	RoleAdmin    = "admin"    // may do everything
	RoleWrite    = "write"    // writes collections that say nothing else
	RoleRead     = "read"     // reads collections that say nothing else
	RoleMonitor  = "monitor"  // sees how nodes stand
	RoleEveryone = "everyone" // every principal has it, and nobody can be given it
)

// Bounds of roles.
const (
	MaxRoles   = 32 // in a list
	MaxRoleLen = 64 // bytes of a name
)

// IsRole tells whether a text can name a role: [a-z][a-z0-9_-]*, at most MaxRoleLen bytes.
func IsRole(name string) bool {
	if name == "" || len(name) > MaxRoleLen || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) < 0
}

// Access says who reads, creates, updates and deletes the documents of a collection. Whoever has a role that updates or deletes reads, too. The role
// admin does everything everywhere.
type Access struct {
	Read, Create, Update, Delete Right
}

// Right says who has a right: whoever has one of some roles has it to every document, and everybody else to those for which an expression is true.
type Right struct {
	Roles []string // sorted; with no roles and no expression it is admin's alone
	Where string   // a CEL expression over a document and auth, who asks; "" for none
}

// The actions for which a collection's access has a right each.
const (
	ActRead   = "read"
	ActCreate = "create"
	ActUpdate = "update"
	ActDelete = "delete"
)

// Acts lists the actions.
var Acts = []string{ActRead, ActCreate, ActUpdate, ActDelete}

// Of returns the right to an action.
func (a *Access) Of(act string) *Right {
	switch act {
	case ActCreate:
		return &a.Create
	case ActUpdate:
		return &a.Update
	case ActDelete:
		return &a.Delete
	}
	return &a.Read
}

// standardAccess holds for collections that declare no access, also those that nobody declares.
var standardAccess = func() *Access {
	write := Right{Roles: []string{RoleWrite}}
	return &Access{Right{Roles: []string{RoleRead, RoleWrite}}, write, write, write}
}()

// AccessTo returns who may read and write a collection.
func (m *Model) AccessTo(collection string) *Access {
	if c := m.byName[collection]; c != nil && c.Access != nil {
		return c.Access
	}
	return standardAccess
}

// Same tells whether two say the same. A nil one says what holds for collections that declare no access.
func (a *Access) Same(b *Access) bool {
	a, b = a.orStandard(), b.orStandard()
	return !slices.ContainsFunc(Acts, func(act string) bool { return !a.Of(act).same(b.Of(act)) })
}

// same tells whether two say the same.
func (r *Right) same(o *Right) bool { return r.Where == o.Where && slices.Equal(r.Roles, o.Roles) }

func (a *Access) orStandard() *Access {
	if a == nil {
		return standardAccess
	}
	return a
}

// LetWritersRead gives those who update or delete the right to read. Whoever only creates documents may not read what others created.
func (a *Access) LetWritersRead() {
	all := slices.Concat(a.Read.Roles, a.Update.Roles, a.Delete.Roles)
	slices.Sort(all)
	a.Read.Roles = slices.Compact(all)
}

// HasRules tells whether the access of a collection is more than two lists of roles, for reading and for writing, or a member is private.
func (m *Model) HasRules() bool {
	return slices.ContainsFunc(m.Collections, func(c *Collection) bool {
		a := c.Access.orStandard()
		return !a.WritesAlike() || a.Read.Where != "" || a.Create.Where != "" || len(c.Private) > 0
	})
}

// SameAccess tells whether two models say the same about who reads and writes which collection, and who sees which members.
func SameAccess(a, b *Model) bool {
	if a == b {
		return true
	}
	declares := func(m *Model) (out []*Collection) {
		for _, c := range m.Collections {
			if !c.Access.Same(nil) || len(c.Private) > 0 {
				out = append(out, c)
			}
		}
		return out
	}
	return slices.EqualFunc(declares(a), declares(b), func(a, b *Collection) bool {
		return a.Name == b.Name && a.Access.Same(b.Access) && samePrivate(a.Private, b.Private)
	})
}

// changesOf returns in words what the step from one access to another opens and closes in a collection.
func (a *Access) changesOf(collection string, next *Access) string {
	a, next = a.orStandard(), next.orStandard()
	var said []string
	for _, verbs := range a.verbsOf(next) {
		before, after := a.Of(verbs[0]), next.Of(verbs[0])
		verb := strings.Join(verbs, ", ")
		if len(verbs) == len(Acts)-1 {
			verb = "write"
		}
		if opened := without(after.Roles, before.Roles); len(opened) > 0 {
			said = append(said, people(opened)+" may "+verb+" it now")
		}
		if closed := without(before.Roles, after.Roles); len(closed) > 0 {
			said = append(said, people(closed)+" may not "+verb+" it any more")
		}
		switch {
		case before.Where == after.Where:
		case after.Where == "":
			said = append(said, "nobody may "+verb+" its documents by an expression any more")
		default:
			said = append(said, "whoever has none of the roles may "+verb+" documents where "+after.Where)
		}
	}
	if len(said) == 0 {
		said = []string{"nothing opens or closes"}
	}
	return collection + ": " + strings.Join(said, "; ")
}

// WritesAlike tells whether the same may create, update and delete documents.
func (a *Access) WritesAlike() bool { return a.Create.same(&a.Update) && a.Create.same(&a.Delete) }

// verbsOf returns the actions in groups: those that write stand together where both accesses give them in the same way.
func (a *Access) verbsOf(next *Access) [][]string {
	for _, x := range []*Access{a, next} {
		if !x.WritesAlike() {
			return [][]string{{ActRead}, {ActCreate}, {ActUpdate}, {ActDelete}}
		}
	}
	return [][]string{{ActRead}, {ActCreate, ActUpdate, ActDelete}}
}

// without returns the roles of one list that do not have what another list gives: everyone has every role's.
func without(names, others []string) (out []string) {
	if slices.Contains(others, RoleEveryone) {
		return nil
	}
	for _, name := range names {
		if !slices.Contains(others, name) {
			out = append(out, name)
		}
	}
	return out
}

// people names some roles.
func people(roles []string) string {
	if slices.Contains(roles, RoleEveryone) {
		return RoleEveryone
	}
	if len(roles) == 1 {
		return "role " + roles[0]
	}
	return "roles " + strings.Join(roles[:len(roles)-1], ", ") + " and " + roles[len(roles)-1]
}
