package fold

import (
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// ModelChange says what a new model changes on the documents that are there.
type ModelChange struct {
	Prev, Next   *Plan
	NewRules     map[string]bool           // names of rules that are new or changed
	rulesChanged map[string]bool           // collections whose rules came, went or changed
	relinked     map[string]bool           // full names of relations that came, went or changed
	staleEntries map[string]bool           // names of rules with entries or totals that went or changed
	Unique       map[string][]fanfold.Path // new unique members, by collection
	freed        map[string][]fanfold.Path // members that are no longer unique
	Strict       []*fanfold.Relation       // new strict relations
}

// CompareModels returns what changes where one model follows another.
func CompareModels(prev, next *Plan) *ModelChange {
	m := &ModelChange{Prev: prev, Next: next, NewRules: map[string]bool{}, rulesChanged: map[string]bool{},
		relinked: map[string]bool{}, staleEntries: map[string]bool{}}
	m.Strict, m.Unique = next.Model.NewGuards(prev.Model)
	_, m.freed = prev.Model.NewGuards(next.Model)
	m.compareRules()
	for _, r := range prev.Model.Relations() {
		if o := next.Model.Relation(r.FullName()); o == nil || !o.SameIDs(r) || (o.PageSize > 0) != (r.PageSize > 0) {
			m.relinked[r.FullName()] = true
		}
	}
	for _, r := range next.Model.Relations() {
		if o := prev.Model.Relation(r.FullName()); o == nil {
			m.relinked[r.FullName()] = true
		}
	}
	return m
}

// compareRules finds the rules that came, went or changed.
func (m *ModelChange) compareRules() {
	before := map[string]*Rule{}
	for _, r := range m.Prev.Rules {
		before[r.FullName] = r
	}
	for _, r := range m.Next.Rules {
		if old := before[r.FullName]; old == nil || !old.SameAs(r.Rule) {
			m.NewRules[r.FullName], m.rulesChanged[r.Collection] = true, true
			if old != nil && old.keepsRows() {
				m.staleEntries[r.FullName] = true
			}
		}
		delete(before, r.FullName)
	}
	if m.limitChanged() { // which values there is room for
		for _, r := range m.Next.Rules {
			m.rulesChanged[r.Collection] = true
		}
	}
	for _, r := range before {
		m.rulesChanged[r.Collection] = true
		if r.keepsRows() {
			m.staleEntries[r.FullName] = true
		}
	}
}

// LeavesDocuments returns whether no document is concerned: no rule, relation, pages or unique member came, went or
// changed, and views may be as long as before.
func (m *ModelChange) LeavesDocuments() bool {
	return len(m.rulesChanged)+len(m.relinked)+len(m.Unique)+len(m.freed)+len(m.Strict) == 0
}

// limitChanged returns whether views may be longer, or shorter, than before.
func (m *ModelChange) limitChanged() bool {
	return m.Prev.Model.EmbeddedLimit != m.Next.Model.EmbeddedLimit
}

// keepsRows returns whether documents enter something into the rule besides their links.
func (r *Rule) keepsRows() bool { return r.KeepsOrder() || r.KeepsTotals() }

// unchangedRules returns the names of the rules that both models have.
func (m *ModelChange) unchangedRules() map[string]bool {
	names := map[string]bool{}
	for _, r := range m.Next.Rules {
		if !m.NewRules[r.FullName] {
			names[r.FullName] = true
		}
	}
	return names
}

// relinks returns whether documents of a collection have to be linked again, or entered into new rules.
func (m *ModelChange) relinks(collection string) bool {
	c := m.Next.Collection(collection)
	return len(m.Unique[collection]) > 0 || slices.ContainsFunc(c.Counters, m.refills) ||
		slices.ContainsFunc(c.Relations, func(r *fanfold.Relation) bool { return m.relinked[r.FullName()] })
}

// refills returns whether documents have to be entered into a rule again, because it is new or changed.
func (m *ModelChange) refills(r *Rule) bool {
	return m.NewRules[r.FullName] && r.keepsRows()
}

// Work returns about how many documents a model event works on, each as often as it does. The error is the read
// model's.
func (m *ModelChange) Work(s *sqlite.Snapshot) (total int64, err error) {
	names, counts, err := s.Collections()
	for i, name := range names {
		if m.relinks(name) {
			total += counts[i]
		}
		if m.rulesChanged[name] {
			total += 3 * counts[i] // taken out, computed, compared
		}
	}
	return total, err
}

// ShapeOf returns the shape by which the change of a collection's documents is described: with the members that the
// model before owned, released or not.
func (m *ModelChange) ShapeOf(collection string) *fanfold.Shape {
	paths := slices.Clone(m.Next.Reserved[collection])
	for _, r := range m.Prev.Collection(collection).Rules {
		paths = append(paths, r.Paths()...)
	}
	return fanfold.NewShape(m.Next.Model.Collection(collection), paths)
}

// claims returns whether the model makes a member unique that was not; m may be nil.
func (m *ModelChange) claims(collection string, path fanfold.Path) bool {
	return m != nil && fanfold.HasPath(m.Unique[collection], path)
}

// Entangled returns the names of rules that both models have and by which values stay on their holders that come from
// members which the new model changes. What stays there depends on when the model came, so that it cannot be prepared.
func (m *ModelChange) Entangled() (names []string) {
	altered := m.alteredMembers()
	unchanged := m.unchangedRules()
	for _, r := range m.Next.Rules {
		if r.KeepsValues() && unchanged[r.FullName] && altered.readBy(r, r.Relation.To) {
			names = append(names, r.FullName)
		}
	}
	return names
}

// memberSet holds top-level members, by collection.
type memberSet map[string]map[string]bool

// add adds the members of a collection in which values of its rules stand, and returns whether one was not there. They
// are all of them, because one value may leave the others no room.
func (s memberSet) add(collection string, rules []*Rule) (grew bool) {
	if s[collection] == nil {
		s[collection] = map[string]bool{}
	}
	for _, r := range rules {
		if r.Collection != collection {
			continue
		}
		for name := range r.TopMembers() {
			grew = grew || !s[collection][name]
			s[collection][name] = true
		}
	}
	return grew
}

// readBy returns whether the rule can look at one of the collection's members.
func (s memberSet) readBy(r *Rule, collection string) bool {
	return len(s[collection]) > 0 && r.ReadsAny(s[collection])
}

// alteredMembers returns the members whose values the new model may change: those of rules that came, went or changed,
// and of all rules that read such a member, directly or by others.
func (m *ModelChange) alteredMembers() memberSet {
	altered := memberSet{}
	unchanged := m.unchangedRules()
	all := slices.Concat(m.Prev.Rules, m.Next.Rules)
	for _, r := range all {
		if !unchanged[r.FullName] || m.limitChanged() {
			altered.add(r.Collection, all)
		}
	}
	for grew := true; grew; {
		grew = false
		for _, r := range all {
			read := false
			switch r.Kind {
			case fanfold.Copy:
				read = altered.readBy(r, r.Relation.To)
			case fanfold.Recent:
				read = altered.readBy(r, r.Relation.Collection)
			}
			if read && altered.add(r.Collection, all) {
				grew = true
			}
		}
	}
	return altered
}
