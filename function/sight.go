package function

import (
	"context"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/query"
	"github.com/fanfold/fanfold/writer"
)

// Snapshot reads one consistent prefix of the log.
type Snapshot interface {
	writer.Snapshot
	view.Snapshot
}

// Sight is a snapshot that shows documents as principals see them: see writer.Sighting. It is for one goroutine.
type Sight struct {
	Snapshot
	issuer fanfold.Issuer
	end    func()
	seen   map[*writer.Sender]*view.Prefix
}

// NewSight returns a sight of a snapshot. Close calls end.
func NewSight(s Snapshot, issuer fanfold.Issuer, end func()) *Sight {
	return &Sight{Snapshot: s, issuer: issuer, end: end, seen: map[*writer.Sender]*view.Prefix{}}
}

// Applied returns the last event that the snapshot shows.
func (s *Sight) Applied() uint64 { return s.At().Seq() }

// Close ends the snapshot.
func (s *Sight) Close() { s.end() }

// prefix returns the snapshot as a principal sees it.
func (s *Sight) prefix(by *writer.Sender) *view.Prefix {
	p := s.seen[by]
	if p == nil {
		p = view.PrefixOf(s.Snapshot, by)
		s.seen[by] = p
	}
	return p
}

// See returns a document as a principal sees it, nil where there is none for it.
func (s *Sight) See(by *writer.Sender, key fanfold.Key, form fanfold.View, maxBytes int) (*fanfold.Document, error) {
	doc, _, err := s.prefix(by).GetWithin(key, form, maxBytes)
	return doc, err
}

// Ask calls show with the documents that a question is about, each with its member _meta.
func (s *Sight) Ask(ctx context.Context, by *writer.Sender, q writer.Question, show func(doc *fanfold.Document) error) error {
	r := query.Request{Collection: q.Collection, Filter: q.Filter, Params: q.Params, Sort: q.Sort, Limit: q.Limit, View: fanfold.Embedded}
	if q.Relation != "" {
		r.Within = &query.Within{Relation: q.Relation, Target: q.Target}
	}
	p := s.prefix(by)
	if err := p.Restrict(&r, q.Filter == "" && len(q.Sort) == 0); err != nil {
		return err
	}
	compiled, err := query.Compile(r, by.Model())
	if err != nil {
		return err
	}
	_, err = p.Query(ctx, compiled, func(doc *fanfold.Document) (bool, error) {
		shown := *doc
		shown.Body = jsondoc.WithLast(doc.Body, "_meta", doc.Meta(s.issuer))
		return true, show(&shown)
	})
	return err
}
