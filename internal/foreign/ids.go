package foreign

import (
	"cmp"
	"crypto/sha256"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of the look for a member that is the id.
const (
	idDocuments = 1000 // without an id that are looked at
	idMembers   = 100  // of the first one
	idProposals = 20
)

// IDs finds out which members could be the ids of documents that have none: those that each has, as a text or a number, no two the same. The
// zero value has seen no document.
type IDs struct {
	without int
	members []idMember // which could be
	tree    jsondoc.Tree
}

// idMember is a member that could be the id.
type idMember struct {
	name string
	seen map[[sha256.Size]byte]struct{} // the texts of its values
}

// Add looks at a document.
func (s *IDs) Add(body []byte) {
	t := &s.tree
	if t.Reset(body); len(body) > maxTree {
		defer func() { s.tree = jsondoc.Tree{} }()
	}
	if t.Member(jsondoc.Root, "id") != jsondoc.None {
		return
	}
	if s.without++; s.without > idDocuments {
		return
	}
	if s.without == 1 {
		for n := t.First(jsondoc.Root); n != jsondoc.None && len(s.members) < idMembers; n = t.Next(n) {
			if name := t.Key(n); len(name) <= maxName {
				s.members = append(s.members, idMember{name, map[[sha256.Size]byte]struct{}{}})
			}
		}
	}
	s.members = slices.DeleteFunc(s.members, func(m idMember) bool { return !m.takes(t) })
}

// takes tells whether the member could be the id of one more document.
func (m idMember) takes(t *jsondoc.Tree) bool {
	n := t.Member(jsondoc.Root, m.name)
	if n == jsondoc.None {
		return false
	}
	if kind := t.Kind(n); kind != jsondoc.String && kind != jsondoc.Number {
		return false
	}
	sum := sha256.Sum256([]byte(t.Text(n)))
	_, twice := m.seen[sum]
	m.seen[sum] = struct{}{}
	return !twice
}

// Without returns how many documents have no id.
func (s *IDs) Without() int { return s.without }

// Members returns the names of the members that could be the id, those first that are called like one.
func (s *IDs) Members() (names []string) {
	for _, m := range s.members {
		names = append(names, m.name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(likeness(a), likeness(b)) })
	return names[:min(len(names), idProposals)]
}

// likeID matches the names of members that most likely have ids.
var likeID = regexp.MustCompile(`^(?i:_id|key|uuid|guid|.*[_-]id)$|I[dD]$`)

// likeness returns 0 for a name that is like one of an id.
func likeness(name string) int {
	if likeID.MatchString(name) || strings.EqualFold(name, "id") {
		return 0
	}
	return 1
}
