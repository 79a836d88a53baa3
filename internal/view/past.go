package view

import (
	"math"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// Past is a prefix of the log, as a View shows it, as it was at one of its positions.
type Past struct {
	snap   Snapshot
	rights *access.Rights
	sight  *sight
	at     fanfold.Position
}

// Time returns the time of the last event of the prefix.
func (p *Prefix) Time() time.Time { return p.snap.Time() }

// Oldest returns the oldest position that can be shown.
func (p *Prefix) Oldest() (fanfold.Position, error) { return p.snap.Oldest() }

// Resolve returns the position of a moment: see Snapshot.
func (p *Prefix) Resolve(m fanfold.Moment) (fanfold.Position, error) { return p.snap.Resolve(m) }

// ChangesBetween returns how many changes there are after one position and up to another: see Snapshot.
func (p *Prefix) ChangesBetween(from, to fanfold.Position) (int64, error) {
	return p.snap.ChangesBetween(from, to)
}

// ChangedKeys calls keep with the keys of documents that changed, of those that may be read: see Snapshot.
func (p *Prefix) ChangedKeys(from, to fanfold.Position, direct bool, keep func(fanfold.Key)) (last fanfold.Position, err error) {
	return p.snap.ChangedKeys(from, to, direct, func(key fanfold.Key) {
		if p.sight.of(key.Collection).Every() {
			keep(key)
		}
	})
}

// AsOf returns the prefix as it was at a position that Resolve has returned.
func (p *Prefix) AsOf(at fanfold.Position) *Past { return &Past{p.snap, p.rights, p.sight, at} }

// At returns the position that is shown.
func (p *Past) At() fanfold.Position { return p.at }

// Model returns the model that applied, nil for none, and the event that applied it.
func (p *Past) Model() (source []byte, seq uint64, err error) { return p.snap.ModelAt(p.at) }

// GetWithin returns one document, nil where there was none that may be read, then and now, and how many bytes its body has or takes to be rebuilt: see
// Snapshot.
func (p *Past) GetWithin(key fanfold.Key, form fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error) {
	doc, size, err = p.sight.document(key.Collection, form, maxBytes, func(form fanfold.View, maxBytes int) (*fanfold.Document, int, error) {
		return p.snap.GetAt(p.at, key, form, maxBytes)
	})
	if g := p.sight.of(key.Collection); doc == nil || err != nil || g.Every() {
		return doc, size, err
	}
	if now, err := p.sight.readsNow(p.snap, key); err != nil || !now {
		return nil, 0, err
	}
	return doc, size, nil
}

// readsNow tells whether a document may be read as it is in a snapshot; a deleted one as it was last.
func (s *sight) readsNow(snap Snapshot, key fanfold.Key) (bool, error) {
	g := s.of(key.Collection)
	if g.Every() || g.None() {
		return g.Every(), nil
	}
	page, err := snap.Versions(fanfold.VersionQuery{Key: key, Reads: g.Reads})
	return page.Known, err
}

// maxPastJudged is at how many documents a page of the past looks for a reader about whom a rule decides.
const maxPastJudged = 1000

// readable returns what calls fn with those documents of a page that may be read, then and now, until there are limit of them, or fn returns false. most is at how
// many documents the page may look.
func (p *Past) readable(collection string, limit int, form fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (most int, each func(doc *fanfold.Document) (bool, error), err error) {
	g := p.sight.of(collection)
	if !g.Conditional() {
		return limit, fn, p.rights.CheckRead(collection)
	}
	asked, shown := g.Cost(), 0
	return maxPastJudged, func(doc *fanfold.Document) (bool, error) {
		if g.Cost()-asked > maxJudgeCost {
			return false, nil
		}
		view := doc
		if form != fanfold.Embedded {
			if view, _, err = p.snap.GetAt(p.at, doc.Key, fanfold.Embedded, math.MaxInt); err != nil || view == nil {
				return true, err
			}
		}
		if !g.Reads(view.Body) {
			return true, nil
		}
		if now, err := p.sight.readsNow(p.snap, doc.Key); err != nil || !now {
			return true, err
		}
		if shown++; shown > limit {
			return false, nil
		}
		return fn(masked(g, doc))
	}, nil
}

// EachListed calls fn with documents of a collection as they were: see Snapshot.
func (p *Past) EachListed(collection, after string, limit int, form fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (last string, more bool, err error) {
	most, each, err := p.readable(collection, limit, form, fn)
	if err != nil {
		return "", false, err
	}
	return p.snap.EachListedAt(p.at, collection, after, most, form, each)
}

// EachReferring calls fn with up to limit documents that referred to target, in order of creation, later than the number after, until fn
// returns false. last is the number that it has come to, and more tells whether others follow. The error is Forbidden, or the snapshot's.
func (p *Past) EachReferring(relation, target string, after int64, limit int, form fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (last int64, more bool, err error) {
	most, each, err := p.readable(collectionOf(relation), limit, form, fn)
	if err == nil {
		err = p.rights.CheckRelation(relation)
	}
	if err != nil {
		return 0, false, err
	}
	return p.snap.EachReferringAt(p.at, relation, target, after, most, form, each)
}

// EachOnPage calls fn with the documents on one of target's fixed pages as it was, until fn returns false. It calls begin first: see Lists.
// The error is Forbidden, or the snapshot's.
func (p *Past) EachOnPage(q model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error {
	fn, err := p.sight.onPage(q.Relation, fn)
	if err != nil {
		return err
	}
	return p.snap.EachOnPageAt(p.at, q, begin, fn)
}

// StoredModel returns the model's source, nil where none applied, the paths that were reserved, and the rules that were removed and whose
// values were still stored.
func (p *Past) StoredModel() (src []byte, reserved model.Reserved, retired model.Retired, err error) {
	return p.snap.StoredModelAt(p.at)
}

// Created returns up to limit documents of all collections that may be read, as they were written, by number, later than the number after.
// last is the number that it has come to, and more tells whether others follow.
func (p *Past) Created(after int64, limit int) (docs []*fanfold.Document, last int64, more bool, err error) {
	docs, last, more, err = p.snap.CreatedAt(p.at, after, limit)
	if p.rights.ReadsAll() {
		return docs, last, more, err
	}
	return slices.DeleteFunc(docs, func(doc *fanfold.Document) bool { return !p.rights.Reads(doc.Key.Collection) }), last, more, err
}

// Versions returns a page of a document's history, without versions that may not be read, and in which no documents are named that may not be read now.
func (p *Prefix) Versions(q fanfold.VersionQuery) (page fanfold.VersionPage, err error) {
	g := p.sight.of(q.Key.Collection)
	if g.None() {
		return page, p.rights.CheckSees(q.Key.Collection)
	}
	if !g.Every() {
		q.Reads = func(view []byte) bool { return g.Cost() <= maxJudgeCost && g.Reads(view) }
	}
	if hides := g.Mask(); hides != nil {
		q.Shown = hides.Cut
	}
	if page, err = p.snap.Versions(q); err == nil {
		err = p.sight.checkCost()
	}
	if err != nil || p.rights.ReadsAll() {
		return page, err
	}
	shown := page.Versions[:0]
	for _, v := range page.Versions {
		if v, told := shownVersion(p.rights, g, v); told {
			shown = append(shown, v)
		}
	}
	page.Versions = shown
	for i := range page.Versions {
		v := &page.Versions[i]
		cause := v.Cause
		if v.ByDelete != nil {
			cause = &v.ByDelete.Key
		}
		if cause == nil {
			continue
		}
		named, err := p.sight.readsNow(p.snap, *cause)
		if err != nil {
			return page, err
		}
		v.ChangeRow = v.WithCausesIn(func(string) bool { return named })
	}
	return page, p.sight.checkCost()
}

// shownVersion returns a version of a document's history as its reader sees it, and whether there is anything to see: a derived change of private members alone is
// left out.
func shownVersion(rights *access.Rights, g *access.Grant, v fanfold.Version) (fanfold.Version, bool) {
	if g.Mask() == nil || v.Op != fanfold.OpDerive {
		return v, true
	}
	change := *v.Change
	change.Rules, change.Omitted = rights.Told(v.Key.Collection, v.Rules), nil
	v.Change = &change
	return v, string(v.Patch) != "[]" || len(change.Rules) > 0
}

// Has reports whether a document was there. It asks for no right, as the values that stay on a document tell no more.
func (p *Past) Has(key fanfold.Key) (bool, error) {
	doc, _, err := p.snap.GetAt(p.at, key, fanfold.Embedded, 0)
	return doc != nil, err
}

// CheckExport returns a Forbidden where collections may not be exported, nil for all of them.
func (p *Past) CheckExport(collections []string) error { return checkExport(p.rights, collections) }
