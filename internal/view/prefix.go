package view

import (
	"context"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/query"
)

// Prefix is one consistent prefix of the log as a View shows it.
type Prefix struct {
	snap   Snapshot
	rights *access.Rights
	sight  *sight
}

// PrefixOf returns a snapshot as a principal with these rights sees it.
func PrefixOf(s Snapshot, rights *access.Rights) *Prefix { return &Prefix{s, rights, newSight(rights)} }

// Restrict has a query answer with the documents that may be read: see View.Restrict.
func (p *Prefix) Restrict(r *query.Request, listing bool) error {
	return View{rights: p.rights}.Restrict(r, listing)
}

// At returns the position at which the prefix ends.
func (p *Prefix) At() fanfold.Position { return p.snap.At() }

// HasCollection tells whether there is a collection: see Listing.
func (p *Prefix) HasCollection(name string) (bool, error) {
	if err := p.rights.CheckSees(name); err != nil {
		return false, err
	}
	return p.snap.HasCollection(name)
}

// maxSequences is how many counters a page has.
const maxSequences = 1000

// Sequences returns the counters of a collection, "" for all, later than one, and whether others follow. The route asks for the right.
func (p *Prefix) Sequences(collection string, after fanfold.Counter) (list []fanfold.Counter, more bool, err error) {
	return p.snap.SequencesAfter(collection, after, maxSequences)
}

// Collections returns up to limit collections, by name, later than the name after, and whether others follow.
func (p *Prefix) Collections(after string, limit int) (list []fanfold.CollectionCount, more bool, err error) {
	if p.rights.ReadsAll() {
		return p.snap.CollectionsBehind(after, limit)
	}
	for follow := true; follow; {
		var some []fanfold.CollectionCount
		if some, follow, err = p.snap.CollectionsBehind(after, limit+1); err != nil {
			return nil, false, err
		}
		for _, c := range some {
			g := p.sight.of(c.Name)
			if !g.Every() {
				c.Documents, c.Uncounted = 0, true
			}
			switch after = c.Name; {
			case g.None():
			case len(list) == limit:
				return list, true, nil
			default:
				list = append(list, c)
			}
		}
	}
	return list, false, nil
}

// GetWithin returns one document, nil where there is none, and how many bytes its body has: see Snapshot.
func (p *Prefix) GetWithin(key fanfold.Key, form fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error) {
	return p.sight.document(key.Collection, form, maxBytes, func(form fanfold.View, maxBytes int) (*fanfold.Document, int, error) {
		return p.snap.GetWithin(key, form, maxBytes)
	})
}

// EachListed calls fn with documents of a collection: see Lists.
func (p *Prefix) EachListed(collection, after string, limit int, form fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error) {
	if err := p.rights.CheckRead(collection); err != nil {
		return false, err
	}
	return p.snap.EachListed(collection, after, limit, form, fn)
}

// EachReferring calls fn with documents that refer to target: see Lists. Whoever asks has read target.
func (p *Prefix) EachReferring(relation, target string, after int64, limit int, form fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error) {
	if err := p.rights.CheckRead(collectionOf(relation)); err != nil {
		return false, err
	}
	return p.snap.EachReferring(relation, target, after, limit, form, fn)
}

// EachOnPage calls fn with the documents on a fixed page: see Lists. Whoever asks has read the page's target.
func (p *Prefix) EachOnPage(q model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error {
	fn, err := p.sight.onPage(q.Relation, fn)
	if err != nil {
		return err
	}
	return p.snap.EachOnPage(q, begin, fn)
}

// onPage returns what calls fn with documents of a fixed page of a relation, as they are shown. The error is Forbidden where a rule decides about them: a page has
// as many as it has.
func (s *sight) onPage(relation string, fn func(doc *fanfold.Document) (bool, error)) (func(doc *fanfold.Document) (bool, error), error) {
	g := s.of(collectionOf(relation))
	if !g.Every() {
		return nil, s.rights.CheckRead(collectionOf(relation))
	}
	return func(doc *fanfold.Document) (bool, error) { return fn(masked(g, doc)) }, s.rights.CheckRelation(relation)
}

// Query answers a query: see query.Query.Run.
func (p *Prefix) Query(ctx context.Context, q *query.Query, show func(doc *fanfold.Document) (bool, error)) (*query.Result, error) {
	if err := p.rights.CheckSees(q.Collection()); err != nil {
		return nil, err
	}
	if g := p.sight.of(q.Collection()); g.Conditional() && !q.Restricted() { // its answer would have all documents
		return nil, p.rights.CheckRead(q.Collection())
	}
	return q.Run(ctx, p.snap, show)
}

// Own has the prefix read for long, until ctx ends, and hold up no other reads.
func (p *Prefix) Own(ctx context.Context) error { return p.snap.Own(ctx) }

// collectionOf returns the collection whose documents have what a rule or a relation names, such as books.author.
func collectionOf(name string) string {
	collection, _, _ := strings.Cut(name, ".")
	return collection
}

// LongPrefix is a prefix of the log as a View shows it, which may be read for long. The caller closes it.
type LongPrefix struct {
	scan   Scan
	rights *access.Rights
	shown  map[int64]bool // the numbers of the documents that All has returned last; nil where all may be seen
}

// At returns the position at which the prefix ends.
func (p *LongPrefix) At() fanfold.Position { return p.scan.At() }

// CheckExport returns a Forbidden where some collections, nil for all, may not leave. Whoever exports all gets the model, too.
func (p *LongPrefix) CheckExport(collections []string) error {
	return checkExport(p.rights, collections)
}

// checkExport returns a Forbidden where collections may not be exported, nil for all of them.
func checkExport(rights *access.Rights, collections []string) error {
	if collections == nil && !rights.ReadsAll() {
		return fanfold.Errorf(fanfold.Forbidden, "the right to read every collection is missing")
	}
	for _, name := range collections {
		if err := rights.CheckRead(name); err != nil {
			return err
		}
	}
	return nil
}

// Model returns the model and what is left of earlier ones: see Scan. It says in which form documents are exported, and is told
// to nobody to whom CheckExport refuses an export of all collections.
func (p *LongPrefix) Model() (src []byte, reserved model.Reserved, retired model.Retired, err error) {
	return p.scan.Model()
}

// All returns documents by number, without documents of collections that may not be read: see Scan. The last of them is where
// to go on.
func (p *LongPrefix) All(after int64, limit int) (docs []*fanfold.Document, more bool, err error) {
	if p.rights.ReadsAll() {
		return p.scan.All(after, limit)
	}
	p.shown = map[int64]bool{}
	for more = true; more && len(docs) == 0; {
		var some []*fanfold.Document
		if some, more, err = p.scan.All(after, limit); err != nil || len(some) == 0 {
			return nil, false, err
		}
		for _, doc := range some {
			if after = doc.Number; p.rights.Reads(doc.Key.Collection) {
				docs = append(docs, doc)
				p.shown[doc.Number] = true
			}
		}
	}
	return docs, more, nil
}

// EachKept calls fn for each value that stays on a document, which is one of those that All has returned last: see Scan.
func (p *LongPrefix) EachKept(holder int64, fn func(rule, target string, value []byte) error) error {
	if !p.rights.ReadsAll() && !p.shown[holder] {
		return fanfold.Errorf(fanfold.Forbidden, "the right to read a document is missing")
	}
	return p.scan.EachKept(holder, fn)
}

// SequencesAfter returns counters of a collection, "" for all: see Listing. CheckExport says whether they may be told.
func (p *LongPrefix) SequencesAfter(collection string, after fanfold.Counter, limit int) (list []fanfold.Counter, more bool, err error) {
	return p.scan.SequencesAfter(collection, after, limit)
}

// Close ends the scan.
func (p *LongPrefix) Close() error { return p.scan.Close() }
