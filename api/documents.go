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
	if err := parameters(c, "view", "expand", "consistency"); err != nil {
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
	if err := parameters(c, "consistency"); err != nil {
		return err
	}
	if err := s.freshness(c); err != nil {
		return err
	}
	report, err := s.Inspector.Lineage(key)
	if err != nil {
		return err
	}
	return s.sendJSON(c, http.StatusOK, report)
}

// etag returns a document's ETag.
func (s *Server) etag(doc *fanfold.Document) fanfold.ETag { return doc.ETagOf(s.opt.FoldVersion) }

// Header names in canonical form: setting them directly saves a conversion for each.
var (
	keyETag     = http.CanonicalHeaderKey("ETag")
	keyRevision = http.CanonicalHeaderKey(headerRevision)
	keyPosition = http.CanonicalHeaderKey(headerPosition)
	keyDerived  = http.CanonicalHeaderKey(headerDerived)
	typeJSON    = []string{"application/json"}
)

// sendDocument answers with a document, or with 304 where the client has the one with this tag.
func (s *Server) sendDocument(c echo.Context, status int, doc *fanfold.Document, at fanfold.Position, etag fanfold.ETag) error {
	if setDocument(c, doc, at, etag) {
		return c.NoContent(http.StatusNotModified)
	}
	h := c.Response().Header()
	h["Content-Type"], h["Content-Length"] = typeJSON, []string{strconv.Itoa(len(doc.Body))}
	c.Response().WriteHeader(status)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	return writePaced(c, doc.Body)
}

// setDocument sets the headers of an answer with a document, and tells whether the client has the one with this tag.
func setDocument(c echo.Context, doc *fanfold.Document, at fanfold.Position, etag fanfold.ETag) (known bool) {
	h := c.Response().Header()
	tag := etag.String()
	values := []string{tag, strconv.FormatUint(uint64(doc.Revision), 10), at.String(), doc.Updated.Format(http.TimeFormat)}
	h[keyETag], h[keyRevision], h[keyPosition], h["Last-Modified"] = values[0:1:1], values[1:2:2], values[2:3:3], values[3:4:4]
	none := c.Request().Header["If-None-Match"]
	if len(none) == 0 {
		return false
	}
	known, h[keyETag][0] = matches(none, tag)
	return known
}

// matches tells whether the lines of an If-None-Match header have a tag, compared weakly (RFC 9110, 13.1.2) and as a
// whole, or are "*". It returns the tag as the client has it, which may be that of a compressed answer.
func matches(lines []string, tag string) (known bool, have string) {
	zipped := strings.TrimSuffix(tag, `"`) + fanfold.GzipSuffix + `"`
	for _, line := range lines {
		for v := range strings.SplitSeq(line, ",") {
			switch v = strings.TrimPrefix(strings.TrimSpace(v), "W/"); v {
			case "*", tag:
				return true, tag
			case zipped:
				return true, zipped
			}
		}
	}
	return false, tag
}
