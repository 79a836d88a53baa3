package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/query"
	"github.com/fanfold/fanfold/writer"
)

// The numbers of documents in a page of a list.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// page holds what a request of a list asks for.
type page struct {
	limit  int
	cursor string // decoded; "" for the beginning
	view   fanfold.View
	tree   []*expansion
}

// parsePage reads the parameters of a list of a collection's documents, and waits until the read model is fresh enough.
// Errors are Invalid and those of freshness.
func (s *Server) parsePage(c echo.Context, collection string) (p page, err error) {
	if p.view, err = viewOf(c); err != nil {
		return p, err
	}
	if p.limit, err = query.Int(c.QueryParams(), "limit", defaultLimit, 1, maxLimit); err != nil {
		return p, err
	}
	if v := c.QueryParam("cursor"); v != "" {
		raw, err := base64.RawURLEncoding.DecodeString(v)
		if err != nil || len(raw) == 0 {
			return p, fanfold.Errorf(fanfold.Invalid, "cursor=%s is not one that a list's \"next\" gave", v)
		}
		p.cursor = string(raw)
	}
	if v := c.QueryParam("expand"); v != "" {
		m, _, _ := s.Models.Model()
		if p.tree, err = parseExpand(m, collection, v); err != nil {
			return p, err
		}
	}
	return p, s.freshness(c)
}

// list answers GET of a collection, page by page, by id.
func (s *Server) list(c echo.Context) error {
	collection, err := collectionOf(c)
	if err != nil {
		return err
	}
	if err := parameters(c, "limit", "cursor", "view", "expand", "consistency"); err != nil {
		return err
	}
	p, err := s.parsePage(c, collection)
	if err != nil {
		return err
	}
	return s.sendPage(c, p, func(snap Snapshot) ([]*fanfold.Document, bool, error) {
		return snap.List(collection, p.cursor, p.limit, p.view)
	}, func(last *fanfold.Document) string { return last.Key.ID })
}

// children answers GET of the documents that refer to one, page by page, in order of arrival.
func (s *Server) children(c echo.Context) error {
	parent, err := keyOf(c)
	if err != nil {
		return err
	}
	child, err := param(c, "child")
	if err != nil {
		return err
	}
	if strings.HasPrefix(child, "_") {
		return fanfold.Errorf(fanfold.NotFound, "no such route: see /openapi.json")
	}
	if err := parameters(c, "limit", "cursor", "view", "expand", "consistency", "relation", "page"); err != nil {
		return err
	}
	paged := c.QueryParams().Has("page")
	rel, err := s.childRelation(parent.Collection, child, c.QueryParam("relation"), paged)
	switch {
	case err != nil:
		return err
	case paged:
		return s.childPage(c, parent, rel)
	}
	return s.childList(c, parent, rel)
}

// childList answers GET of the documents that refer to one by a relation, from the cursor on.
func (s *Server) childList(c echo.Context, parent fanfold.Key, rel *fanfold.Relation) error {
	p, err := s.parsePage(c, rel.Collection)
	if err != nil {
		return err
	}
	after := int64(0)
	if p.cursor != "" {
		if after, err = strconv.ParseInt(p.cursor, 10, 64); err != nil {
			return fanfold.Errorf(fanfold.Invalid, "cursor=%s is not one that this list's \"next\" gave", c.QueryParam("cursor"))
		}
	}
	return s.sendPage(c, p, func(snap Snapshot) ([]*fanfold.Document, bool, error) {
		if err := checkExists(snap, parent); err != nil {
			return nil, false, err
		}
		return snap.Holders(rel.FullName(), parent.ID, after, p.limit, p.view)
	}, func(last *fanfold.Document) string { return strconv.FormatInt(last.Number, 10) })
}

// childRelation returns the relation by which documents of the collection child refer to those of parent: the one with the
// given name, or the only one. With paged it prefers the one that has pages. Errors are NotFound where there is none,
// and Invalid.
func (s *Server) childRelation(parent, child, name string, paged bool) (*fanfold.Relation, error) {
	m, _, _ := s.Models.Model()
	var found []*fanfold.Relation
	var names []string
	if c := m.Collection(child); c != nil {
		for _, r := range c.Relations {
			if r.To == parent {
				names = append(names, r.Name)
				if name == "" || r.Name == name {
					found = append(found, r)
				}
			}
		}
	}
	if i := slices.IndexFunc(found, func(r *fanfold.Relation) bool { return r.PageSize > 0 }); paged && i >= 0 {
		return found[i], nil // a collection has pages by one relation
	}
	switch {
	case len(names) == 0:
		return nil, fanfold.Errorf(fanfold.NotFound, "no relation leads from %q to %s", child, parent)
	case len(found) == 0:
		return nil, fanfold.Errorf(fanfold.Invalid, "relation=%s does not lead from %s to %s: %s do", name, child, parent, strings.Join(names, ", "))
	case len(found) > 1:
		return nil, fanfold.Errorf(fanfold.Invalid, "several relations lead from %s to %s: say relation=%s", child, parent, strings.Join(names, " or relation="))
	}
	return found[0], nil
}

// childPage answers GET of one of the fixed pages of the documents that refer to one. A place that a
// document has left stays empty, so that no other page changes.
func (s *Server) childPage(c echo.Context, parent fanfold.Key, rel *fanfold.Relation) error {
	number, err := pageNumber(c, rel)
	if err != nil {
		return err
	}
	p, err := s.parsePage(c, rel.Collection)
	if err != nil {
		return err
	}
	var out []byte
	if err := s.Reader.Read(func(snap Snapshot) error {
		if err := checkExists(snap, parent); err != nil {
			return err
		}
		docs, pages, err := snap.Page(rel.FullName(), parent.ID, number, rel.PageSize, p.view)
		if err != nil {
			return err
		}
		if number > pages {
			return fanfold.Errorf(fanfold.NotFound, "there is no page %d: the last one is %d", number, pages)
		}
		if number == 0 {
			number = pages
		}
		out = jsondoc.AppendQuote([]byte{'{'}, rel.Path.String())
		out = jsondoc.AppendQuote(append(out, ':'), parent.ID)
		out = fmt.Appendf(out, `,"page":%d,"pages":%d,"%s":[`, number, pages, rel.Collection)
		out, err = s.appendItems(c, out, snap, docs, p)
		return err
	}); err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, append(out, "]}"...))
}

// pageNumber reads the parameter page: a number from 1 on, or 0 for last. The error is Invalid, also where the relation
// has no pages.
func pageNumber(c echo.Context, rel *fanfold.Relation) (number int64, err error) {
	if rel.PageSize == 0 {
		return 0, fanfold.Errorf(fanfold.Invalid, "%s has no pages by %s: declare pages: {by: %s, size: 100} in the model, or leave out page=", rel.Collection, rel.Name, rel.Name)
	}
	for _, name := range []string{"limit", "cursor"} {
		if c.QueryParam(name) != "" {
			return 0, fanfold.Errorf(fanfold.Invalid, "%s does not go with page", name)
		}
	}
	v := c.QueryParam("page")
	if v == "last" {
		return 0, nil
	}
	if number, err = strconv.ParseInt(v, 10, 64); err != nil || number < 1 {
		return 0, fanfold.Errorf(fanfold.Invalid, "page=%s is neither a whole number from 1 on nor last", v)
	}
	return number, nil
}

// checkExists returns a NotFound where a snapshot does not have a document.
func checkExists(snap Snapshot, key fanfold.Key) error {
	doc, err := snap.Get(key, fanfold.Embedded)
	if err == nil && doc == nil {
		err = writer.Missing(key)
	}
	return err
}

// appendItems appends documents to out as a list has them, with metadata and expanded, and sets the position's header.
func (s *Server) appendItems(c echo.Context, out []byte, snap Snapshot, docs []*fanfold.Document, p page) ([]byte, error) {
	c.Response().Header().Set(headerPosition, snap.At().String())
	x, _ := newExpander(snap, p.view)
	for i, doc := range docs {
		if i > 0 {
			out = append(out, ',')
		}
		body, err := x.expand(doc.WithMeta(), p.tree)
		if err != nil {
			return nil, err
		}
		out = append(out, body...)
	}
	return out, nil
}

// sendPage answers with a page that read reads from one snapshot. cursorOf returns the cursor behind a document.
func (s *Server) sendPage(c echo.Context, p page, read func(Snapshot) ([]*fanfold.Document, bool, error), cursorOf func(last *fanfold.Document) string) error {
	out := []byte(`{"items":[`)
	if err := s.Reader.Read(func(snap Snapshot) error {
		docs, more, err := read(snap)
		if err != nil {
			return err
		}
		if out, err = s.appendItems(c, out, snap, docs, p); err != nil {
			return err
		}
		out = append(out, ']')
		if more {
			out = append(out, `,"next":`...)
			out = jsondoc.AppendQuote(out, base64.RawURLEncoding.EncodeToString([]byte(cursorOf(docs[len(docs)-1]))))
		}
		return nil
	}); err != nil {
		return err
	}
	return c.JSONBlob(http.StatusOK, append(out, '}'))
}
