package view

import (
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
)

// lineage returns the report about a document that may be read, with the documents that may be read alone. Of a value that other
// documents are the source of, the report says nothing more than the document itself.
func (v View) lineage(key fanfold.Key, all *wire.Lineage) *wire.Lineage {
	if v.rights.ReadsAll() {
		return all
	}
	out := *all
	out.Derived = slices.Clone(all.Derived)
	for i := range out.Derived {
		v.trim(key.Collection, &out.Derived[i])
	}
	out.Copies = slices.DeleteFunc(slices.Clone(all.Copies), func(c wire.Copies) bool { return !v.rights.Reads(collectionOf(c.Rule)) })
	return &out
}

// trim takes from the report about one value of a collection's document what may not be read.
func (v View) trim(collection string, value *wire.DerivedValue) {
	if e := value.Event; e != nil && e.Collection != "" && !v.rights.Reads(e.Collection) {
		value.Event = &wire.Origin{Seq: e.Seq, Time: e.Time, Op: e.Op}
	}
	if from, known := sourceOf(v.rights.Model(), collection, value.Rule); !known || !v.rights.Reads(from) {
		value.Hidden, value.Sources, value.Documents, value.Reason = true, []wire.ValueSource{}, 0, ""
	}
}

// sourceOf returns the collection from whose documents a rule of a collection makes values. known is false for a rule that the model lacks.
func sourceOf(m *model.Model, collection, rule string) (from string, known bool) {
	c := m.Collection(collection)
	if c == nil {
		return "", false
	}
	i := slices.IndexFunc(c.Rules, func(r *model.Rule) bool { return r.Name() == rule })
	if i < 0 {
		return "", false
	}
	switch r := c.Rules[i]; r.Kind {
	case model.Copy:
		return r.Relation.To, true
	case model.Computed:
		return collection, true
	default:
		return r.Relation.Collection, true
	}
}
