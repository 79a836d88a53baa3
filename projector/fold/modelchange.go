package fold

import (
	"maps"
	"slices"

	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// ModelChange says what a new model, or a new version of the fold, changes on the documents that are there.
type ModelChange struct {
	Prev, Next   *Plan
	Models       *model.Comparison          // of the two plans' models
	NewRules     map[string]bool            // names of rules that are new or changed
	AddedRules   map[string]bool            // the removed ones whose path belonged to no rule before
	refolded     map[string]bool            // names of rules that both have, and that are computed otherwise: under another fold version, or over derived members
	rulesChanged map[string]bool            // collections whose rules came, went or changed, or are placed in another order
	reordered    map[string]bool            // collections whose rules are placed in another order than before
	relinked     map[string]bool            // full names of relations that came, went or changed
	staleEntries map[string]bool            // names of rules with entries or totals that went or changed
	KeptValues   []model.KeptValuesOutcome  // what becomes of values that stay on documents
	lost         []string                   // names of rules whose kept values are dropped
	retiring     []string                   // names of rules that go, and whose kept values stay stored
	restored     map[string]bool            // names of rules that are new or changed, and show values that are stored already
	returned     model.Retired              // what they were before, for those that come back
	Unique       map[string][]*model.Unique // what is newly unique, by collection
	freed        map[string][]*model.Unique // what is no longer unique
	Strict       []*model.Relation          // new strict relations
	NewIndexes   []*model.Index             // that are new or changed, by collection and name
	goneIndexes  []*model.Index             // that went or changed
}

// newModelChange returns what changes where one plan follows another. c compares their models, and kept is what becomes of
// values that stay on documents.
func newModelChange(prev, next *Plan, c *model.Comparison, kept []model.KeptValuesOutcome) *ModelChange {
	m := &ModelChange{Prev: prev, Next: next, Models: c, KeptValues: kept, freed: c.NoLongerUnique(), NewRules: map[string]bool{}, AddedRules: map[string]bool{},
		refolded: map[string]bool{}, rulesChanged: map[string]bool{}, reordered: map[string]bool{}, relinked: map[string]bool{}, staleEntries: map[string]bool{}, restored: map[string]bool{}}
	m.Strict, m.Unique = c.NewGuards()
	for _, pair := range c.Collections {
		for _, p := range pair.Rules {
			m.compareRule(p)
		}
	}
	m.compareIndexes()
	m.compareKeptValues()
	m.compareOrder()
	for _, pair := range c.Collections {
		for _, p := range pair.Relations {
			m.compareRelation(p)
		}
	}
	return m
}

// compareIndexes notes the indexes that came, went or changed.
func (m *ModelChange) compareIndexes() {
	for _, pair := range m.Models.Collections {
		for _, p := range pair.Indexes {
			if p.Same() {
				continue
			}
			if p.Next != nil {
				m.NewIndexes = append(m.NewIndexes, p.Next)
			}
			if p.Prev != nil {
				m.goneIndexes = append(m.goneIndexes, p.Prev)
			}
		}
	}
}

// EvaluatedAnew returns the names of the rules and indexes that are new or changed, as they are told to a Reporter.
func (m *ModelChange) EvaluatedAnew() map[string]bool {
	names := maps.Clone(m.NewRules)
	for _, x := range m.NewIndexes {
		names[IndexRule(x)] = true
	}
	return names
}

// builds returns whether new indexes of a collection are built.
func (m *ModelChange) builds(collection string) bool {
	return slices.ContainsFunc(m.NewIndexes, func(x *model.Index) bool { return x.Collection == collection })
}

// derivedIDs returns whether the rule goes by a relation over derived ids.
func (r *Rule) derivedIDs() bool { return r.Relation != nil && r.Relation.Derived() }

// compareRelation notes a relation whose links are made anew. It looks at NewRules.
func (m *ModelChange) compareRelation(p model.RelationPair) {
	switch {
	case p.Prev == nil:
		m.relinked[p.Next.FullName()] = true
	case !p.SameIDs() || (p.Next.PageSize > 0) != (p.Prev.PageSize > 0) || m.derivesAnew(p.Prev, p.Next):
		m.relinked[p.Prev.FullName()] = true
	}
}

// Relinked returns the full names of relations whose links the model makes anew or removes, in order.
func (m *ModelChange) Relinked() []string { return slices.Sorted(maps.Keys(m.relinked)) }

// MayRelink returns the full names of relations over derived ids that stay, if the model may change their documents' references.
func (m *ModelChange) MayRelink() (names []string) {
	altered := m.alteredMembers()
	for _, r := range m.Next.derived {
		if !m.relinked[r.FullName()] && altered.gives(r) {
			names = append(names, r.FullName())
		}
	}
	return names
}

// derivesAnew returns whether both models have the relation and its derived ids may differ: a rule that gives them, or that
// these depend on, came, went or changed.
func (m *ModelChange) derivesAnew(prev, next *model.Relation) bool {
	before := map[string]bool{}
	for _, r := range prev.Origins {
		before[r.Name()] = true
	}
	return len(prev.Origins) != len(next.Origins) || slices.ContainsFunc(next.Origins, func(r *model.Rule) bool {
		return m.NewRules[r.Name()] || !before[r.Name()]
	})
}

// compareRule notes a rule that came, went or changed, or is computed otherwise.
func (m *ModelChange) compareRule(p model.RulePair) {
	if p.Next == nil {
		old := m.Prev.Rules[p.Prev.Index]
		m.rulesChanged[old.Collection] = true
		if old.keepsRows() {
			m.staleEntries[old.FullName] = true
		}
		return
	}
	r, changed := m.Next.Rules[p.Next.Index], true
	if p.Prev == nil {
		m.NewRules[r.FullName], m.AddedRules[r.FullName] = true, true
	} else if old := m.Prev.Rules[p.Prev.Index]; !p.Same() {
		m.NewRules[r.FullName] = true
		if old.keepsRows() {
			m.staleEntries[r.FullName] = true
		}
	} else if r.EntersDerived != old.EntersDerived || r.derivedIDs() != old.derivedIDs() || !r.Frozen && m.differs(r) { // what is frozen is what it was
		m.refolded[r.FullName] = true
		if r.keepsRows() || old.keepsRows() {
			m.staleEntries[r.FullName] = true
		}
	} else {
		changed = m.limitChanged() // which values there is room for
	}
	if changed {
		m.rulesChanged[r.Collection] = true
	}
}

// compareKeptValues finds what the fold does to values that stay on documents. It looks at NewRules.
func (m *ModelChange) compareKeptValues() {
	for _, o := range m.KeptValues {
		switch name := o.Name(); {
		case !o.Stays:
			m.lost = append(m.lost, name)
		case !o.HasRule && o.HadRule:
			m.retiring = append(m.retiring, name)
		case o.HasRule && m.NewRules[name]:
			m.restored[name] = true
			if !o.HadRule {
				m.returned = append(m.returned, o.KeepingRule)
			}
		}
	}
}

// Restores returns whether the rule is new or changed, and shows values that are stored already.
func (m *ModelChange) Restores(rule string) bool { return m.restored[rule] }

// returns returns whether the rule comes back, and shows values that are stored.
func (m *ModelChange) returns(r *Rule) bool {
	return slices.ContainsFunc(m.returned, func(k model.KeepingRule) bool { return k.Name() == r.FullName })
}

// Retiring returns the names of the rules that go, and whose kept values stay stored.
func (m *ModelChange) Retiring() []string { return m.retiring }

// differs returns whether the rule may give other values under the new version of the fold.
func (m *ModelChange) differs(r *Rule) bool { return differs(r, m.Prev.Version, m.Next.Version) }

// compareOrder finds the collections whose rules are placed in another order, because a rule that they read came, went or
// changed. Views may then have room for other values.
func (m *ModelChange) compareOrder() {
	unchanged := m.unchangedRules()
	order := func(p *Plan) map[string][]string {
		names := map[string][]string{}
		for _, r := range p.Rules {
			if unchanged[r.FullName] {
				names[r.Collection] = append(names[r.Collection], r.FullName)
			}
		}
		return names
	}
	before := order(m.Prev)
	for collection, names := range order(m.Next) {
		if !slices.Equal(names, before[collection]) {
			m.reordered[collection], m.rulesChanged[collection] = true, true
		}
	}
}

// LeavesDocuments returns whether the model concerns no document. Rules, relations, pages and unique members are the
// same, no index came or changed, and views may be as long as before.
func (m *ModelChange) LeavesDocuments() bool {
	return len(m.rulesChanged)+len(m.relinked)+len(m.Unique)+len(m.freed)+len(m.Strict)+len(m.NewIndexes) == 0
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
	return len(m.Unique[collection]) > 0 || slices.ContainsFunc(c.Counters, func(r *Rule) bool { return m.refills(r) && !r.EntersDerived }) ||
		slices.ContainsFunc(c.Relations, func(r *model.Relation) bool { return m.relinked[r.FullName()] })
}

// refills returns whether documents have to be entered into a rule again, because it is new or changed, or folded by another
// version.
func (m *ModelChange) refills(r *Rule) bool {
	return (m.NewRules[r.FullName] || m.refolded[r.FullName]) && r.keepsRows()
}

// Work returns about how many documents a model event works on, each as often as it does. The error is the read
// model's.
func (m *ModelChange) Work(s *sqlite.Snapshot) (total int64, err error) {
	counts, err := s.CountCollections()
	for name, count := range counts {
		if m.relinks(name) {
			total += count
		}
		if m.rulesChanged[name] { // what went is taken out, and what changed is compared
			total += 2 * count
		}
		if m.builds(name) {
			total += count
		}
		total += count * m.passes(name)
	}
	return total, err
}

// passes returns how often all documents of a collection are worked on while levels are worked off. It counts one for each
// rule that they enter then, and one for each level with rules of theirs to compute anew.
func (m *ModelChange) passes(collection string) (n int64) {
	for _, r := range m.Next.Collection(collection).derivedCounters {
		if m.refills(r) {
			n++
		}
	}
	levels := map[int]bool{}
	for _, r := range m.Next.Collection(collection).Rules {
		if m.NewRules[r.FullName] || m.refolded[r.FullName] {
			levels[r.Level] = true
		}
	}
	return n + int64(len(levels))
}

// ShapeOf returns the shape by which the change of a collection's documents is described: with the members that the
// model before owned, released or not.
func (m *ModelChange) ShapeOf(collection string) *model.Shape {
	paths := slices.Clone(m.Next.Reserved[collection])
	for _, r := range m.Prev.Collection(collection).Rules {
		paths = append(paths, r.Paths()...)
	}
	return model.NewShape(m.Next.Model.Collection(collection), paths)
}

// claims returns whether the model makes something unique that was not; m may be nil.
func (m *ModelChange) claims(collection string, u *model.Unique) bool {
	return m != nil && model.HasUnique(m.Unique[collection], u)
}

// Entangled returns the names of rules that cannot be prepared. Their values stay on their holders under both models and come
// from members that the model or the fold version changes. Or the model changes the rule, which goes on showing its taken
// values. So are those whose values go although the rule stays, because its ids begin or cease to be derived. These values
// depend on when the model came. So do places in pages by a relation of both models with derived ids that it may change, whose
// name is among them.
func (m *ModelChange) Entangled() (names []string) {
	altered := m.alteredMembers()
	unchanged := m.unchangedRules()
	for _, r := range m.Next.Rules {
		if m.restored[r.FullName] && !m.returns(r) || r.KeepsValues() && unchanged[r.FullName] && (m.differs(r) || slices.Contains(m.lost, r.FullName) || altered.readBy(r, r.Relation.To) || altered.gives(r.Relation)) {
			names = append(names, r.FullName)
		}
	}
	for _, r := range m.Next.derived { // relations whose documents get their places when they begin to refer
		if r.PageSize > 0 && !m.relinked[r.FullName()] && altered.gives(r) {
			names = append(names, r.FullName())
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

// gives returns whether ids of the relation can stand in one of the members.
func (s memberSet) gives(r *model.Relation) bool {
	return r.Derived() && s[r.Collection][r.Path[0].Name]
}

// mayAlter returns whether the value of the rule may be another because of the members.
func (s memberSet) mayAlter(r *Rule) bool {
	switch r.Kind {
	case model.Copy:
		return s.readBy(r, r.Relation.To) || s.gives(r.Relation)
	case model.Computed:
		return s.readBy(r, r.Collection)
	}
	members := s[r.Relation.Collection]
	return len(members) > 0 && r.ReadsHolderMembers(members)
}

// alteredMembers returns the members whose values the new model may change. Their rules came, went or changed, or
// read such a member, directly or by others.
func (m *ModelChange) alteredMembers() memberSet {
	altered := memberSet{}
	unchanged := m.unchangedRules()
	all := slices.Concat(m.Prev.Rules, m.Next.Rules)
	for _, r := range all {
		if !unchanged[r.FullName] || m.refolded[r.FullName] || m.limitChanged() || m.reordered[r.Collection] {
			altered.add(r.Collection, all)
		}
	}
	for grew := true; grew; {
		grew = false
		for _, r := range all {
			if altered.mayAlter(r) && altered.add(r.Collection, all) {
				grew = true
			}
		}
	}
	return altered
}
