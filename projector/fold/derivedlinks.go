package fold

import (
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// If rules give the ids of a relation, the document's references are known only when those rules are done. So it notes the
// references before the event when the first of the ids may change. At the relation's level it brings the links up to date,
// before anything else of that level.

// formerLinks is what a document referred to by a relation before an event.
type formerLinks struct {
	key fanfold.Key
	ids []string
}

// links notes what a document referred to by derived ids before a change of it, by its row from before, which is nil
// where it was not there. changed names the top-level members that differ, nil any.
func (ms *marks) links(c *Collection, key fanfold.Key, number int64, row *sqlite.Row, changed map[string]bool) {
	var t *jsondoc.Tree
	for _, r := range c.derived {
		l := ms.levels[r.Level]
		if _, noted := l.relinking[r][number]; noted || r.Level < ms.levelsDone || changed != nil && !changed[r.Path[0].Name] {
			continue
		}
		former := formerLinks{key: key}
		if row != nil {
			if t == nil {
				t = jsondoc.MustParse(row.Body)
			}
			former.ids = r.Targets(t)
		}
		if l.relinking == nil {
			l.relinking = map[*model.Relation]map[int64]formerLinks{}
		}
		if l.relinking[r] == nil {
			l.relinking[r] = map[int64]formerLinks{}
		}
		l.relinking[r][number], l.marked = former, true
	}
}

// markRelinkAll has all documents linked by a relation over derived ids that has no links.
func (l *level) markRelinkAll(r *model.Relation) {
	if l.relinkAll == nil {
		l.relinkAll = map[string]bool{}
	}
	l.relinkAll[r.FullName()], l.marked = true, true
}

// settleLinks brings the links by relations over derived ids up to date, now that these are final.
func (f *Fold) settleLinks(l *level) error {
	if len(l.relinking)+len(l.relinkAll) == 0 {
		return nil
	}
	f.holders.forget()
	for _, r := range f.plan.derived {
		if r.Level != l.number {
			continue
		}
		c := f.plan.Collection(r.Collection)
		if l.relinkAll[r.FullName()] {
			if err := f.eachDocument(r.Collection, func(row *sqlite.Row) error { return f.linkDerived(c, r, row) }); err != nil {
				return err
			}
		}
		for _, number := range slices.Sorted(maps.Keys(l.relinking[r])) {
			if err := f.settleLinksOf(c, r, number, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// linkDerived adds a document's links by a relation over derived ids that has none.
func (f *Fold) linkDerived(c *Collection, r *model.Relation, row *sqlite.Row) error {
	return f.changeLinks(c, r, referenceChange{documentChange: documentChange{key: row.Key, number: row.Number}, is: r.Targets(jsondoc.MustParse(row.Body))})
}

// changeLinks brings the links of a document by one relation over derived ids up to date.
func (f *Fold) changeLinks(c *Collection, r *model.Relation, refs referenceChange) error {
	f.links = f.links[:0]
	if err := f.relinkRelation(c, r, refs); err != nil {
		return err
	}
	return f.tx.Links.AddAll(f.links, refs.number)
}

// settleLinksOf brings the links of one document whose derived ids may have changed up to its row. If all links were made
// anew, it only drops kept values of documents that the document no longer refers to.
func (f *Fold) settleLinksOf(c *Collection, r *model.Relation, number int64, l *level) error {
	if err := f.ended(); err != nil {
		return err
	}
	row, err := f.tx.Documents.ByNumber(number)
	if err != nil {
		return err
	}
	former := l.relinking[r][number]
	refs := referenceChange{documentChange: documentChange{key: former.key, number: number}, was: former.ids}
	if row != nil {
		refs.is = r.Targets(jsondoc.MustParse(row.Body))
	}
	if !l.relinkAll[r.FullName()] {
		err = f.changeLinks(c, r, refs)
	} else {
		err = f.keeper.forgetLeft(c, r, refs)
	}
	if err != nil || row == nil || number != f.direct || f.event.Kept == nil {
		return err
	}
	return f.keeper.restoreDerived(c, r, number)
}

// forgetLeft drops what the document kept of targets that it no longer refers to by a relation.
func (kp *keeper) forgetLeft(c *Collection, r *model.Relation, refs referenceChange) error {
	is := newIDSet(refs.is)
	for _, id := range refs.was {
		if !is.has(id) {
			if err := kp.forget(c, r, id, refs.number); err != nil {
				return err
			}
		}
	}
	return nil
}

// restoreDerived takes over what an import says had stayed on the holder by a relation over derived ids. It is taken over of
// whatever target: the documents that the ids come from may not be there yet.
func (kp *keeper) restoreDerived(c *Collection, r *model.Relation, holder int64) error {
	all := jsondoc.MustParse(kp.event.Kept)
	for _, rule := range c.Rules {
		k, ok := rule.KeepingRule()
		if !ok || rule.RelationName != r.FullName() {
			continue
		}
		values := all.Member(jsondoc.Root, k.Name())
		if values == jsondoc.None {
			continue
		}
		var ids []string
		for n := all.First(values); n != jsondoc.None; n = all.Next(n) {
			ids = append(ids, all.Key(n))
		}
		if err := kp.restoreRule(k, all, ids, holder); err != nil {
			return err
		}
	}
	return nil
}

// Crowds remembers of relations over derived ids whether one view of a document holds more ids than they take. The zero value
// is ready.
type Crowds struct{ known map[*model.Relation]bool }

// Crowded returns whether the view, the same at each call, holds more ids than the relation of a copy takes.
func (c *Crowds) Crowded(r *Rule, t *jsondoc.Tree) bool {
	if r.Kind != model.Copy || !r.Relation.Derived() || !r.Relation.Path.Arrays() {
		return false
	}
	crowded, ok := c.known[r.Relation]
	if !ok {
		if c.known == nil {
			c.known = map[*model.Relation]bool{}
		}
		crowded = r.Relation.Crowded(t)
		c.known[r.Relation] = crowded
	}
	return crowded
}
