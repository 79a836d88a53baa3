package fold

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/sqlite"
)

// model folds a model event.
func (f *Fold) model(ev *fanfold.Event) error {
	m, err := f.adoptModel(ev)
	if err != nil {
		return err
	}
	f.setPlan(m.Next)
	return f.applyModelChange(m)
}

// adoptModel stores the model of a model event and returns what it changes.
func (f *Fold) adoptModel(ev *fanfold.Event) (*ModelChange, error) {
	parsed, err := modelfile.ParseAccepted(ev.Body)
	if err != nil {
		return nil, err
	}
	parsed.Fold = ev.Fold
	if ev.Kept != nil {
		if err := json.Unmarshal(ev.Kept, &parsed.Retired); err != nil {
			return nil, fanfold.Wrap(err, fanfold.Internal, "the model's removed rules cannot be read")
		}
	}
	m, err := f.plan.Follow(parsed, ev.Seq)
	if err != nil {
		return nil, err
	}
	if err := f.tx.SetProposal(ev.Seq, nil, 0, ""); err != nil {
		return nil, err
	}
	next := m.Next
	return m, f.tx.AddModel(ev.Seq, f.now, next.Model, next.Reserved, next.Retired)
}

// applyModelChange brings the documents that are there up to a new model. It makes links of changed relations first,
// then removes what old rules leave over, then computes the new rules level by level. At the end it builds new indexes.
func (f *Fold) applyModelChange(m *ModelChange) error {
	f.modelChange = m
	defer func() { f.modelChange = nil }()
	if err := errors.Join(f.indexer.drop(m), f.dropStale(m)); err != nil {
		return err
	}
	for _, r := range f.plan.Rules {
		if m.NewRules[r.FullName] || m.refolded[r.FullName] {
			f.levels[r.Level].markRecompute(r)
		}
	}
	for _, r := range f.plan.derived {
		if m.relinked[r.FullName()] {
			f.levels[r.Level].markRelinkAll(r)
		}
	}
	if err := f.relinkAll(m); err != nil {
		return err
	}
	if err := f.restructure(m); err != nil {
		return err
	}
	if err := f.propagate(); err != nil {
		return err
	}
	return f.indexer.build(m)
}

// dropStale drops the rows that rules and relations of the old model left: links, kept values, claims, entries and
// totals. While a model is prepared the claims are still needed.
func (f *Fold) dropStale(m *ModelChange) error {
	remove := f.tx.Links.EndAll
	if f.preparing != nil { // the read model's links end at the model's event
		remove = f.tx.Links.DropAll
	}
	for name := range m.relinked {
		if err := remove(name); err != nil {
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
	for name := range m.staleEntries {
		if err := f.tx.Aggregates.Forget(name); err != nil {
			return err
		}
	}
	return nil
}

// freeClaims frees the values of new unique members, and of those that are unique no longer.
func (f *Fold) freeClaims(m *ModelChange) error {
	for name, all := range m.freed {
		for _, u := range all {
			if err := f.tx.Uniques.Forget(name, u.Name()); err != nil {
				return err
			}
		}
	}
	for name, all := range m.Unique {
		for _, u := range all {
			if err := f.tx.Uniques.FreeAll(name, u.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetRules drops kept values that do not stay under the new model. While a model is prepared, kept values of rules
// that it removes are dropped too. The read model goes on taking such values, and has all of them in the end.
func (f *Fold) forgetRules(m *ModelChange) error {
	names := m.lost
	if f.preparing != nil {
		names = slices.Concat(m.lost, m.retiring)
	}
	for _, name := range names {
		if err := f.tx.KeptValues.Remove(name, "", 0); err != nil {
			return err
		}
	}
	return nil
}

// relinkAll links changed relations, and enters documents into the new rules of those they refer to. All links by written
// ids are there before any value is looked at.
func (f *Fold) relinkAll(m *ModelChange) error {
	for _, name := range collectionsOf(m, m.relinks) {
		c := f.plan.Collection(name)
		if err := f.eachDocument(name, func(row *sqlite.Row) error { return f.relinkOne(m, c, row) }); err != nil {
			return err
		}
	}
	return nil
}

// restructure takes the values of rules that went or changed out of the documents, and decides anew how their referenced
// views are stored.
func (f *Fold) restructure(m *ModelChange) error {
	for _, name := range collectionsOf(m, func(name string) bool { return m.rulesChanged[name] }) {
		c := f.plan.Collection(name)
		if err := f.eachDocument(name, func(row *sqlite.Row) error { return f.restructureOne(m, c, row) }); err != nil {
			return err
		}
	}
	return nil
}

// eachDocument calls fn for every document of a collection, in order of creation.
func (f *folding) eachDocument(collection string, fn func(row *sqlite.Row) error) error {
	numbers, err := f.tx.Documents.Numbers(collection, 0, -1)
	if err != nil {
		return err
	}
	for _, number := range numbers {
		row, err := f.tx.Documents.ByNumber(number)
		if err != nil {
			return err
		}
		if err := fn(row); err != nil {
			return err
		}
		if err := f.callOnDocument(); err != nil {
			return err
		}
	}
	return nil
}

// callOnDocument calls the function of OnDocument, where there is one.
func (f *folding) callOnDocument() error {
	if f.onDocument == nil {
		return nil
	}
	return f.onDocument()
}

// collectionsOf returns the collections of either model that which holds for, in the order of the models.
func collectionsOf(m *ModelChange, which func(name string) bool) []string {
	var names []string
	for _, c := range slices.Concat(m.Next.Model.Collections, m.Prev.Model.Collections) {
		if which(c.Name) && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// relinkOne links one document by changed relations, and enters it into the new rules of those it refers to.
func (f *Fold) relinkOne(m *ModelChange, c *Collection, row *sqlite.Row) error {
	t := jsondoc.MustParse(row.ReferencedText())
	for _, r := range c.Relations {
		if !m.relinked[r.FullName()] || r.Derived() { // which are linked at their level
			continue
		}
		for _, id := range r.Targets(t) {
			if err := f.tx.Links.Add(r.FullName(), id, row.Number, f.plan.pages(r)); err != nil {
				return err
			}
		}
	}
	for _, u := range m.Unique[row.Key.Collection] {
		value, err := u.Value(t)
		if err != nil || value == "" { // what cannot be compared has no claim; a preview names it
			continue
		}
		if f.preparing != nil {
			if err := f.tx.Uniques.AddCandidate(row.Key.Collection, u.Name(), value, row.Number); err != nil {
				return err
			}
			continue
		}
		if err := f.tx.Uniques.Add(row.Key.Collection, u.Name(), value, row.Key.ID); err != nil {
			return err
		}
	}
	for _, r := range c.Counters {
		if m.refills(r) && !r.EntersDerived { // those are entered at their level
			d := documentChange{key: row.Key, number: row.Number, before: emptyTree, after: t, revision: row.Revision}
			if err := f.updateEntries(r, referenceChange{documentChange: d, is: r.Relation.Targets(t)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// restructureOne writes one document without the values that went, and marks who copies from it.
func (f *Fold) restructureOne(m *ModelChange, c *Collection, row *sqlite.Row) error {
	source := row.ReferencedText()
	t := jsondoc.MustParse(source)
	body, err := f.plan.embed(c, previousValues{m}, t, jsondoc.MustParse(row.Body), 0)
	if err != nil {
		return err
	}
	omitted := row.Omitted
	if omitted != nil || len(body) > f.plan.Model.EmbeddedLimit {
		f.markRefit(c, row.Number, 0)
	}
	if len(c.Rules) == 0 && omitted != nil {
		omitted = nil
		if err := f.countOmissions(row.Omitted, nil); err != nil {
			return err
		}
	}
	view := sqlite.View{Position: row.Position, Body: body, Referenced: c.StoreSource(body, t), Omitted: omitted}
	if bytes.Equal(body, row.Body) && bytes.Equal(omitted, row.Omitted) {
		if view.Referenced.Equal(row.Referenced) {
			return nil
		}
		return f.tx.Documents.SetView(row.Number, view)
	}
	if err := f.tx.Before.Save(row); err != nil {
		return err
	}
	if err := f.tx.Documents.SetView(row.Number, view); err != nil {
		return err
	}
	for _, r := range c.Readers {
		if err := f.mark(r, row.Key, row.Body, nil); err != nil {
			return err
		}
	}
	f.markShown(c, row, source, nil)
	f.markOwn(c, row.Number, nil)
	f.noteLinks(c, row.Key, row.Number, row, nil)
	f.noteEntries(c, row, nil)
	return nil
}

// previousValues keeps the values of the rules that both models have. The others have none.
type previousValues struct{ m *ModelChange }

// Value implements Values.
func (v previousValues) Value(r *Rule, _ *jsondoc.Tree, _ jsondoc.Node) (raw []byte, same bool, err error) {
	return nil, !v.m.NewRules[r.FullName], nil
}
