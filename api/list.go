package api

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
)

// page is what a list request asks for.
type page struct {
	limit  int
	cursor string // decoded; "" for the beginning
	view   fanfold.View
	tree   []*expansion
}

// parsePage reads a list's parameters; collection is whose documents are listed.
func (s *Server) parsePage(c echo.Context, collection string) (p page, err error) {
	if p.view, err = viewOf(c); err != nil {
		return p, err
	}
	p.limit = defaultLimit
	if v := c.QueryParam("limit"); v != "" {
		if p.limit, err = strconv.Atoi(v); err != nil || p.limit < 1 || p.limit > maxLimit {
			return p, fanfold.Errorf(fanfold.Invalid, "limit=%s is not a whole number from 1 to %d", v, maxLimit)
		}
	}
	if v := c.QueryParam("cursor"); v != "" {
		raw, err := base64.RawURLEncoding.DecodeString(v)
		if err != nil || len(raw) == 0 {
			return p, fanfold.Errorf(fanfold.Invalid, "cursor=%s is not one that a list's \"next\" gave", v)
		}
		p.cursor = string(raw)
	}
	if v := c.QueryParam("expand"); v != "" {
		m, _, _ := s.models.Model()
		if p.tree, err = parseExpand(m, collection, v); err != nil {
			return p, err
		}
	}
	return p, s.freshness(c)
}

// list answers one page of a collection, by id.
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

// children answers one page of the documents that refer to one, in order of arrival.
func (s *Server) children(c echo.Context) error {
	key, err := keyOf(c)
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
	if err := parameters(c, "limit", "cursor", "view", "expand", "consistency", "relation"); err != nil {
		return err
	}
	rel, err := s.childRelation(key.Collection, child, c.QueryParam("relation"))
	if err != nil {
		return err
	}
	p, err := s.parsePage(c, child)
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
		parent, err := snap.Get(key, fanfold.Embedded)
		if err != nil {
			return nil, false, err
		}
		if parent == nil {
			return nil, false, missing(key)
		}
		return snap.Holders(rel.FullName(), key.ID, after, p.limit, p.view)
	}, func(last *fanfold.Document) string { return strconv.FormatInt(last.Number, 10) })
}

// childRelation finds the one relation by which documents of child refer to parent.
func (s *Server) childRelation(parent, child, name string) (*fanfold.Relation, error) {
	m, _, _ := s.models.Model()
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

// sendPage reads a page from one snapshot and writes it.
func (s *Server) sendPage(c echo.Context, p page, read func(Snapshot) ([]*fanfold.Document, bool, error), cursorOf func(last *fanfold.Document) string) error {
	out := []byte(`{"items":[`)
	if err := s.reader.Read(func(snap Snapshot) error {
		docs, more, err := read(snap)
		if err != nil {
			return err
		}
		c.Response().Header().Set(headerPosition, snap.At().String())
		x, _ := newExpander(snap, p.view)
		for i, doc := range docs {
			if i > 0 {
				out = append(out, ',')
			}
			body, err := x.expand(doc.WithMeta(), p.tree)
			if err != nil {
				return err
			}
			out = append(out, body...)
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
