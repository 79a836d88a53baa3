// Package view is the one door by which documents leave for who reads them. Whoever answers a request opens a View, and takes bodies, keys
// and the names of documents from it alone. A View shows nothing that the sender may not read.
package view

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/query"
)

// Views opens views of what a node has.
type Views struct{ from Dependencies }

// New returns the views of what from reads.
func New(from Dependencies) *Views { return &Views{from} }

// Open returns what a principal with these rights may see, nothing for nil.
func (vs *Views) Open(rights *access.Rights) View { return View{vs, rights} }

// View shows one request's sender what it may see. It returns the errors of Dependencies, and Forbidden for what it may not.
type View struct {
	views  *Views
	rights *access.Rights
}

// Rights returns the rights of who sees it, nil for nobody.
func (v View) Rights() *access.Rights { return v.rights }

// Read calls fn with a prefix of the log that is valid until fn returns.
func (v View) Read(fn func(p *Prefix) error) error {
	return v.views.from.Reader.Read(func(s Snapshot) error { return fn(&Prefix{s, v.rights, newSight(v.rights)}) })
}

// ReadLong is Read for differences, exports and histories, which hold up no other read.
func (v View) ReadLong(fn func(p *Prefix) error) error {
	return v.views.from.Reader.ReadLong(func(s Snapshot) error { return fn(&Prefix{s, v.rights, newSight(v.rights)}) })
}

// LargestTargets finds the target of each relation to which most documents refer: see Reader. The error is Forbidden for whoever does not read
// every collection.
func (v View) LargestTargets(ctx context.Context, relations []*model.Relation, most int) (found []wire.LargestTarget, at fanfold.Position, err error) {
	if err := v.rights.CheckReadAll(); err != nil {
		return nil, 0, err
	}
	return v.views.from.Reader.LargestTargets(ctx, relations, most)
}

// Scan opens a prefix of the log that may be read for long, until ctx ends. The caller closes it.
func (v View) Scan(ctx context.Context) (*LongPrefix, error) {
	s, err := v.views.from.Reader.Scan(ctx)
	if err != nil {
		return nil, err
	}
	return &LongPrefix{scan: s, rights: v.rights}, nil
}

// Lineage reports where a document's derived values come from and which documents carry copies of it.
func (v View) Lineage(ctx context.Context, key fanfold.Key) (*wire.Lineage, error) {
	if err := v.rights.CheckSees(key.Collection); err != nil {
		return nil, err
	}
	report, err := v.views.from.Tracer.Lineage(ctx, key)
	if err != nil {
		return nil, err
	}
	if !v.names(key) {
		return nil, fanfold.Errorf(fanfold.NotFound, "there is no document %s", key)
	}
	return v.lineage(key, report)
}

// LineageAt does what Lineage does as of a moment. A document is named that may be read, then and now.
func (v View) LineageAt(ctx context.Context, key fanfold.Key, when fanfold.Moment) (*wire.Lineage, error) {
	if err := v.rights.CheckSees(key.Collection); err != nil {
		return nil, err
	}
	report, err := v.views.from.Tracer.LineageAt(ctx, key, when)
	if err != nil || v.rights.ReadsAll() {
		return report, err
	}
	out := *report
	err = v.Read(func(p *Prefix) error {
		oldest, err := p.Oldest()
		at := report.Position.Position
		if err == nil && at < oldest {
			err = fanfold.Errorf(fanfold.PositionGone, "the history of %s is no longer kept", report.Position)
		}
		if err != nil {
			return err
		}
		t := &trimmer{p: p, state: p.AsOf(at), before: true, known: map[fanfold.Key]bool{}}
		if !t.names(key) {
			return cmp.Or(t.err, error(fanfold.Errorf(fanfold.NotFound, "there is no document %s", key)))
		}
		return t.trim(key, report, &out)
	})
	return &out, err
}

// KeyAt returns the document of the event at seq.
func (v View) KeyAt(ctx context.Context, seq uint64) (fanfold.Key, error) {
	ev, err := v.views.from.Keys.EventAt(ctx, seq)
	if err != nil {
		return fanfold.Key{}, err
	}
	var key fanfold.Key
	switch ev.Kind {
	case fanfold.KindPut, fanfold.KindPatch, fanfold.KindDelete:
		key = ev.Key
	}
	if err := v.rights.CheckRead(key.Collection); err != nil {
		return fanfold.Key{}, err
	}
	return key, nil
}

// Untold stands for the number of derived changes where it is not told: some of them may be of documents that may not be read.
const Untold = -1

// Outcome returns what a recently folded event did: see Outcomes. derived may be Untold.
func (v View) Outcome(seq uint64) (op fanfold.Op, derived int64, ok bool) {
	op, derived, ok = v.views.from.Outcomes.Outcome(seq)
	return op, v.count(derived), ok
}

// Outcomes returns what count folded events from first on, which the sender has written, did to their documents: see Outcomes. It shows nothing of the
// documents, so that any right in their collection is enough. derived may be Untold.
func (v View) Outcomes(first uint64, count int) (changes []*fanfold.Change, derived int64, err error) {
	changes, derived, err = v.views.from.Outcomes.Outcomes(first, count)
	if err == nil && slices.Contains(changes, nil) {
		derived, err = v.kept(first, derived)
	}
	if err != nil {
		return nil, 0, err
	}
	told := make([]*fanfold.Change, len(changes))
	for i, ch := range changes {
		if ch == nil {
			continue
		}
		if err := v.rights.CheckSome(ch.Key.Collection, model.Acts...); err != nil {
			return nil, 0, err
		}
		told[i] = &fanfold.Change{Key: ch.Key, Op: ch.Op, Tx: ch.Tx}
	}
	return told, v.count(derived), nil
}

// kept returns a number of derived changes, which is not known where the events are before the store begins.
func (v View) kept(first uint64, derived int64) (int64, error) {
	err := v.views.from.Reader.Read(func(s Snapshot) error {
		oldest, err := s.Oldest()
		if oldest > 0 && fanfold.At(first, 0) <= oldest {
			derived = Untold
		}
		return err
	})
	return derived, err
}

// count returns a number of derived changes, or Untold.
func (v View) count(derived int64) int64 {
	if v.rights.ReadsAll() {
		return derived
	}
	return Untold
}

// Preview returns the preview of a model with the documents that it may name.
func (v View) Preview(p *model.Preview) *model.Preview { return p }

// sight judges which documents a principal reads. It is for one goroutine.
type sight struct {
	rights *access.Rights
	grants map[string]*access.Grant
}

func newSight(rights *access.Rights) *sight {
	return &sight{rights, map[string]*access.Grant{}}
}

// of returns the right to read a collection.
func (s *sight) of(collection string) *access.Grant {
	g := s.grants[collection]
	if g == nil {
		own := s.rights.Grant(collection, model.ActRead)
		g = &own
		s.grants[collection] = g
	}
	return g
}

// maxJudgeCost bounds what rules cost on the documents that a request asks for one by one.
const maxJudgeCost = 50_000_000

// cost returns what the rules have cost so far.
func (s *sight) cost() (sum int) {
	for _, g := range s.grants {
		sum += g.Cost()
	}
	return sum
}

// checkCost returns an Unprocessable where the rules have cost more than one request may.
func (s *sight) checkCost() error {
	if s.cost() <= maxJudgeCost {
		return nil
	}
	return fanfold.Errorf(fanfold.Unprocessable, "the rules of the rights to read cost more than %d on the documents of the request together: ask for fewer documents at once", maxJudgeCost)
}

// bodies reads documents of one state: see Snapshot.GetWithin.
type bodies func(form fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error)

// document returns one document of a collection, nil for one that may not be read, as for one that is not there. The error is Forbidden where none may
// be read.
func (s *sight) document(collection string, form fanfold.View, maxBytes int, read bodies) (doc *fanfold.Document, size int, err error) {
	g := s.of(collection)
	switch {
	case g.All():
		return read(form, maxBytes)
	case g.None():
		return nil, 0, s.rights.CheckSees(collection)
	}
	doc, size, err = read(fanfold.Embedded, math.MaxInt)
	if err != nil || doc == nil {
		return nil, 0, err
	}
	if err := s.checkCost(); err != nil {
		return nil, 0, err
	}
	if !g.Reads(doc.Body) {
		return nil, 0, nil
	}
	if form != fanfold.Embedded {
		if doc, size, err = read(form, maxBytes); err != nil || doc == nil {
			return nil, size, err
		}
	} else if size > maxBytes {
		doc.Body = nil
	}
	return masked(g, doc), size, nil
}

// masked returns a document without the members that a right to read does not show.
func masked(g *access.Grant, doc *fanfold.Document) *fanfold.Document {
	if g.Mask() == nil || doc.Body == nil {
		return doc
	}
	shown := *doc
	shown.Body = g.Mask().Cut(doc.Body)
	return &shown
}

// Get returns one document, nil where there is none, and the position it was read at.
func (v View) Get(key fanfold.Key, form fanfold.View) (doc *fanfold.Document, at fanfold.Position, err error) {
	if g := v.rights.Grant(key.Collection, model.ActRead); g.All() {
		return v.views.from.Reader.Get(key, form)
	}
	err = v.Read(func(p *Prefix) error {
		at = p.At()
		doc, _, err = p.GetWithin(key, form, math.MaxInt)
		return err
	})
	return doc, at, err
}

// names tells whether a document may be named.
func (v View) names(key fanfold.Key) bool {
	g := v.rights.Grant(key.Collection, model.ActRead)
	if !g.Conditional() || key.ID == "" {
		return g.All()
	}
	named := false
	err := v.Read(func(p *Prefix) error {
		p.sight.grants[key.Collection] = new(g.Uncounted())
		doc, _, err := p.GetWithin(key, fanfold.Embedded, 0)
		named = doc != nil
		return err
	})
	return err == nil && named
}

// Judges tells whether the right to read a collection depends on what a document has.
func (v View) Judges(collection string) bool {
	g := v.rights.Grant(collection, model.ActRead)
	return g.Conditional()
}

// Seal returns what seals cursors of a collection's documents, nil where the right to read them does not depend on what they have. The error is RightsStale.
func (v View) Seal(collection string) (*access.Seal, error) {
	if !v.Judges(collection) {
		return nil, nil
	}
	return v.rights.Seal()
}

// Restrict has a query answer with the documents that may be read. Errors are Forbidden, where none may be, or where the query asks for more than
// documents, and RightsStale. listing says that a plain list is asked for.
func (v View) Restrict(r *query.Request, listing bool) error {
	g := v.rights.Grant(r.Collection, model.ActRead)
	switch {
	case g.All():
		return nil
	case g.None():
		return v.rights.CheckSees(r.Collection)
	case r.Explain: // it tells how many documents an index has
		return v.rights.CheckRead(r.Collection)
	}
	seal, err := v.rights.Seal()
	if err != nil {
		return err
	}
	if r.Within != nil {
		if err := v.rights.CheckRelation(r.Within.Relation); err != nil {
			return err
		}
	}
	r.Visible = &query.Visible{Bind: g.Bound, Seal: seal, Listing: listing, Mask: g.Mask()}
	return nil
}
