package inspect

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

const (
	maxValues       = 1000     // derived values that are listed
	maxSources      = 100      // documents that are named of those that a value is made of, or copied to
	maxHistory      = 1000     // changes of the document that are looked through,
	maxHistoryBytes = 32 << 20 // and of their values together
	maxReferred     = 100_000  // ids that the document refers to that are looked for
)

// Lineage returns where the document's derived values come from, and where its own go, on one snapshot. The error is
// NotFound where there is no such document.
func (i *Inspector) Lineage(ctx context.Context, key fanfold.Key) (out *Lineage, err error) {
	err = i.store.Read(func(s *sqlite.Snapshot) error {
		defer s.EndWith(ctx)()
		plan, err := i.planAt(s)
		if err != nil {
			return err
		}
		l, err := newLineage(ctx, s, plan, key)
		if err != nil {
			return err
		}
		l.issuer, out = i.issuer, l.out
		return l.collect()
	})
	return out, err
}

// LineageAt returns what Lineage returned at a moment, as far as the history is kept. The error is NotFound, PositionGone for what is no longer
// kept, or TakesLong.
func (i *Inspector) LineageAt(ctx context.Context, key fanfold.Key, when fanfold.Moment) (out *Lineage, err error) {
	err = i.store.Read(func(s *sqlite.Snapshot) error {
		defer s.EndWith(ctx)()
		at, err := i.keptAt(s, when)
		if err != nil {
			return err
		}
		plan, err := i.former.at(s, at, i.projector.Plan())
		if err != nil {
			return err
		}
		l, err := lineageOf(ctx, s, sqlite.NewState(s, at), plan, key)
		if err != nil {
			return err
		}
		l.issuer, l.at, out = i.issuer, at, l.out
		if at < s.At() {
			if err := l.noteRoom(); err != nil {
				return err
			}
		}
		return l.collect()
	})
	return out, err
}

// keptAt returns the position of a moment. The error is PositionGone where it is before the history that is kept.
func (i *Inspector) keptAt(s *sqlite.Snapshot, when fanfold.Moment) (at fanfold.Position, err error) {
	at, err = s.Resolve(when)
	if err != nil && fanfold.CodeOf(err) != fanfold.PositionGone {
		return 0, err
	}
	oldest, oldestErr := s.Oldest()
	if oldestErr != nil || err == nil && at >= oldest {
		return at, oldestErr
	}
	mark := i.issuer.Mark(oldest)
	gone := fanfold.Errorf(fanfold.PositionGone, "the history before %s is no longer kept, and at is before it", mark)
	gone.Oldest = &mark
	return 0, gone
}

// newLineage returns the lineage of a document, before anything is collected. The error is NotFound where there is none.
func newLineage(ctx context.Context, s *sqlite.Snapshot, plan *fold.Plan, key fanfold.Key) (*lineage, error) {
	l, err := lineageOf(ctx, s, s, plan, key)
	if err == nil {
		l.at = s.At()
	}
	return l, err
}

// lineageOf does what newLineage does for the documents of a state.
func lineageOf(ctx context.Context, s *sqlite.Snapshot, state state, plan *fold.Plan, key fanfold.Key) (*lineage, error) {
	row, err := state.Row(key)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, fanfold.Errorf(fanfold.NotFound, "there is no document %s", key)
	}
	out := &Lineage{Derived: []DerivedValue{}, Copies: []Copies{}, Omitted: row.Omitted}
	return &lineage{ctx: ctx, s: s, state: state, plan: plan, row: row, t: jsondoc.MustParse(row.Body), known: map[string]referring{}, ids: map[idsOf][]string{}, out: out}, nil
}

// collect collects all that a lineage says.
func (l *lineage) collect() error {
	l.out.Position = l.issuer.Mark(l.at)
	if err := l.walk(jsondoc.Root, jsondoc.Root, l.plan.Collection(l.row.Key.Collection).Shape, ""); err != nil {
		return err
	}
	if err := l.origins(); err != nil {
		return err
	}
	if err := l.withoutValue(); err != nil {
		return err
	}
	if err := l.tellRoom(); err != nil {
		return err
	}
	l.out.Unguarded = l.unguarded()
	return l.copies()
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

// state reads the documents of one position, and who refers to them: a snapshot, or what it knows of a position before.
type state interface {
	Row(key fanfold.Key) (*sqlite.Row, error)
	GetWithin(key fanfold.Key, view fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error)
	NumberOf(key fanfold.Key) (int64, error)
	HolderMeta(relation, target string, limit int) ([]*fanfold.Document, error)
	CountHolders(relation, target string, limit int64) (int64, error)
}

// lineage collects the lineage of one document.
type lineage struct {
	ctx        context.Context // of the request
	issuer     fanfold.Issuer
	s          *sqlite.Snapshot // for changes
	state      state
	at         fanfold.Position // of the state
	plan       *fold.Plan
	row        *sqlite.Row
	t          *jsondoc.Tree // the embedded view
	values     [][]byte      // of out.Derived
	known      map[string]referring
	ids        map[idsOf][]string // of lists of copies
	crowds     fold.Crowds
	missing    []missingValue
	room       *room     // of a version before whose last change does not say it; nil for others
	until      time.Time // for which it is explained why there is no value; zero before the first one
	conditions time.Time // until when conditions are evaluated; zero before the first one
	out        *Lineage

	walked    int // members and elements of views from before, and ids, that were looked at
	evaluated int // conditions
	referred  int // ids that were looked for
}

// referring holds the first documents that refer to the document by a relation, by creation, and how many do.
type referring struct {
	docs  []*fanfold.Document // without bodies
	total int64
}

// walk notes the derived values below n, which is at a JSON pointer. anchor is the document or the innermost array
// element.
func (l *lineage) walk(n, anchor jsondoc.Node, shape *model.Shape, at string) error {
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
	l.noteMissing(n, anchor, shape, at)
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
	if err := l.ctx.Err(); err != nil {
		return err
	}
	if len(l.out.Derived) == maxValues {
		l.out.More++
		return nil
	}
	v := DerivedValue{Path: pointer, Rule: r.FullName, Kind: string(r.Shows()), From: sourceOf(r), Member: r.SourcePath(), Sources: []ValueSource{}}
	switch r.Kind {
	case model.Copy:
		if err = l.copySources(r, anchor, &v); err == nil && r.List() {
			err = l.explainList(r, n, &v)
		}
	case model.Computed:
		v.Documents, v.Sources = 1, l.itself()
		l.elements(r, &v)
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

// sourceOf returns the collection from whose documents a rule makes values.
func sourceOf(r *fold.Rule) string {
	switch r.Kind {
	case model.Copy:
		return r.Relation.To
	case model.Computed:
		return r.Collection
	default:
		return r.Relation.Collection
	}
}

// elements notes which element of the document a value stands beside, or how many a total is made of.
func (l *lineage) elements(r *fold.Rule, v *DerivedValue) {
	switch {
	case r.Total != "" && !l.late():
		n := r.CountElements(l.t)
		v.Elements = &n
	case r.Each() && v.Path != "":
		v.Element = v.Path
		for range len(r.Path) - r.Base {
			v.Element = v.Element[:strings.LastIndexByte(v.Element, '/')]
		}
		index, err := strconv.Atoi(v.Element[strings.LastIndexByte(v.Element, '/')+1:])
		if err == nil {
			v.Index = &index
		}
	}
}

// copySources notes the targets of a copy, and whether its value is frozen, or kept after a target's delete.
func (l *lineage) copySources(r *fold.Rule, anchor jsondoc.Node, v *DerivedValue) error {
	if l.crowds.Crowded(r, l.t) {
		return nil
	}
	ids := l.idsAt(r, anchor)
	v.Documents = int64(len(ids))
	for _, id := range ids[:min(len(ids), maxSources)] {
		src := ValueSource{Collection: r.Relation.To, ID: id}
		doc, _, err := l.state.GetWithin(fanfold.Key{Collection: r.Relation.To, ID: id}, fanfold.Embedded, 0)
		if err != nil {
			return err
		}
		if doc != nil {
			src.Revision, src.Position = doc.Revision, l.issuer.Mark(doc.Position)
		} else if r.Relation.OnDelete == model.Keep {
			v.State = "kept"
		}
		v.Sources = append(v.Sources, src)
	}
	if r.Frozen {
		v.State = "frozen"
	}
	return nil
}

// idsOf names the ids that copies of one list go by.
type idsOf struct {
	relation string
	base     int
	anchor   jsondoc.Node
}

// idsAt returns the ids that a copy below anchor goes by. It keeps the ids of a list, because many rules may copy by them.
func (l *lineage) idsAt(r *fold.Rule, anchor jsondoc.Node) []string {
	key := idsOf{r.RelationName, r.Base, anchor}
	ids, ok := l.ids[key]
	if !ok {
		ids = r.Relation.Path[r.Base:].AppendIDs(nil, l.t, anchor)
		l.walked += len(ids)
		if r.List() {
			l.ids[key] = ids
		}
	}
	return ids
}

// holders returns the first documents that refer to this one by the rule's relation, by creation, and how many do.
func (l *lineage) holders(r *fold.Rule) (docs []*fanfold.Document, total int64, err error) {
	if have, ok := l.known[r.RelationName]; ok {
		return have.docs, have.total, nil
	}
	if docs, err = l.state.HolderMeta(r.RelationName, l.row.Key.ID, maxSources); err != nil {
		return nil, 0, err
	}
	total, err = l.state.CountHolders(r.RelationName, l.row.Key.ID, -1)
	l.known[r.RelationName] = referring{docs, total}
	return docs, total, err
}
