package inspect

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Lineage says where a document's derived values come from, and where its own go.
type Lineage struct {
	Position fanfold.Bookmark `json:"position"` // of the prefix looked at
	Derived  []DerivedValue   `json:"derived"`
	More     int64            `json:"more,omitempty"` // derived values beyond those listed
	Copies   []Copies         `json:"copies"`
	// Omitted says how many values the embedded view has no room for, by rule, as a JSON object; absent for none.
	Omitted json.RawMessage `json:"omitted,omitempty"`
	// Unguarded lists what is unique in the collection, and does not tell this document apart from others.
	Unguarded []Unguarded `json:"unguarded,omitempty"`
}

// DerivedValue says where one derived value of the document comes from.
type DerivedValue struct {
	Path  string `json:"path,omitempty"` // a JSON pointer; absent where the document has no place for the value
	Rule  string `json:"rule"`
	State string `json:"state,omitempty"` // frozen, kept after the target's delete, or no value
	// Reason says why there is no value, or, of a list, why there is none of one of the documents.
	Reason string `json:"reason,omitempty"`
	// Sources names the documents it is made of, the first 100: a copy's targets, in order, this document for a computed
	// member, and for the other rules the documents that refer to this one, by creation. Documents is how many there are.
	Sources   []ValueSource `json:"sources"`
	Documents int64         `json:"documents"`
	// Event names the change of this document that gave it the value; absent where it is further back than is looked.
	Event *Origin `json:"event,omitempty"`
}

// ValueSource names a document that a value is made of. One that is gone has no revision.
type ValueSource struct {
	Collection string           `json:"collection"`
	ID         string           `json:"id"`
	Revision   fanfold.Revision `json:"rev,omitempty"`
	Position   fanfold.Bookmark `json:"position,omitzero"`
}

// Origin names a change and the document whose write caused it; none where a model did.
type Origin struct {
	Seq        fanfold.Bookmark `json:"seq"`
	Op         fanfold.Op       `json:"op"`
	Collection string           `json:"collection,omitempty"`
	ID         string           `json:"id,omitempty"`
}

// Copies names the documents that a rule makes carry something of this one.
type Copies struct {
	Rule      string   `json:"rule"`
	Documents int64    `json:"documents"`
	First     []string `json:"first"` // ids of the first 100, of the rule's collection
}

const (
	maxValues       = 1000     // derived values that are listed
	maxSources      = 100      // documents that are named of those that a value is made of, or copied to
	maxHistory      = 1000     // changes of the document that are looked through,
	maxHistoryBytes = 32 << 20 // and of their values together,
	maxCompared     = 200_000  // and how often one of the values is looked for in one of them
)

// Lineage returns where the document's derived values come from, and where its own go, on one snapshot. The error is
// NotFound where there is no such document.
func (i *Inspector) Lineage(key fanfold.Key) (out *Lineage, err error) {
	err = i.store.Read(func(s *sqlite.Snapshot) error {
		plan, err := i.planAt(s)
		if err != nil {
			return err
		}
		row, err := s.Row(key)
		if err != nil {
			return err
		}
		if row == nil {
			return fanfold.Errorf(fanfold.NotFound, "there is no document %s", key)
		}
		out = &Lineage{Position: i.issuer.Mark(s.At()), Derived: []DerivedValue{}, Copies: []Copies{}, Omitted: row.Omitted}
		l := &lineage{issuer: i.issuer, s: s, plan: plan, row: row, t: jsondoc.MustParse(row.Body), known: map[string]referring{}, out: out}
		if err := l.walk(jsondoc.Root, jsondoc.Root, plan.Collection(key.Collection).Shape, ""); err != nil {
			return err
		}
		if err := l.origins(); err != nil {
			return err
		}
		if err := l.withoutValue(); err != nil {
			return err
		}
		out.Unguarded = l.unguarded()
		return l.copies()
	})
	return out, err
}

// planAt returns the plan of the model that the snapshot holds, which may be another than the projector's: a model may
// have been applied between the two.
func (i *Inspector) planAt(s *sqlite.Snapshot) (*fold.Plan, error) {
	m, err := s.Model()
	if err != nil {
		return nil, err
	}
	if plan := i.projector.Plan(); plan.Seq == m.Seq {
		return plan, nil
	}
	return fold.PlanOf(s)
}

// lineage collects the lineage of one document.
type lineage struct {
	issuer fanfold.Issuer
	s      *sqlite.Snapshot
	plan   *fold.Plan
	row    *sqlite.Row
	t      *jsondoc.Tree // the embedded view
	values [][]byte      // of out.Derived
	known  map[string]referring
	crowds fold.Crowds
	absent []absentValue
	until  time.Time // for which it is explained why there is no value; zero before the first one
	out    *Lineage
}

// referring holds the first documents that refer to the document by a relation, by creation, and how many do.
type referring struct {
	docs  []*fanfold.Document // without bodies
	total int64
}

// walk notes the derived values below n, which is at a JSON pointer. anchor is the document or the innermost array
// element.
func (l *lineage) walk(n, anchor jsondoc.Node, shape *fanfold.Shape, at string) error {
	if shape.Elem != nil && l.t.Kind(n) == jsondoc.Array {
		i := 0
		for c := l.t.First(n); c != jsondoc.None; c = l.t.Next(c) {
			if err := l.walk(c, c, shape.Elem, at+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
			i++
		}
		return nil
	}
	if l.t.Kind(n) != jsondoc.Object {
		return nil
	}
	l.noteAbsent(n, anchor, shape, at)
	for c := l.t.First(n); c != jsondoc.None; c = l.t.Next(c) {
		m := shape.Member(l.t, c)
		if m == nil {
			continue
		}
		pointer := at + "/" + jsondoc.PointerEscape(m.Name)
		var err error
		switch {
		case !m.Owned:
			err = l.walk(c, anchor, m, pointer)
		case m.Rule != nil && !m.Flag:
			err = l.value(l.plan.Rules[m.Rule.Index], c, anchor, pointer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// value notes one derived value with its sources.
func (l *lineage) value(r *fold.Rule, n, anchor jsondoc.Node, pointer string) (err error) {
	if len(l.out.Derived) == maxValues {
		l.out.More++
		return nil
	}
	v := DerivedValue{Path: pointer, Rule: r.FullName, Sources: []ValueSource{}}
	switch r.Kind {
	case fanfold.Copy:
		if err = l.copySources(r, anchor, &v); err == nil && r.List() {
			err = l.explainList(r, n, &v)
		}
	case fanfold.Computed:
		v.Documents, v.Sources = 1, l.itself()
	default:
		var docs []*fanfold.Document
		docs, v.Documents, err = l.holders(r)
		v.Sources = l.sourcesOf(docs)
	}
	if err != nil {
		return err
	}
	l.out.Derived = append(l.out.Derived, v)
	l.values = append(l.values, l.t.Raw(n))
	return nil
}

// copySources notes the targets of a copy, and whether its value is frozen, or kept after a target's delete.
func (l *lineage) copySources(r *fold.Rule, anchor jsondoc.Node, v *DerivedValue) error {
	if l.crowds.Crowded(r, l.t) {
		return nil
	}
	for _, id := range r.Relation.Path[r.Base:].AppendIDs(nil, l.t, anchor) {
		v.Documents++
		if len(v.Sources) == maxSources {
			continue
		}
		src := ValueSource{Collection: r.Relation.To, ID: id}
		doc, _, err := l.s.GetWithin(fanfold.Key{Collection: r.Relation.To, ID: id}, fanfold.Embedded, 0)
		if err != nil {
			return err
		}
		if doc != nil {
			src.Revision, src.Position = doc.Revision, l.issuer.Mark(doc.Position)
		} else if r.Relation.OnDelete == fanfold.Keep {
			v.State = "kept"
		}
		v.Sources = append(v.Sources, src)
	}
	if r.Frozen {
		v.State = "frozen"
	}
	return nil
}

// holders returns the first documents that refer to this one by the rule's relation, by creation, and how many do.
func (l *lineage) holders(r *fold.Rule) (docs []*fanfold.Document, total int64, err error) {
	if have, ok := l.known[r.RelationName]; ok {
		return have.docs, have.total, nil
	}
	if docs, err = l.s.HolderMeta(r.RelationName, l.row.Key.ID, maxSources); err != nil {
		return nil, 0, err
	}
	total, err = l.s.CountHolders(r.RelationName, l.row.Key.ID, -1)
	l.known[r.RelationName] = referring{docs, total}
	return docs, total, err
}

// origins goes back through the document's changes for the one that gave each value.
func (l *lineage) origins() error {
	open, size, compared := len(l.values), 0, 0
	for at, i := l.row.Position, 0; at != 0 && open > 0 && i < maxHistory && size < maxHistoryBytes && compared < maxCompared; i++ {
		ch, err := l.s.Change(at)
		if err != nil || ch == nil {
			return err
		}
		size += len(ch.Delta) + len(ch.Previous)
		compared += open
		given := givenBy(ch)
		for j := range l.out.Derived {
			v := &l.out.Derived[j]
			if v.Event != nil || !given(v.Path, l.values[j]) {
				continue
			}
			if v.Event, err = l.origin(ch); err != nil {
				return err
			}
			open--
		}
		at = ch.Prior
	}
	return nil
}

// givenBy returns a function that tells whether a change gave the document its value at a pointer.
func givenBy(ch *fanfold.Change) func(pointer string, value []byte) bool {
	switch {
	case ch.Op == fanfold.OpDerive:
		var paths []string
		t := jsondoc.MustParse(ch.Delta)
		for op := t.First(jsondoc.Root); op != jsondoc.None; op = t.Next(op) {
			paths = append(paths, t.Text(t.Member(op, "path")))
		}
		return func(pointer string, _ []byte) bool {
			return slices.ContainsFunc(paths, func(path string) bool {
				return path == pointer || strings.HasPrefix(pointer, path+"/") || strings.HasPrefix(path, pointer+"/")
			})
		}
	case ch.Previous == nil:
		return func(string, []byte) bool { return true }
	}
	t := jsondoc.MustParse(ch.Previous)
	return func(pointer string, value []byte) bool {
		n := find(t, pointer)
		return n == jsondoc.None || !bytes.Equal(t.Raw(n), value)
	}
}

// find returns the node at a JSON pointer, None where there is none.
func find(t *jsondoc.Tree, pointer string) jsondoc.Node {
	n := jsondoc.Root
	for token := range strings.SplitSeq(pointer[1:], "/") {
		next := jsondoc.None
		i := 0
		for c := t.First(n); c != jsondoc.None && next == jsondoc.None; c = t.Next(c) {
			if t.Kind(n) == jsondoc.Array && token == strconv.Itoa(i) || t.Kind(n) == jsondoc.Object && jsondoc.PointerEscape(t.Key(c)) == token {
				next = c
			}
			i++
		}
		if n = next; n == jsondoc.None {
			break
		}
	}
	return n
}

// origin returns a change with the document whose write caused it, which is the first of its event.
func (l *lineage) origin(ch *fanfold.Change) (*Origin, error) {
	out := &Origin{Seq: l.issuer.Mark(ch.Position), Op: ch.Op, Collection: ch.Key.Collection, ID: ch.Key.ID}
	if ch.Op != fanfold.OpDerive {
		return out, nil
	}
	cause, err := l.s.Change(fanfold.At(ch.Position.Seq(), 0))
	out.Collection, out.ID = "", ""
	if err == nil && cause != nil && cause.Op != fanfold.OpDerive {
		out.Collection, out.ID = cause.Key.Collection, cause.Key.ID
	}
	return out, err
}

// copies lists who carries something of the document: holders of copies, and the documents that it refers to, for
// rules about those who do.
func (l *lineage) copies() error {
	c := l.plan.Collection(l.row.Key.Collection)
	readers := append([]*fold.Rule(nil), c.Readers...)
	for _, r := range l.plan.Rules {
		if r.Frozen && r.Relation.To == c.Name {
			readers = append(readers, r)
		}
	}
	for _, r := range readers {
		docs, total, err := l.holders(r)
		if err != nil {
			return err
		}
		entry := Copies{Rule: r.FullName, Documents: total, First: []string{}}
		for _, doc := range docs {
			entry.First = append(entry.First, doc.Key.ID)
		}
		l.out.Copies = append(l.out.Copies, entry)
	}
	source := jsondoc.MustParse(l.row.Source())
	for _, r := range c.Counters {
		view := source
		if r.EntersDerived {
			view = l.t
		}
		entry, err := l.counters(r, view)
		if err != nil {
			return err
		}
		l.out.Copies = append(l.out.Copies, entry)
	}
	return nil
}

// counters returns the documents that the document refers to and enters into a rule of, given the view that Includes takes.
func (l *lineage) counters(r *fold.Rule, source *jsondoc.Tree) (Copies, error) {
	entry := Copies{Rule: r.FullName, First: []string{}}
	for _, id := range r.Relation.Targets(source) {
		doc, _, err := l.s.GetWithin(fanfold.Key{Collection: r.Collection, ID: id}, fanfold.Embedded, 0)
		if err != nil {
			return entry, err
		}
		if doc == nil || !r.Includes(source, l.row.Key, nil) {
			continue
		}
		if entry.Documents++; len(entry.First) < maxSources {
			entry.First = append(entry.First, id)
		}
	}
	return entry, nil
}
