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

// Access says which roles read the documents of a collection, and which write them. A role that writes reads, too. The role
// admin does both everywhere.
type Access struct {
	Read, Write []string // sorted; empty for admin alone
}

// standardAccess holds for collections that declare no access, also those that nobody declares.
var standardAccess = &Access{Read: []string{RoleRead}, Write: []string{RoleWrite}}

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
	return slices.Equal(a.Read, b.Read) && slices.Equal(a.Write, b.Write)
}

func (a *Access) orStandard() *Access {
	if a == nil {
		return standardAccess
	}
	return a
}

// readers returns the roles that read: the roles of both lists, each once, sorted.
func (a *Access) readers() []string {
	all := slices.Concat(a.Read, a.Write)
	slices.Sort(all)
	return slices.Compact(all)
}

// SameAccess tells whether two models say the same about who reads and writes which collection.
func SameAccess(a, b *Model) bool {
	if a == b {
		return true
	}
	declares := func(m *Model) (out []*Collection) {
		for _, c := range m.Collections {
			if !c.Access.Same(nil) {
				out = append(out, c)
			}
		}
		return out
	}
	return slices.EqualFunc(declares(a), declares(b), func(a, b *Collection) bool { return a.Name == b.Name && a.Access.Same(b.Access) })
}

// changesOf returns in words what the step from one access to another opens and closes in a collection.
func (a *Access) changesOf(collection string, next *Access) string {
	a, next = a.orStandard(), next.orStandard()
	var said []string
	say := func(verb string, before, after []string) {
		if opened := without(after, before); len(opened) > 0 {
			said = append(said, people(opened)+" may "+verb+" it now")
		}
		if closed := without(before, after); len(closed) > 0 {
			said = append(said, people(closed)+" may not "+verb+" it any more")
		}
	}
	say("read", a.readers(), next.readers())
	say("write", a.Write, next.Write)
	if len(said) == 0 {
		said = []string{"nothing opens or closes"}
	}
	return collection + ": " + strings.Join(said, "; ")
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
