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
	return modelWork{f, m}.apply()
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

// modelWork brings the documents that are there up to a new model.
type modelWork struct {
	*Fold

	m *ModelChange
}

// apply brings the documents that are there up to a new model. It makes links of changed relations first,
// then removes what old rules leave over, then computes the new rules level by level. At the end it builds new indexes.
func (w modelWork) apply() error {
	w.modelChange = w.m
	defer func() { w.modelChange = nil }()
	if err := errors.Join(w.indexer.drop(w.m), w.dropStale()); err != nil {
		return err
	}
	for _, r := range w.plan.Rules {
		if w.m.NewRules[r.FullName] || w.m.refolded[r.FullName] {
			w.levels[r.Level].markRecompute(r)
		}
	}
	for _, r := range w.plan.derived {
		if w.m.relinked[r.FullName()] {
			w.levels[r.Level].markRelinkAll(r)
		}
	}
	if err := w.relinkAll(); err != nil {
		return err
	}
	if err := w.restructure(); err != nil {
		return err
	}
	if err := w.propagate(); err != nil {
		return err
	}
	return w.indexer.build(w.m)
}

// dropStale drops the rows that rules and relations of the old model left: links, kept values, claims, entries and
// totals. While a model is prepared the claims are still needed.
func (w modelWork) dropStale() error {
	remove := w.tx.Links.EndAll
	if w.preparing != nil { // the read model's links end at the model's event
		remove = w.tx.Links.DropAll
	}
	for name := range w.m.relinked {
		if err := remove(name); err != nil {
			return err
		}
	}
	if err := w.forgetRules(); err != nil {
		return err
	}
	if w.preparing == nil {
		if err := w.freeClaims(); err != nil {
			return err
		}
	}
	for name := range w.m.staleEntries {
		if err := w.tx.Aggregates.Forget(name); err != nil {
			return err
		}
	}
	return nil
}

// freeClaims frees the values of new unique members, and of those that are unique no longer.
func (w modelWork) freeClaims() error {
	for name, all := range w.m.freed {
		for _, u := range all {
			if err := w.tx.Uniques.Forget(name, u.Name()); err != nil {
				return err
			}
		}
	}
	for name, all := range w.m.Unique {
		for _, u := range all {
			if err := w.tx.Uniques.FreeAll(name, u.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetRules drops kept values that do not stay under the new model. While a model is prepared, kept values of rules
// that it removes are dropped too. The read model goes on taking such values, and has all of them in the end.
func (w modelWork) forgetRules() error {
	names := w.m.lost
	if w.preparing != nil {
		names = slices.Concat(w.m.lost, w.m.retiring)
	}
	for _, name := range names {
		if err := w.tx.KeptValues.Remove(name, "", 0); err != nil {
			return err
		}
	}
	return nil
}

// relinkAll links changed relations, and enters documents into the new rules of those they refer to. All links by written
// ids are there before any value is looked at.
func (w modelWork) relinkAll() error {
	for _, name := range collectionsOf(w.m, w.m.relinks) {
		c := w.plan.Collection(name)
		if err := w.eachDocument(name, func(row *sqlite.Row) error { return w.relinkOne(c, row) }); err != nil {
			return err
		}
	}
	return nil
}

// restructure takes the values of rules that went or changed out of the documents, and decides anew how their referenced
// views are stored.
func (w modelWork) restructure() error {
	for _, name := range collectionsOf(w.m, func(name string) bool { return w.m.rulesChanged[name] }) {
		c := w.plan.Collection(name)
		if err := w.eachDocument(name, func(row *sqlite.Row) error { return w.restructureOne(c, row) }); err != nil {
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
func (w modelWork) relinkOne(c *Collection, row *sqlite.Row) error {
	t := jsondoc.MustParse(row.ReferencedText())
	for _, r := range c.Relations {
		if !w.m.relinked[r.FullName()] || r.Derived() { // which are linked at their level
			continue
		}
		for _, id := range r.Targets(t) {
			if err := w.tx.Links.Add(r.FullName(), id, row.Number, w.plan.pages(r)); err != nil {
				return err
			}
		}
	}
	for _, u := range w.m.Unique[row.Key.Collection] {
		value, err := u.Value(t)
		if err != nil || value == "" { // what cannot be compared has no claim; a preview names it
			continue
		}
		if w.preparing != nil {
			if err := w.tx.Uniques.AddCandidate(row.Key.Collection, u.Name(), value, row.Number); err != nil {
				return err
			}
			continue
		}
		if err := w.tx.Uniques.Add(row.Key.Collection, u.Name(), value, row.Key.ID); err != nil {
			return err
		}
	}
	for _, r := range c.Counters {
		if w.m.refills(r) && !r.EntersDerived { // those are entered at their level
			d := documentChange{key: row.Key, number: row.Number, before: emptyTree, after: t, revision: row.Revision}
			if err := w.entries.update(r, referenceChange{documentChange: d, is: r.Relation.Targets(t)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// restructureOne writes one document without the values that went, and marks who copies from it.
func (w modelWork) restructureOne(c *Collection, row *sqlite.Row) error {
	source := row.ReferencedText()
	t := jsondoc.MustParse(source)
	body, err := w.plan.embed(c, previousValues{w.m}, t, jsondoc.MustParse(row.Body), 0)
	if err != nil {
		return err
	}
	omitted := row.Omitted
	if omitted != nil || len(body) > w.plan.Model.EmbeddedLimit {
		w.marks.refit(c, row.Number, 0)
	}
	if len(c.Rules) == 0 && omitted != nil {
		omitted = nil
		if err := w.countOmissions(row.Omitted, nil); err != nil {
			return err
		}
	}
	view := sqlite.View{Position: row.Position, Body: body, Referenced: c.StoreSource(body, t), Omitted: omitted}
	if bytes.Equal(body, row.Body) && bytes.Equal(omitted, row.Omitted) {
		if view.Referenced.Equal(row.Referenced) {
			return nil
		}
		return w.tx.Documents.SetView(row.Number, view)
	}
	if err := w.tx.Before.Save(row); err != nil {
		return err
	}
	if err := w.tx.Documents.SetView(row.Number, view); err != nil {
		return err
	}
	for _, r := range c.Readers {
		if err := w.marks.copies(r, row.Key, row.Body, nil); err != nil {
			return err
		}
	}
	w.marks.shown(c, row, source, nil)
	w.marks.own(c, row.Number, nil)
	w.marks.links(c, row.Key, row.Number, row, nil)
	w.entries.noteDerived(c, row, nil)
	return nil
}

// previousValues keeps the values of the rules that both models have. The others have none.
type previousValues struct{ m *ModelChange }

// Value implements Values.
func (v previousValues) Value(r *Rule, _ *jsondoc.Tree, _ jsondoc.Node) (raw []byte, same bool, err error) {
	return nil, !v.m.NewRules[r.FullName], nil
}
