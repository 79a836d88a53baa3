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
		return (&trimmer{p: p, state: p, known: map[fanfold.Key]bool{}}).trim(key, all, &out)
	})
	return &out, err
}

// trim makes of the report about a document the one that its reader gets.
func (t *trimmer) trim(key fanfold.Key, all, out *wire.Lineage) error {
	out.Derived, out.Copies = slices.Clone(all.Derived), []wire.Copies{}
	if t.p.sight.of(key.Collection).Mask() != nil {
		withoutPrivate(t.p.rights, key.Collection, out)
	}
	for i := range out.Derived {
		t.value(key.Collection, &out.Derived[i])
	}
	for _, c := range all.Copies {
		if t.copies(&c) {
			out.Copies = append(out.Copies, c)
		}
	}
	return t.err
}

// withoutPrivate takes out of a report about a document what tells of members that its reader does not see.
func withoutPrivate(rights *access.Rights, collection string, l *wire.Lineage) {
	l.Derived = slices.DeleteFunc(l.Derived, func(value wire.DerivedValue) bool { return rights.Told(collection, []string{value.Rule}) == nil })
	for i := range l.Derived {
		l.Derived[i].Reason = ""
	}
	l.Omitted, l.OmittedBy, l.Unguarded = nil, nil, nil
}

// maxJudged is how many documents a lineage has judged whether they may be read. Those beyond are left out.
const maxJudged = 1000

// documentsOf reads the documents of a prefix, or of one of its positions, that may be read.
type documentsOf interface {
	GetWithin(key fanfold.Key, form fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error)
}

// trimmer takes from a lineage what may not be read.
type trimmer struct {
	p      *Prefix
	state  documentsOf // of the report
	before bool        // the report is of a state before: its model may be another one
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
	doc, _, t.err = t.state.GetWithin(key, fanfold.Embedded, 0)
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
	if t.before && from != value.From { // the rule was another one
		from, own = value.From, value.From == collection && own
	}
	if own { // the document itself may be read
		return
	}
	known, g := from != "", t.p.sight.of(from)
	if known && g.Every() {
		if g.Mask() != nil {
			value.Member = ""
		}
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
	value.Hidden, value.Sources, value.Member, value.Documents, value.Reason = true, sources, "", 0, ""
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
