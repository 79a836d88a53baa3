package projector

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/sqlite"
)

// remodel is what a new model changes on the documents that are there.
type remodel struct {
	prev, next *plan
	fresh      map[string]bool           // names of rules that are new or changed
	touched    map[string]bool           // collections whose rules came, went or changed
	relations  map[string]bool           // full names of relations that came, went or changed
	gone       map[string]bool           // names of rules that kept something of children, and went or changed
	unique     map[string][]fanfold.Path // new unique members, by collection
	freed      map[string][]fanfold.Path // members that are no longer unique
	strict     []*fanfold.Relation       // new strict relations
}

func compare(prev, next *plan) *remodel {
	m := &remodel{prev: prev, next: next, fresh: map[string]bool{}, touched: map[string]bool{}, relations: map[string]bool{}, gone: map[string]bool{}}
	m.strict, m.unique = next.model.NewGuards(prev.model)
	_, m.freed = prev.model.NewGuards(next.model)
	before := map[string]*rulePlan{}
	for _, r := range prev.rules {
		before[r.name] = r
	}
	for _, r := range next.rules {
		if old := before[r.name]; old == nil || !old.SameAs(r.Rule) {
			m.fresh[r.name], m.touched[r.Collection] = true, true
			if old != nil && (old.sorted() || old.totals()) {
				m.gone[r.name] = true
			}
		}
		delete(before, r.name)
	}
	for _, r := range before {
		m.touched[r.Collection] = true
		m.gone[r.name] = r.sorted() || r.totals()
	}
	for _, r := range prev.model.Relations() {
		if o := next.model.Relation(r.FullName()); o == nil || !o.SameIDs(r) || (o.PageSize > 0) != (r.PageSize > 0) {
			m.relations[r.FullName()] = true
		}
	}
	for _, r := range next.model.Relations() {
		if o := prev.model.Relation(r.FullName()); o == nil {
			m.relations[r.FullName()] = true
		}
	}
	return m
}

// model folds a model event.
func (f *fold) model(ev *fanfold.Event) error {
	next, err := f.adopt(ev)
	if err != nil {
		return err
	}
	m := compare(f.plan, next)
	f.use(next)
	return f.bringUp(m)
}

// adopt records the model of a model event.
func (f *fold) adopt(ev *fanfold.Event) (*plan, error) {
	parsed, err := modelfile.ParseAccepted(ev.Body)
	if err != nil {
		return nil, err
	}
	next, err := newPlan(parsed, ev.Seq, f.plan.reserved.Next(f.plan.model, parsed))
	if err != nil {
		return nil, err
	}
	if err := f.tx.SetProposal(ev.Seq, nil); err != nil {
		return nil, err
	}
	return next, f.tx.AddModel(ev.Seq, parsed.Source, next.reserved)
}

// bringUp brings the documents that are there up to a new model: links of changed relations first,
// then what the old rules leave behind, then the new rules level by level.
func (f *fold) bringUp(m *remodel) error {
	f.remodel = m
	defer func() { f.remodel = nil }()
	for name := range m.relations {
		if err := f.tx.RemoveLinks(name); err != nil {
			return err
		}
	}
	if err := f.forgetRules(m); err != nil {
		return err
	}
	if f.beside == nil {
		if err := f.freeClaims(m); err != nil {
			return err
		}
	}
	for name := range m.gone {
		if err := f.tx.ForgetEntries(name); err != nil {
			return err
		}
	}
	for _, r := range f.plan.rules {
		if m.fresh[r.name] {
			l := f.levels[r.Level]
			if l.every == nil {
				l.every = map[*rulePlan]bool{}
			}
			l.every[r], l.marked = true, true
		}
	}
	if err := f.relinkAll(m); err != nil {
		return err
	}
	if err := f.restructure(m); err != nil {
		return err
	}
	return f.propagate()
}

// freeClaims frees the values of new unique members, and of those that are unique no longer.
func (f *fold) freeClaims(m *remodel) error {
	for name, paths := range m.freed {
		for _, path := range paths {
			if err := f.tx.ForgetClaims(name, path.String()); err != nil {
				return err
			}
		}
	}
	for name, paths := range m.unique {
		for _, path := range paths {
			if err := f.tx.FreeClaims(name, path.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetRules drops kept values of rules that went or changed.
func (f *fold) forgetRules(m *remodel) error {
	names, err := f.tx.KeptRules()
	if err != nil {
		return err
	}
	still := map[string]bool{}
	for _, r := range m.next.rules {
		still[r.name] = !m.fresh[r.name]
	}
	for _, name := range names {
		if !still[name] {
			if err := f.tx.ForgetKept(name, "", 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// relinks tells whether documents of a collection have to be linked anew, or entered into new rules.
func (m *remodel) relinks(collection string) bool {
	c := m.next.collection(collection)
	return len(m.unique[collection]) > 0 || slices.ContainsFunc(c.counters, m.enters) ||
		slices.ContainsFunc(c.relations, func(r *fanfold.Relation) bool { return m.relations[r.FullName()] })
}

// passes is about how many documents bringUp works on; those that it works on again and again count as
// often.
func (m *remodel) passes(s *sqlite.Snapshot) (total int64, err error) {
	names, counts, err := s.Collections()
	for i, name := range names {
		if m.relinks(name) {
			total += counts[i]
		}
		if m.touched[name] {
			total += 3 * counts[i] // taken out, computed, compared
		}
	}
	return total, err
}

// relinkAll links changed relations, and enters documents into the new rules of those they refer
// to. All links are there before any value is looked at.
func (f *fold) relinkAll(m *remodel) error {
	for _, name := range collectionsOf(m, m.relinks) {
		c := f.plan.collection(name)
		if err := f.eachDocument(name, func(row *sqlite.Row) error { return f.relinkOne(m, c, row) }); err != nil {
			return err
		}
	}
	return nil
}

// restructure takes the values of rules that went or changed out of the documents, and gives
// documents of collections with rules their own row for the referenced view.
func (f *fold) restructure(m *remodel) error {
	for _, name := range collectionsOf(m, func(name string) bool { return m.touched[name] }) {
		c := f.plan.collection(name)
		if err := f.eachDocument(name, func(row *sqlite.Row) error { return f.restructureOne(m, c, row) }); err != nil {
			return err
		}
	}
	return nil
}

func (f *fold) eachDocument(collection string, fn func(row *sqlite.Row) error) error {
	numbers, err := f.tx.Numbers(collection, 0, -1)
	if err != nil {
		return err
	}
	for _, number := range numbers {
		row, err := f.tx.ByNumber(number)
		if err != nil {
			return err
		}
		if err := fn(row); err != nil {
			return err
		}
		if err := f.stepped(); err != nil {
			return err
		}
	}
	return nil
}

// stepped tells that a document was worked on.
func (f *fold) stepped() error {
	if f.step == nil {
		return nil
	}
	return f.step()
}

// collectionsOf are the collections of either model that which holds for, in order.
func collectionsOf(m *remodel, which func(name string) bool) []string {
	var names []string
	for _, c := range slices.Concat(m.next.model.Collections, m.prev.model.Collections) {
		if which(c.Name) && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// enters tells whether documents are to be entered into a rule.
func (m *remodel) enters(r *rulePlan) bool { return m.fresh[r.name] && (r.sorted() || r.totals()) }

func (f *fold) relinkOne(m *remodel, c *collectionPlan, row *sqlite.Row) error {
	t := jsondoc.MustParse(row.Source())
	for _, r := range c.relations {
		if !m.relations[r.FullName()] {
			continue
		}
		for _, id := range r.Targets(t) {
			if err := f.tx.AddLink(r.FullName(), id, row.Number, f.plan.pages(r)); err != nil {
				return err
			}
		}
	}
	for _, path := range m.unique[row.Key.Collection] {
		value, err := fanfold.UniqueValue(t, path)
		if err != nil || value == "" { // what cannot be compared has no claim; a preview has told of it
			continue
		}
		if f.beside != nil {
			if err := f.tx.AddUniqueCandidate(row.Key.Collection, path.String(), value, row.Number); err != nil {
				return err
			}
			continue
		}
		if err := f.tx.AddClaim(row.Key.Collection, path.String(), value, row.Key.ID); err != nil {
			return err
		}
	}
	for _, r := range c.counters {
		if m.enters(r) {
			if err := f.enter(r, row.Key, row.Number, nil, r.Relation.Targets(t), emptyTree, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fold) restructureOne(m *remodel, c *collectionPlan, row *sqlite.Row) error {
	source := row.Source()
	t := jsondoc.MustParse(source)
	body, err := f.plan.embed(c, unchanged{m}, t, jsondoc.MustParse(row.Body))
	if err != nil {
		return err
	}
	stored := source
	if !c.storesSource() && bytes.Equal(body, source) {
		stored = nil
	}
	if (stored == nil) != (row.Stored == nil) {
		if err := f.tx.SetSource(row.Number, stored); err != nil {
			return err
		}
	}
	if bytes.Equal(body, row.Body) {
		return nil
	}
	if err := f.tx.SaveBefore(row); err != nil {
		return err
	}
	if err := f.tx.SetBody(row.Number, row.Position, body); err != nil {
		return err
	}
	for _, r := range c.readers {
		if err := f.mark(r, row.Key, row.Body, nil); err != nil {
			return err
		}
	}
	f.markShown(c, source, nil)
	return nil
}

// unchanged keeps the values of rules that the new model has as the old one had them.
type unchanged struct{ m *remodel }

func (u unchanged) value(r *rulePlan, _ *jsondoc.Tree, _ jsondoc.Node) (raw []byte, same bool, err error) {
	return nil, !u.m.fresh[r.name], nil
}

// shape is the shape by which changes of a collection's documents are told: with the fields
// that the model before owned, released or not.
func (m *remodel) shape(collection string) *fanfold.Shape {
	paths := slices.Clone(m.next.reserved[collection])
	for _, r := range m.prev.collection(collection).rules {
		paths = append(paths, r.Paths()...)
	}
	return fanfold.NewShape(m.next.model.Collection(collection), paths)
}
