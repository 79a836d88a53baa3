package fold

import (
	"slices"

	"github.com/fanfold/fanfold/model"
)

// Scope says which stored documents a new model can change: by which rules, and in which collections. All else stays
// as it is stored.
type Scope struct {
	Rules       map[*Rule]bool  // of the next plan, that may give other values than are stored
	Collections map[string]bool // whose documents may change
	whole       map[string]bool // the collections on whose documents every value is to be computed
	altered     memberSet
}

// Scope returns what the change concerns: the rules that came, went, changed or are folded otherwise, and those that read
// what these give, over any number of steps. wholly takes every value of their documents for one that may change, which is
// so where views have no room for all values: a longer one may displace any other. The scope is to be taken wholly if that
// may be so on stored documents (MayDisplace), or shows on a document under the next model.
func (m *ModelChange) Scope(wholly bool) *Scope {
	s := &Scope{Rules: map[*Rule]bool{}, Collections: map[string]bool{}, whole: map[string]bool{}}
	if s.altered = m.alteredMembers(); !wholly {
		s.altered = m.membersOfChanged()
	}
	unchanged := m.unchangedRules()
	for _, r := range m.Prev.Rules {
		if !unchanged[r.FullName] {
			s.Collections[r.Collection] = true
		}
	}
	for _, r := range m.Next.Rules {
		if m.NewRules[r.FullName] || m.refolded[r.FullName] || s.altered.mayAlter(r) || wholly && len(s.altered[r.Collection]) > 0 {
			s.Rules[r], s.Collections[r.Collection] = true, true
			if wholly || r.derivedIDs() { // whose ids stand in a view of their own, which is made of the levels before
				s.whole[r.Collection] = true
			}
		}
	}
	return s
}

// MayDisplace returns whether a scope is to be taken wholly from the start. It is if the limit of views changes, or if some
// stored views have no room for all their values, as omitted says.
func (m *ModelChange) MayDisplace(omitted bool) bool { return omitted || m.limitChanged() }

// Computes returns whether the rule's value on a document of its collection is to be computed, and not taken from what is
// stored.
func (s *Scope) Computes(r *Rule) bool { return s.whole[r.Collection] || s.Rules[r] }

// Whole returns whether every value of a collection's documents is to be computed.
func (s *Scope) Whole(collection string) bool { return s.whole[collection] }

// Relinks returns whether links of a relation are other ones than those that are stored, or may be.
func (s *Scope) Relinks(m *ModelChange, r *model.Relation) bool {
	return m.relinked[r.FullName()] || s.altered.gives(r)
}

// membersOfChanged returns the members whose values the new model changes if every view has room for all. Their rules
// came, went, changed, are folded otherwise, or read such a member, directly or by others.
func (m *ModelChange) membersOfChanged() memberSet {
	altered := memberSet{}
	unchanged := m.unchangedRules()
	all := slices.Concat(m.Prev.Rules, m.Next.Rules)
	for _, r := range all {
		if !unchanged[r.FullName] || m.refolded[r.FullName] {
			altered.add(r.Collection, []*Rule{r})
		}
	}
	for grew := true; grew; {
		grew = false
		for _, r := range all {
			if altered.mayAlter(r) && altered.add(r.Collection, []*Rule{r}) {
				grew = true
			}
		}
	}
	return altered
}
