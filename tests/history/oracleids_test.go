package history_test

import (
	"maps"
	"slices"

	"github.com/fanfold/fanfold/tests/jsonvalue"
)

// The oracle's relations over derived ids: what a document refers to stands in its view, as far as that is made before.

// sources are the rules that give the ids of a relation, none where they are written.
func (m *omodel) sources(rel *orel) (out []*orule) {
	if rel == nil {
		return nil
	}
	for _, r := range m.rules {
		if path, at := steps(rel.path), steps(r.path); r.collection == rel.collection && len(at) <= len(path) && overlap(at, path) {
			out = append(out, r)
		}
	}
	return out
}

func (m *omodel) derivesIDs(rel *orel) bool { return len(m.sources(rel)) > 0 }

// idDepth is how many rules in a row the ids of a relation may depend on.
func (m *omodel) idDepth(rel *orel) int {
	n := 0
	for _, r := range m.sources(rel) {
		n = max(n, 1+m.depth(r))
	}
	return n
}

// idView is the view of a document in which its ids stand.
func (o *oracle) idView(rel *orel, d *odoc) *jsonvalue.Value {
	if !o.model.derivesIDs(rel) {
		return d.body
	}
	return o.embed(d, steps(rel.path), o.model.idDepth(rel))
}

// idsOf are the ids that a document refers to.
func (o *oracle) idsOf(rel *orel, d *odoc) []string {
	return o.idView(rel, d).IDs(steps(rel.path))
}

// inOrder are all documents in order of creation.
func (o *oracle) inOrder() []*odoc {
	return slices.SortedFunc(maps.Values(o.docs), func(a, b *odoc) int { return a.created - b.created })
}

// settleIDs takes and drops what changes when documents refer to others than before without being written: places in pages,
// and values kept from deleted targets.
func (o *oracle) settleIDs() {
	for _, rel := range o.model.rels {
		if !o.model.derivesIDs(rel) {
			continue
		}
		for _, d := range o.inOrder() {
			if d.key.collection != rel.collection {
				continue
			}
			if rel.pages > 0 {
				o.placeBy(rel, d)
			}
			ids := o.idsOf(rel, d)
			o.forget(func(k okept) bool {
				r := o.model.rule(k.rule)
				return k.holder == d.key && r != nil && r.rel == rel && !slices.Contains(ids, k.target.id)
			})
		}
	}
}

// sameIDs tells whether the rules that give the ids of a relation are the same in both models, and all that those depend on.
func sameIDs(prev, next *omodel, old, rel *orel) bool {
	return maps.Equal(prev.origins(old), next.origins(rel))
}

// origins are the definitions of the rules that a relation's ids depend on, by name.
func (m *omodel) origins(rel *orel) map[string]string {
	out := map[string]string{}
	var add func(rules []*orule)
	add = func(rules []*orule) {
		for _, r := range rules {
			if _, seen := out[r.name()]; !seen {
				out[r.name()] = r.definition()
				add(m.dependencies(r))
			}
		}
	}
	add(m.sources(rel))
	return out
}
