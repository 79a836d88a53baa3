package view

import (
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
)

// lineage returns the report about a document that may be read, with the documents that may be read alone. Of a value that other
// documents are the source of, the report says nothing more than the document itself.
func (v View) lineage(key fanfold.Key, all *wire.Lineage) (*wire.Lineage, error) {
	if v.rights.ReadsAll() {
		return all, nil
	}
	out := *all
	err := v.Read(func(p *Prefix) error {
		t := trimmer{p: p, known: map[fanfold.Key]bool{}}
		out.Derived, out.Copies = slices.Clone(all.Derived), nil
		if p.sight.of(key.Collection).Mask() != nil {
			withoutPrivate(p.rights, key.Collection, &out)
		}
		for i := range out.Derived {
			t.value(key.Collection, &out.Derived[i])
		}
		out.Copies = []wire.Copies{}
		for _, c := range all.Copies {
			if t.copies(&c) {
				out.Copies = append(out.Copies, c)
			}
		}
		return t.err
	})
	return &out, err
}

// withoutPrivate takes out of a report about a document what tells of members that its reader does not see.
func withoutPrivate(rights *access.Rights, collection string, l *wire.Lineage) {
	l.Derived = slices.DeleteFunc(l.Derived, func(value wire.DerivedValue) bool { return rights.Told(collection, []string{value.Rule}) == nil })
	for i := range l.Derived {
		l.Derived[i].Reason = ""
	}
	l.Omitted, l.Unguarded = nil, nil
}

// maxJudged is how many documents a lineage has judged whether they may be read. Those beyond are left out.
const maxJudged = 1000

// trimmer takes from a lineage what may not be read.
type trimmer struct {
	p      *Prefix
	known  map[fanfold.Key]bool
	judged int
	err    error
}

// names tells whether a document may be named.
func (t *trimmer) names(key fanfold.Key) bool {
	g := t.p.sight.of(key.Collection)
	if g.Every() || g.None() {
		return g.Every()
	}
	sees, known := t.known[key]
	if known || t.err != nil || t.judged == maxJudged {
		return sees
	}
	t.judged++
	var doc *fanfold.Document
	doc, _, t.err = t.p.GetWithin(key, fanfold.Embedded, 0)
	t.known[key] = doc != nil
	return doc != nil
}

// copies takes from a rule's copies those documents that may not be read, and tells whether the rule is told at all.
func (t *trimmer) copies(c *wire.Copies) bool {
	collection := collectionOf(c.Rule)
	if t.p.rights.Told(collection, []string{c.Rule}) == nil {
		return false
	}
	g := t.p.sight.of(collection)
	if !g.Every() && !g.None() {
		c.First = slices.DeleteFunc(slices.Clone(c.First), func(id string) bool { return !t.names(fanfold.Key{Collection: collection, ID: id}) })
		c.Documents, c.More, c.Hidden = 0, 0, true
	}
	return !g.None()
}

// value takes from the report about one value of a collection's document what may not be read.
func (t *trimmer) value(collection string, value *wire.DerivedValue) {
	if e := value.Event; e != nil && e.Collection != "" && !t.names(fanfold.Key{Collection: e.Collection, ID: e.ID}) {
		value.Event = &wire.Origin{Seq: e.Seq, Time: e.Time, Op: e.Op}
	}
	from, own := sourceOf(t.p.rights.Model(), collection, value.Rule)
	if own { // the document itself may be read
		return
	}
	known := from != ""
	if g := t.p.sight.of(from); known && g.Every() {
		return
	}
	sources := []wire.ValueSource{}
	if known {
		for _, s := range value.Sources {
			if t.names(fanfold.Key{Collection: s.Collection, ID: s.ID}) {
				sources = append(sources, s)
			}
		}
	}
	value.Hidden, value.Sources, value.Documents, value.Reason = true, sources, 0, ""
}

// sourceOf returns the collection from whose documents a rule of a collection makes values, "" for a rule that the model lacks. own tells that it makes
// them of the document itself.
func sourceOf(m *model.Model, collection, rule string) (from string, own bool) {
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
		return r.Relation.To, false
	case model.Computed:
		return collection, true
	default:
		return r.Relation.Collection, false
	}
}
