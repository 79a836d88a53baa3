package fold

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/sqlite"
)

// remodel is what a new model changes on the documents that are there.
type ModelChange struct {
	Prev, Next *Plan
	NewRules   map[string]bool           // names of rules that are new or changed
	touched    map[string]bool           // collections whose rules came, went or changed
	relations  map[string]bool           // full names of relations that came, went or changed
	gone       map[string]bool           // names of rules that kept something of children, and went or changed
	Unique     map[string][]fanfold.Path // new unique members, by collection
	freed      map[string][]fanfold.Path // members that are no longer unique
	Strict     []*fanfold.Relation       // new strict relations
}

func CompareModels(prev, next *Plan) *ModelChange {
	m := &ModelChange{Prev: prev, Next: next, NewRules: map[string]bool{}, touched: map[string]bool{}, relations: map[string]bool{}, gone: map[string]bool{}}
	m.Strict, m.Unique = next.Model.NewGuards(prev.Model)
	_, m.freed = prev.Model.NewGuards(next.Model)
	before := map[string]*Rule{}
	for _, r := range prev.Rules {
		before[r.FullName] = r
	}
	for _, r := range next.Rules {
		if old := before[r.FullName]; old == nil || !old.SameAs(r.Rule) {
			m.NewRules[r.FullName], m.touched[r.Collection] = true, true
			if old != nil && (old.KeepsOrder() || old.KeepsTotals()) {
				m.gone[r.FullName] = true
			}
		}
		delete(before, r.FullName)
	}
	for _, r := range before {
		m.touched[r.Collection] = true
		m.gone[r.FullName] = r.KeepsOrder() || r.KeepsTotals()
	}
	for _, r := range prev.Model.Relations() {
		if o := next.Model.Relation(r.FullName()); o == nil || !o.SameIDs(r) || (o.PageSize > 0) != (r.PageSize > 0) {
			m.relations[r.FullName()] = true
		}
	}
	for _, r := range next.Model.Relations() {
		if o := prev.Model.Relation(r.FullName()); o == nil {
			m.relations[r.FullName()] = true
		}
	}
	return m
}

// model folds a model event.
func (f *Fold) model(ev *fanfold.Event) error {
	next, err := f.adoptModel(ev)
	if err != nil {
		return err
	}
	m := CompareModels(f.plan, next)
	f.setPlan(next)
	return f.applyModelChange(m)
}

// adopt records the model of a model event.
func (f *Fold) adoptModel(ev *fanfold.Event) (*Plan, error) {
	parsed, err := modelfile.ParseAccepted(ev.Body)
	if err != nil {
		return nil, err
	}
	next, err := NewPlan(parsed, ev.Seq, f.plan.Reserved.Next(f.plan.Model, parsed))
	if err != nil {
		return nil, err
	}
	if err := f.tx.SetProposal(ev.Seq, nil); err != nil {
		return nil, err
	}
	return next, f.tx.AddModel(ev.Seq, parsed.Source, next.Reserved)
}

// bringUp brings the documents that are there up to a new model: links of changed relations first,
// then what the old rules leave behind, then the new rules level by level.
func (f *Fold) applyModelChange(m *ModelChange) error {
	f.modelChange = m
	defer func() { f.modelChange = nil }()
	for name := range m.relations {
		if err := f.tx.RemoveLinks(name); err != nil {
			return err
		}
	}
	if err := f.forgetRules(m); err != nil {
		return err
	}
	if f.preparing == nil {
		if err := f.freeClaims(m); err != nil {
			return err
		}
	}
	for name := range m.gone {
		if err := f.tx.ForgetEntries(name); err != nil {
			return err
		}
	}
	for _, r := range f.plan.Rules {
		if m.NewRules[r.FullName] {
			l := f.levels[r.Level]
			if l.every == nil {
				l.every = map[*Rule]bool{}
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
func (f *Fold) freeClaims(m *ModelChange) error {
	for name, paths := range m.freed {
		for _, path := range paths {
			if err := f.tx.ForgetClaims(name, path.String()); err != nil {
				return err
			}
		}
	}
	for name, paths := range m.Unique {
		for _, path := range paths {
			if err := f.tx.FreeClaims(name, path.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetRules drops kept values of rules that went or changed.
func (f *Fold) forgetRules(m *ModelChange) error {
	names, err := f.tx.KeptRules()
	if err != nil {
		return err
	}
	still := map[string]bool{}
	for _, r := range m.Next.Rules {
		still[r.FullName] = !m.NewRules[r.FullName]
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
func (m *ModelChange) relinks(collection string) bool {
	c := m.Next.Collection(collection)
	return len(m.Unique[collection]) > 0 || slices.ContainsFunc(c.Counters, m.enters) ||
		slices.ContainsFunc(c.Relations, func(r *fanfold.Relation) bool { return m.relations[r.FullName()] })
}

// passes is about how many documents bringUp works on; those that it works on again and again count as
// often.
func (m *ModelChange) Work(s *sqlite.Snapshot) (total int64, err error) {
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
func (f *Fold) relinkAll(m *ModelChange) error {
	for _, name := range collectionsOf(m, m.relinks) {
		c := f.plan.Collection(name)
		if err := f.eachDocument(name, func(row *sqlite.Row) error { return f.relinkOne(m, c, row) }); err != nil {
			return err
		}
	}
	return nil
}

// restructure takes the values of rules that went or changed out of the documents, and gives
// documents of collections with rules their own row for the referenced view.
func (f *Fold) restructure(m *ModelChange) error {
	for _, name := range collectionsOf(m, func(name string) bool { return m.touched[name] }) {
		c := f.plan.Collection(name)
		if err := f.eachDocument(name, func(row *sqlite.Row) error { return f.restructureOne(m, c, row) }); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fold) eachDocument(collection string, fn func(row *sqlite.Row) error) error {
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
		if err := f.reportStep(); err != nil {
			return err
		}
	}
	return nil
}

// stepped tells that a document was worked on.
func (f *Fold) reportStep() error {
	if f.step == nil {
		return nil
	}
	return f.step()
}

// collectionsOf are the collections of either model that which holds for, in order.
func collectionsOf(m *ModelChange, which func(name string) bool) []string {
	var names []string
	for _, c := range slices.Concat(m.Next.Model.Collections, m.Prev.Model.Collections) {
		if which(c.Name) && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// enters tells whether documents are to be entered into a rule.
func (m *ModelChange) enters(r *Rule) bool {
	return m.NewRules[r.FullName] && (r.KeepsOrder() || r.KeepsTotals())
}

func (f *Fold) relinkOne(m *ModelChange, c *Collection, row *sqlite.Row) error {
	t := jsondoc.MustParse(row.Source())
	for _, r := range c.Relations {
		if !m.relations[r.FullName()] {
			continue
		}
		for _, id := range r.Targets(t) {
			if err := f.tx.AddLink(r.FullName(), id, row.Number, f.plan.pages(r)); err != nil {
				return err
			}
		}
	}
	for _, path := range m.Unique[row.Key.Collection] {
		value, err := fanfold.UniqueValue(t, path)
		if err != nil || value == "" { // what cannot be compared has no claim; a preview has told of it
			continue
		}
		if f.preparing != nil {
			if err := f.tx.AddUniqueCandidate(row.Key.Collection, path.String(), value, row.Number); err != nil {
				return err
			}
			continue
		}
		if err := f.tx.AddClaim(row.Key.Collection, path.String(), value, row.Key.ID); err != nil {
			return err
		}
	}
	for _, r := range c.Counters {
		if m.enters(r) {
			if err := f.updateEntries(r, row.Key, row.Number, nil, r.Relation.Targets(t), emptyTree, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Fold) restructureOne(m *ModelChange, c *Collection, row *sqlite.Row) error {
	source := row.Source()
	t := jsondoc.MustParse(source)
	body, err := f.plan.Embed(c, previousValues{m}, t, jsondoc.MustParse(row.Body))
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
	for _, r := range c.Readers {
		if err := f.mark(r, row.Key, row.Body, nil); err != nil {
			return err
		}
	}
	f.markShown(c, source, nil)
	return nil
}

// unchanged keeps the values of rules that the new model has as the old one had them.
type previousValues struct{ m *ModelChange }

func (u previousValues) Value(r *Rule, _ *jsondoc.Tree, _ jsondoc.Node) (raw []byte, same bool, err error) {
	return nil, !u.m.NewRules[r.FullName], nil
}

// shape is the shape by which changes of a collection's documents are told: with the fields
// that the model before owned, released or not.
func (m *ModelChange) ShapeOf(collection string) *fanfold.Shape {
	paths := slices.Clone(m.Next.Reserved[collection])
	for _, r := range m.Prev.Collection(collection).Rules {
		paths = append(paths, r.Paths()...)
	}
	return fanfold.NewShape(m.Next.Model.Collection(collection), paths)
}

// claims tells whether the model to come makes a member unique; m may be nil.
func (m *ModelChange) claims(collection string, path fanfold.Path) bool {
	return m != nil && fanfold.HasPath(m.Unique[collection], path)
}

// have notes a document's values of a member that is to be unique.
func (f *Fold) noteUniqueCandidate(collection string, path fanfold.Path, was, is string, number int64) error {
	if was != "" {
		if err := f.tx.RemoveUniqueCandidate(collection, path.String(), was, number); err != nil {
			return err
		}
	}
	if is == "" {
		return nil
	}
	return f.tx.AddUniqueCandidate(collection, path.String(), is, number)
}

// entangled are rules that both models have and by which values stay on their holders that come from
// documents which the new model changes. What stays there depends on when the model came, so that it
// cannot be prepared.
func (m *ModelChange) Entangled() (names []string) {
	altered := map[string]map[string]bool{} // top-level members, by collection
	alter := func(r *Rule) (grew bool) {
		if altered[r.Collection] == nil {
			altered[r.Collection] = map[string]bool{}
		}
		for name := range r.TopMembers() {
			grew = grew || !altered[r.Collection][name]
			altered[r.Collection][name] = true
		}
		return grew
	}
	still := map[string]bool{}
	for _, r := range m.Next.Rules {
		still[r.FullName] = !m.NewRules[r.FullName]
	}
	all := slices.Concat(m.Prev.Rules, m.Next.Rules)
	for _, r := range all {
		if !still[r.FullName] {
			alter(r)
		}
	}
	for grew := true; grew; {
		grew = false
		for _, r := range all {
			from := altered[r.Relation.To]
			if r.Kind == fanfold.Recent {
				from = altered[r.Relation.Collection]
			}
			if (r.Kind == fanfold.Copy || r.Kind == fanfold.Recent) && len(from) > 0 && r.ReadsAny(from) && alter(r) {
				grew = true
			}
		}
	}
	for _, r := range m.Next.Rules {
		if from := altered[r.Relation.To]; r.KeepsValues() && still[r.FullName] && len(from) > 0 && r.ReadsAny(from) {
			names = append(names, r.FullName)
		}
	}
	return names
}
