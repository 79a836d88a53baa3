package view

import (
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
		if p.rights.Reads(key.Collection) {
			keep(key)
		}
	})
}

// AsOf returns the prefix as it was at a position that Resolve has returned.
func (p *Prefix) AsOf(at fanfold.Position) *Past { return &Past{p.snap, p.rights, at} }

// At returns the position that is shown.
func (p *Past) At() fanfold.Position { return p.at }

// Model returns the model that applied, nil for none, and the event that applied it.
func (p *Past) Model() (source []byte, seq uint64, err error) { return p.snap.ModelAt(p.at) }

// GetWithin returns one document, nil where there was none, and how many bytes its body has or takes to be rebuilt: see Snapshot.
func (p *Past) GetWithin(key fanfold.Key, form fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error) {
	if err := p.rights.CheckRead(key.Collection); err != nil {
		return nil, 0, err
	}
	return p.snap.GetAt(p.at, key, form, maxBytes)
}

// EachListed calls fn with documents of a collection as they were: see Snapshot.
func (p *Past) EachListed(collection, after string, limit int, form fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (last string, more bool, err error) {
	if err := p.rights.CheckRead(collection); err != nil {
		return "", false, err
	}
	return p.snap.EachListedAt(p.at, collection, after, limit, form, fn)
}

// EachReferring calls fn with up to limit documents that referred to target, in order of creation, later than the number after, until fn
// returns false. last is the number that it has come to, and more tells whether others follow. The error is Forbidden, or the snapshot's.
func (p *Past) EachReferring(relation, target string, after int64, limit int, form fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (last int64, more bool, err error) {
	if err := p.rights.CheckRead(collectionOf(relation)); err != nil {
		return 0, false, err
	}
	return p.snap.EachReferringAt(p.at, relation, target, after, limit, form, fn)
}

// EachOnPage calls fn with the documents on one of target's fixed pages as it was, until fn returns false. It calls begin first: see Lists.
// The error is Forbidden, or the snapshot's.
func (p *Past) EachOnPage(q model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error {
	if err := p.rights.CheckRead(collectionOf(q.Relation)); err != nil {
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

// Versions returns a page of a document's history, in which no documents are named that may not be read.
func (p *Prefix) Versions(q fanfold.VersionQuery) (page fanfold.VersionPage, err error) {
	if err := p.rights.CheckRead(q.Key.Collection); err != nil {
		return page, err
	}
	if page, err = p.snap.Versions(q); err != nil || p.rights.ReadsAll() {
		return page, err
	}
	for i := range page.Versions {
		v := &page.Versions[i]
		v.ChangeRow = v.WithCausesIn(p.rights.Reads)
	}
	return page, nil
}

// Has reports whether a document was there. It asks for no right, as the values that stay on a document tell no more.
func (p *Past) Has(key fanfold.Key) (bool, error) {
	doc, _, err := p.snap.GetAt(p.at, key, fanfold.Embedded, 0)
	return doc != nil, err
}

// CheckExport returns a Forbidden where collections may not be exported, nil for all of them.
func (p *Past) CheckExport(collections []string) error { return checkExport(p.rights, collections) }
