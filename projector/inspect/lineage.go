package inspect

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// Lineage says where a document's derived values come from, and where its own go.
type Lineage struct {
	Position fanfold.Position `json:"position"` // of the prefix looked at
	Derived  []DerivedValue   `json:"derived"`
	Copies   []Copies         `json:"copies"`
}

// DerivedValue is one derived value of the document.
type DerivedValue struct {
	Path  string `json:"path"` // a JSON pointer
	Rule  string `json:"rule"`
	State string `json:"state,omitempty"` // frozen, or kept after the target's delete
	// Sources are the documents it is made of, the first 100: a copy's targets, in order, and for the
	// other rules the documents that refer to this one, by arrival. Documents is how many there are.
	Sources   []ValueSource `json:"sources"`
	Documents int64         `json:"documents"`
	// Event is the change of this document that gave it the value; absent where it is further back
	// than is looked.
	Event *Origin `json:"event,omitempty"`
}

// ValueSource is a document that a value is made of. One that is gone has no revision.
type ValueSource struct {
	Collection string           `json:"collection"`
	ID         string           `json:"id"`
	Revision   fanfold.Revision `json:"rev,omitempty"`
	Position   fanfold.Position `json:"position,omitempty"`
}

// Origin is a change and the document whose write caused it; none where a model did.
type Origin struct {
	Seq        fanfold.Position `json:"seq"`
	Op         fanfold.Op       `json:"op"`
	Collection string           `json:"collection,omitempty"`
	ID         string           `json:"id,omitempty"`
}

// Copies are the documents that a rule makes carry something of this one.
type Copies struct {
	Rule      string   `json:"rule"`
	Documents int64    `json:"documents"`
	First     []string `json:"first"` // ids of the first 100, of the rule's collection
}

const (
	maxSources = 100
	maxHistory = 1000 // changes of the document that are looked through
)

// Lineage returns the lineage of a document, on one snapshot. The error is NotFound where there is
// no such document.
func (i *Inspector) Lineage(key fanfold.Key) (out *Lineage, err error) {
	err = i.store.Read(func(s *sqlite.Snapshot) error {
		pl := i.projector.Plan()
		m, err := s.Model()
		if err != nil {
			return err
		}
		if pl.Seq != m.Seq { // another model was applied between the two
			if pl, err = fold.LoadPlan(func(fn func(*sqlite.Snapshot) error) error { return fn(s) }); err != nil {
				return err
			}
		}
		row, err := s.Row(key)
		if err != nil {
			return err
		}
		if row == nil {
			return fanfold.Errorf(fanfold.NotFound, "there is no document %s", key)
		}
		l := &lineage{s: s, plan: pl, row: row, t: jsondoc.MustParse(row.Body), out: &Lineage{Position: s.At(), Derived: []DerivedValue{}, Copies: []Copies{}}}
		out = l.out
		if err := l.walk(jsondoc.Root, jsondoc.Root, pl.Collection(key.Collection).Shape, ""); err != nil {
			return err
		}
		if err := l.origins(); err != nil {
			return err
		}
		return l.copies()
	})
	return out, err
}

type lineage struct {
	s      *sqlite.Snapshot
	plan   *fold.Plan
	row    *sqlite.Row
	t      *jsondoc.Tree // the embedded view
	values [][]byte      // of out.Derived
	out    *Lineage
}

// walk finds the derived values.
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
func (l *lineage) value(r *fold.Rule, n, anchor jsondoc.Node, pointer string) error {
	v := DerivedValue{Path: pointer, Rule: r.FullName, Sources: []ValueSource{}}
	if r.Kind == fanfold.Copy {
		for _, id := range r.Relation.Path[r.Base:].AppendIDs(nil, l.t, anchor) {
			v.Documents++
			if len(v.Sources) == maxSources {
				continue
			}
			src := ValueSource{Collection: r.Relation.To, ID: id}
			doc, err := l.s.Get(fanfold.Key{Collection: r.Relation.To, ID: id}, fanfold.Embedded)
			if err != nil {
				return err
			}
			if doc != nil {
				src.Revision, src.Position = doc.Revision, doc.Position
			} else if r.Relation.OnDelete == fanfold.Keep {
				v.State = "kept"
			}
			v.Sources = append(v.Sources, src)
		}
		if r.Frozen {
			v.State = "frozen"
		}
	} else {
		docs, _, err := l.s.Holders(r.RelationName, l.row.Key.ID, 0, maxSources, fanfold.Referenced)
		if err != nil {
			return err
		}
		for _, doc := range docs {
			v.Sources = append(v.Sources, ValueSource{doc.Key.Collection, doc.Key.ID, doc.Revision, doc.Position})
		}
		if v.Documents, err = l.s.CountHolders(r.RelationName, l.row.Key.ID, -1); err != nil {
			return err
		}
	}
	l.out.Derived = append(l.out.Derived, v)
	l.values = append(l.values, l.t.Raw(n))
	return nil
}

// origins goes back through the document's changes for the one that gave each value.
func (l *lineage) origins() error {
	open := len(l.values)
	for at, i := l.row.Position, 0; at != 0 && open > 0 && i < maxHistory; i++ {
		ch, err := l.s.Change(at)
		if err != nil || ch == nil {
			return err
		}
		for j := range l.out.Derived {
			v := &l.out.Derived[j]
			if v.Event != nil || !gave(ch, v.Path, l.values[j]) {
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

// gave tells whether the change gave the document its value at a pointer.
func gave(ch *fanfold.Change, pointer string, value []byte) bool {
	if ch.Op != fanfold.OpDerive {
		if ch.Previous == nil {
			return true
		}
		t := jsondoc.MustParse(ch.Previous)
		n := find(t, pointer)
		return n == jsondoc.None || !bytes.Equal(t.Raw(n), value)
	}
	t := jsondoc.MustParse(ch.Delta)
	for op := t.First(jsondoc.Root); op != jsondoc.None; op = t.Next(op) {
		path := t.Text(t.Member(op, "path"))
		if path == pointer || strings.HasPrefix(pointer, path+"/") || strings.HasPrefix(path, pointer+"/") {
			return true
		}
	}
	return false
}

// find follows a JSON pointer.
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

func (l *lineage) origin(ch *fanfold.Change) (*Origin, error) {
	out := &Origin{Seq: ch.Position, Op: ch.Op, Collection: ch.Key.Collection, ID: ch.Key.ID}
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

// copies lists who carries something of the document: holders of copies, and the documents that it
// refers to, for rules about those who do.
func (l *lineage) copies() error {
	c := l.plan.Collection(l.row.Key.Collection)
	readers := append([]*fold.Rule(nil), c.Readers...)
	for _, r := range l.plan.Rules {
		if r.Frozen && r.Relation.To == c.Name {
			readers = append(readers, r)
		}
	}
	for _, r := range readers {
		docs, _, err := l.s.Holders(r.RelationName, l.row.Key.ID, 0, maxSources, fanfold.Referenced)
		if err != nil {
			return err
		}
		n, err := l.s.CountHolders(r.RelationName, l.row.Key.ID, -1)
		if err != nil {
			return err
		}
		entry := Copies{Rule: r.FullName, Documents: n, First: []string{}}
		for _, doc := range docs {
			entry.First = append(entry.First, doc.Key.ID)
		}
		l.out.Copies = append(l.out.Copies, entry)
	}
	source := jsondoc.MustParse(l.row.Source())
	for _, r := range c.Counters {
		entry := Copies{Rule: r.FullName, First: []string{}}
		for _, id := range r.Relation.Targets(source) {
			doc, err := l.s.Get(fanfold.Key{Collection: r.Collection, ID: id}, fanfold.Embedded)
			if err != nil {
				return err
			}
			if doc == nil || !r.Includes(source, l.row.Key, nil) {
				continue
			}
			if entry.Documents++; len(entry.First) < maxSources {
				entry.First = append(entry.First, id)
			}
		}
		l.out.Copies = append(l.out.Copies, entry)
	}
	return nil
}
