package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/writer"
)

// get answers GET and HEAD of one document.
func (s *Server) get(c echo.Context) error {
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	if err := readParameters(c, "view", "expand"); err != nil {
		return err
	}
	view, err := viewOf(c)
	if err != nil {
		return err
	}
	if err := s.freshness(c); err != nil {
		return err
	}
	if c.Request().URL.RawQuery != "" && c.QueryParam("expand") != "" {
		return s.getExpanded(c, key, view)
	}
	lease := s.opt.Sending.Lease()
	defer lease.Release()
	doc, at, err := s.readDocument(c, lease, key, view)
	if err != nil {
		return err
	}
	if doc == nil {
		return writer.Missing(key)
	}
	return s.sendDocument(c, http.StatusOK, doc, at, s.etag(doc))
}

// lineage answers GET of where a document's derived values come from.
func (s *Server) lineage(c echo.Context) error {
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	if err := readParameters(c); err != nil {
		return err
	}
	if err := s.freshness(c); err != nil {
		return err
	}
	report, err := s.Inspector.Lineage(c.Request().Context(), key)
	if err != nil {
		return err
	}
	return s.sendJSON(c, http.StatusOK, report)
}

// mark returns a position as it is given out.
func (s *Server) mark(p fanfold.Position) fanfold.Bookmark { return s.opt.Issuer.Mark(p) }

// markEvent returns the position of an event's first change as it is given out.
func (s *Server) markEvent(seq uint64) fanfold.Bookmark { return s.mark(fanfold.At(seq, 0)) }

// etag returns a document's ETag. Its fold version is that of the document's last change, so that it is the same on every node.
func (s *Server) etag(doc *fanfold.Document) entityTag {
	version, _ := s.opt.Issuer.FoldOf(doc.Position.Seq())
	return entityTag{Revision: doc.Revision, Position: doc.Position, Fold: version}
}

// Header names in canonical form: setting them directly saves a conversion for each.
var (
	keyETag     = http.CanonicalHeaderKey("ETag")
	keyRevision = http.CanonicalHeaderKey(headerRevision)
	keyPosition = http.CanonicalHeaderKey(headerPosition)
	keyDerived  = http.CanonicalHeaderKey(headerDerived)
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}

	// mustRevalidate is the Cache-Control of what may be kept as long as its ETag is asked about: without it a cache may
	// take a document for fresh because it was not written of late (RFC 9111, 4.2.2), although its copies have changed.
	mustRevalidate = []string{"no-cache"}
)

// countedByHTTP is how many bytes of an answer net/http counts by itself. A length that this package does not set leaves a
// document's answer with as many header fields as the smallest map holds, which saves a microsecond of 18.
const countedByHTTP = 2048

// sendDocument answers with a document, or with 304 where the client has the one with this tag.
func (s *Server) sendDocument(c echo.Context, status int, doc *fanfold.Document, at fanfold.Position, etag entityTag) error {
	if s.setDocument(c, doc, at, etag) {
		return c.NoContent(http.StatusNotModified)
	}
	c.Response().Header()["Content-Type"] = typeJSON
	if len(doc.Body) > countedByHTTP {
		setLength(c, len(doc.Body))
	}
	c.Response().WriteHeader(status)
	return writePaced(c, doc.Body)
}

// setDocument sets the headers of an answer with a document, and tells whether the client has the one with this tag.
func (s *Server) setDocument(c echo.Context, doc *fanfold.Document, at fanfold.Position, etag entityTag) (known bool) {
	h := c.Response().Header()
	tag := etag.String()
	values := []string{tag, strconv.FormatUint(uint64(doc.Revision), 10), s.mark(at).String(), doc.Updated.Format(http.TimeFormat)}
	h[keyETag], h[keyRevision], h[keyPosition], h["Last-Modified"] = values[0:1:1], values[1:2:2], values[2:3:3], values[3:4:4]
	h["Cache-Control"] = mustRevalidate
	none := c.Request().Header["If-None-Match"]
	if len(none) == 0 {
		return false
	}
	known, h[keyETag][0] = matches(none, tag)
	return known
}

// matches tells whether the lines of an If-None-Match header have a tag, compared weakly (RFC 9110, 13.1.2) and as a
// whole, or are "*". It returns the tag as the client has it, which may be that of a compressed answer. What lists no tags
// has none.
func matches(lines []string, tag string) (known bool, have string) {
	list := strings.TrimSpace(strings.Join(lines, ","))
	if list == "*" {
		return true, tag
	}
	tags, _ := splitETags(list)
	zipped := strings.TrimSuffix(tag, `"`) + gzipSuffix + `"`
	for _, v := range tags {
		switch v = strings.TrimPrefix(v, "W/"); v {
		case tag:
			return true, tag
		case zipped:
			return true, zipped
		}
	}
	return false, tag
}
