package api

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/writer"
)

const (
	maxHops     = 8     // relations in a row that one path may follow
	maxExpanded = 5_000 // documents that one answer may hold besides its own
)

// expansion holds a relation to be expanded, and those to be expanded in its targets.
type expansion struct {
	relation *fanfold.Relation
	inner    []*expansion
}

// parseExpand reads expand=relation[,relation.relation] for documents of a collection. The error is Invalid.
func parseExpand(m *fanfold.Model, collection, text string) ([]*expansion, error) {
	var roots []*expansion
	for path := range strings.SplitSeq(text, ",") {
		level, at := &roots, collection
		hops := strings.Split(path, ".")
		if len(hops) > maxHops {
			return nil, fanfold.Errorf(fanfold.Invalid, "expand=%s has more than %d hops", path, maxHops)
		}
		for _, name := range hops {
			rel := m.Collection(at).Relation(name)
			if rel == nil {
				return nil, fanfold.Errorf(fanfold.Invalid, "expand=%s: %s has no relation %q", path, at, name)
			}
			i := slices.IndexFunc(*level, func(e *expansion) bool { return e.relation == rel })
			if i < 0 {
				*level = append(*level, &expansion{relation: rel})
				i = len(*level) - 1
			}
			level, at = &(*level)[i].inner, rel.To
		}
	}
	return roots, nil
}

// expander adds the member _expanded to documents of one snapshot.
type expander struct {
	snap  Snapshot
	view  fanfold.View
	count int // of the documents expanded
	seen  map[fanfold.Key]*fanfold.Document
	sum   func(s string) // adds the key and position of an expanded document to the hash
}

// expand returns the body with _expanded as its last member, which holds targets by relation, then by id. Ids without a
// document are left out. The error is Unprocessable past maxExpanded documents.
func (x *expander) expand(body []byte, tree []*expansion) ([]byte, error) {
	if len(tree) == 0 {
		return body, nil
	}
	t := jsondoc.MustParse(body)
	out := []byte{'{'}
	for i, e := range tree {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsondoc.AppendQuote(out, e.relation.Name), ":{"...)
		first := true
		for _, id := range e.relation.Targets(t) {
			doc, err := x.get(fanfold.Key{Collection: e.relation.To, ID: id})
			if err != nil {
				return nil, err
			}
			if doc == nil {
				continue
			}
			inner, err := x.expand(doc.Body, e.inner)
			if err != nil {
				return nil, err
			}
			if !first {
				out = append(out, ',')
			}
			first = false
			out = append(append(jsondoc.AppendQuote(out, id), ':'), inner...)
		}
		out = append(out, '}')
	}
	return jsondoc.WithLast(body, "_expanded", append(out, '}')), nil
}

// get returns one document to be expanded, nil where there is none. The error is Unprocessable past maxExpanded.
func (x *expander) get(key fanfold.Key) (*fanfold.Document, error) {
	if x.count++; x.count > maxExpanded {
		return nil, fanfold.Errorf(fanfold.Unprocessable, "expand reaches more than %d documents: ask for fewer at once", maxExpanded)
	}
	doc, known := x.seen[key]
	if !known {
		var err error
		if doc, err = x.snap.Get(key, x.view); err != nil {
			return nil, err
		}
		x.seen[key] = doc
	}
	at := fanfold.Position(0)
	if doc != nil {
		at = doc.Position
	}
	x.sum(key.String() + "@" + at.String())
	return doc, nil
}

// newExpander returns an expander of one snapshot. tag returns a hash of everything that was expanded so far, for the ETag.
func newExpander(snap Snapshot, view fanfold.View) (x *expander, tag func() string) {
	h := fnv.New64a()
	x = &expander{snap: snap, view: view, seen: map[fanfold.Key]*fanfold.Document{}, sum: func(s string) { h.Write([]byte(s + "\n")) }}
	return x, func() string { return fmt.Sprintf("%016x", h.Sum64()) }
}

// getExpanded answers GET of one document with expand=.
func (s *Server) getExpanded(c echo.Context, key fanfold.Key, view fanfold.View) error {
	m, _, _ := s.Models.Model()
	tree, err := parseExpand(m, key.Collection, c.QueryParam("expand"))
	if err != nil {
		return err
	}
	var doc *fanfold.Document
	var at fanfold.Position
	var etag fanfold.ETag
	if err := s.Reader.Read(func(snap Snapshot) (err error) {
		at = snap.At()
		if doc, err = snap.Get(key, view); err != nil || doc == nil {
			return err
		}
		x, tag := newExpander(snap, view)
		if doc.Body, err = x.expand(doc.Body, tree); err != nil {
			return err
		}
		etag = s.etag(doc)
		etag.Suffix = tag()
		return nil
	}); err != nil {
		return err
	}
	if doc == nil {
		return writer.Missing(key)
	}
	return s.sendDocument(c, http.StatusOK, doc, at, etag)
}
