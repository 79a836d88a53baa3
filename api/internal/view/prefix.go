package view

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// Prefix is one consistent prefix of the log as a View shows it.
type Prefix struct{ snap Snapshot }

// At returns the position at which the prefix ends.
func (p *Prefix) At() fanfold.Position { return p.snap.At() }

// HasCollection tells whether there is a collection: see Listing.
func (p *Prefix) HasCollection(name string) (bool, error) { return p.snap.HasCollection(name) }

// Collections returns up to limit collections, by name, later than the name after, and whether others follow.
func (p *Prefix) Collections(after string, limit int) (list []model.CollectionCount, more bool, err error) {
	return p.snap.CollectionsBehind(after, limit)
}

// GetWithin returns one document, nil where there is none, and how many bytes its body has: see Snapshot.
func (p *Prefix) GetWithin(key fanfold.Key, form fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error) {
	return p.snap.GetWithin(key, form, maxBytes)
}

// EachListed calls fn with documents of a collection: see Lists.
func (p *Prefix) EachListed(collection, after string, limit int, form fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error) {
	return p.snap.EachListed(collection, after, limit, form, fn)
}

// EachReferring calls fn with documents that refer to target: see Lists.
func (p *Prefix) EachReferring(relation, target string, after int64, limit int, form fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error) {
	return p.snap.EachReferring(relation, target, after, limit, form, fn)
}

// EachOnPage calls fn with the documents on a fixed page: see Lists.
func (p *Prefix) EachOnPage(q model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error {
	return p.snap.EachOnPage(q, begin, fn)
}

// LongPrefix is a prefix of the log as a View shows it, which may be read for long. The caller closes it.
type LongPrefix struct{ scan Scan }

// At returns the position at which the prefix ends.
func (p *LongPrefix) At() fanfold.Position { return p.scan.At() }

// Model returns the model and what is left of earlier ones: see Scan.
func (p *LongPrefix) Model() (src []byte, reserved model.Reserved, retired model.Retired, err error) {
	return p.scan.Model()
}

// All returns documents by number: see Scan.
func (p *LongPrefix) All(after int64, limit int) (docs []*fanfold.Document, more bool, err error) {
	return p.scan.All(after, limit)
}

// EachKept calls fn for each value that stays on a document: see Scan.
func (p *LongPrefix) EachKept(holder int64, fn func(rule, target string, value []byte) error) error {
	return p.scan.EachKept(holder, fn)
}

// Close ends the scan.
func (p *LongPrefix) Close() error { return p.scan.Close() }
