package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Header names of ours.
const (
	headerRevision    = "Fanfold-Revision"
	headerPosition    = "Fanfold-Position"
	headerMinPosition = "Fanfold-Min-Position"
	headerTimeout     = "Fanfold-Timeout"
)

// param is a path parameter, unescaped.
func param(c echo.Context, name string) (string, error) {
	v := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return v, nil
	}
	out, err := url.PathUnescape(v)
	if err != nil {
		return "", fanfold.Errorf(fanfold.Invalid, "%s in the path is not percent-encoded rightly", name)
	}
	return out, nil
}

func collectionOf(c echo.Context) (string, error) {
	name, err := param(c, "collection")
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(name, "_") {
		return "", fanfold.Errorf(fanfold.NotFound, "no such route: names that begin with _ are the store's own; see /openapi.json")
	}
	return name, fanfold.CheckCollection(name)
}

func keyOf(c echo.Context) (key fanfold.Key, err error) {
	if key.Collection, err = collectionOf(c); err != nil {
		return key, err
	}
	if key.ID, err = param(c, "id"); err != nil {
		return key, err
	}
	return key, fanfold.CheckID(key.ID)
}

// parameters refuses query parameters the route does not know, and repeated ones.
func parameters(c echo.Context, known ...string) error {
	if c.Request().URL.RawQuery == "" {
		return nil
	}
	q, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return fanfold.Errorf(fanfold.Invalid, "the query string cannot be read: %v", err)
	}
	for name, values := range q {
		if !slices.Contains(known, name) {
			list := "no parameters"
			if len(known) > 0 {
				list = strings.Join(known, ", ")
			}
			return fanfold.Errorf(fanfold.Invalid, "unknown parameter %q: this route takes %s", name, list)
		}
		if len(values) > 1 {
			return fanfold.Errorf(fanfold.Invalid, "parameter %q is given more than once", name)
		}
	}
	return nil
}

func viewOf(c echo.Context) (fanfold.View, error) {
	if c.Request().URL.RawQuery == "" {
		return fanfold.Embedded, nil
	}
	switch v := c.QueryParam("view"); v {
	case "", "embedded":
		return fanfold.Embedded, nil
	case "referenced":
		return fanfold.Referenced, nil
	default:
		return 0, fanfold.Errorf(fanfold.Invalid, "view=%s is not one of embedded and referenced", v)
	}
}

func boolParam(c echo.Context, name string) (bool, error) {
	switch v := c.QueryParam(name); v {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, fanfold.Errorf(fanfold.Invalid, "%s=%s is not true or false", name, v)
	}
}

// preferences are what Prefer (RFC 7240) asks for, as far as we know it; the rest is ignored,
// as the RFC has it.
type preferences struct {
	strict         bool
	lenient        bool
	async          bool
	representation bool
	minimal        bool
}

// applied lists the preferences that an answer follows; body tells whether it has one.
func (p preferences) applied(put, async, body bool) string {
	var list []string
	switch {
	case p.strict && put:
		list = append(list, "handling=strict")
	case p.lenient && put:
		list = append(list, "handling=lenient")
	}
	if p.async && async {
		list = append(list, "respond-async")
	}
	switch {
	case p.representation && body:
		list = append(list, "return=representation")
	case p.minimal && !body:
		list = append(list, "return=minimal")
	}
	return strings.Join(list, ", ")
}

func prefer(c echo.Context) (p preferences) {
	seen := map[string]bool{}
	for _, line := range c.Request().Header.Values("Prefer") {
		for item := range strings.SplitSeq(line, ",") {
			item, _, _ = strings.Cut(item, ";")
			name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(item)), "=")
			value = strings.Trim(strings.TrimSpace(value), `"`)
			name = strings.TrimSpace(name)
			if seen[name] { // the first counts (RFC 7240, 2)
				continue
			}
			seen[name] = true
			switch {
			case name == "handling" && value == "strict":
				p.strict = true
			case name == "handling" && value == "lenient":
				p.lenient = true
			case name == "respond-async" && value == "":
				p.async = true
			case name == "return" && value == "representation":
				p.representation = true
			case name == "return" && value == "minimal":
				p.minimal = true
			}
		}
	}
	return p
}

// timeout is how long the request may wait for the fold: Fanfold-Timeout in seconds, or with
// a unit, such as 500ms.
func (s *Server) timeout(c echo.Context) (time.Duration, error) {
	v := c.Request().Header.Get(headerTimeout)
	if v == "" {
		return s.opt.Timeout, nil
	}
	d, err := time.ParseDuration(v)
	if seconds, ferr := strconv.ParseFloat(v, 64); ferr == nil {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < 0 || d > time.Minute {
		return 0, fanfold.Errorf(fanfold.Invalid, "%s: %q is not a time of up to 60 seconds, such as 5 or 500ms", headerTimeout, v)
	}
	return d, nil
}

// freshness waits until the read model shows what the reader asks for.
func (s *Server) freshness(c echo.Context) error {
	r := c.Request()
	minPosition := r.Header.Get(headerMinPosition)
	if minPosition == "" && r.URL.RawQuery == "" {
		return nil
	}
	limit, err := s.timeout(c)
	if err != nil {
		return err
	}
	var want uint64
	strong := false
	if minPosition != "" {
		p, err := fanfold.ParsePosition(minPosition)
		if err != nil {
			return err
		}
		want = p.Seq()
	}
	switch v := c.QueryParam("consistency"); v {
	case "", "local":
	case "strong":
		strong = true
	default:
		return fanfold.Errorf(fanfold.Invalid, "consistency=%s is not one of local and strong", v)
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	if strong {
		begun := s.now()
		seq, err := s.log.Fence(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return fanfold.Errorf(fanfold.Timeout, "the log did not answer within %v; this node stands at event %d", limit, s.reader.Applied())
		}
		if err != nil {
			return err
		}
		want = max(want, seq)
		defer func() {
			if s.reader.Applied() >= seq {
				s.provenAt(begun)
			}
		}()
	}
	if want == 0 {
		return nil
	}
	if err := s.reader.Wait(ctx, want); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fanfold.Errorf(fanfold.Timeout, "this node stands at event %d and did not reach %d within %v", s.reader.Applied(), want, limit)
		}
		return err
	}
	return nil
}

func (s *Server) wait(ctx context.Context, seq uint64, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.reader.Wait(ctx, seq)
}

// conditions are a write's If-Match and If-None-Match.
type conditions struct {
	match    []fanfold.Revision // any of these
	exists   bool               // If-Match: *
	noneness bool               // If-None-Match: *
}

func (cond conditions) any() bool { return len(cond.match) > 0 || cond.exists || cond.noneness }

func parseConditions(r *http.Request) (cond conditions, err error) {
	for _, line := range r.Header.Values("If-Match") {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" {
				cond.exists = true
				continue
			}
			etag, err := fanfold.ParseETag(tag)
			if err != nil {
				return cond, err
			}
			cond.match = append(cond.match, etag.Revision)
		}
	}
	if v := strings.TrimSpace(r.Header.Get("If-None-Match")); v != "" {
		if v != "*" {
			return cond, fanfold.Errorf(fanfold.Invalid, "If-None-Match takes * on a write: create only")
		}
		cond.noneness = true
	}
	if cond.noneness && (cond.exists || len(cond.match) > 0) {
		return cond, fanfold.Errorf(fanfold.Invalid, "If-Match and If-None-Match exclude each other")
	}
	return cond, nil
}

// readBody reads the body of a write to one document.
func (s *Server) readBody(c echo.Context, media ...string) (body []byte, contentType string, err error) {
	return s.readAny(c, s.opt.MaxBody, media...)
}

// mediaType checks the request's content type against those that the route reads.
func mediaType(c echo.Context, media ...string) (string, error) {
	contentType, _, _ := strings.Cut(c.Request().Header.Get(echo.HeaderContentType), ";")
	contentType = strings.ToLower(strings.TrimSpace(contentType))
	if !slices.Contains(media, contentType) {
		return "", fanfold.Errorf(fanfold.UnsupportedMedia, "Content-Type %q is not read here: send %s", contentType, strings.Join(media, " or "))
	}
	if c.Request().Header.Get("Content-Encoding") != "" {
		return "", fanfold.Errorf(fanfold.UnsupportedMedia, "Content-Encoding is not supported: send the body as it is")
	}
	return contentType, nil
}

// readAny reads a body of at most most bytes in one of the media types.
func (s *Server) readAny(c echo.Context, most int64, media ...string) (body []byte, contentType string, err error) {
	if contentType, err = mediaType(c, media...); err != nil {
		return nil, "", err
	}
	length := c.Request().ContentLength
	if length > most {
		return nil, "", fanfold.Errorf(fanfold.TooLarge, "the body has %d bytes; at most %d are taken", length, most)
	}
	limited := http.MaxBytesReader(c.Response(), c.Request().Body, most)
	if length > 0 {
		body = make([]byte, length)
		_, err = io.ReadFull(limited, body)
	} else {
		body, err = io.ReadAll(limited)
	}
	if err != nil {
		return nil, "", bodyError(err, most)
	}
	return body, contentType, arrived(c)
}

// checkJSON checks JSON text against what we take.
func (s *Server) checkJSON(body []byte) error { return s.checkDepth(body, s.opt.MaxDepth) }

func (s *Server) checkDepth(body []byte, most int) error {
	err := jsondoc.Check(body, most)
	var syntax *jsondoc.SyntaxError
	if errors.As(err, &syntax) {
		code := fanfold.Invalid
		if syntax.Depth {
			code = fanfold.Unprocessable
		}
		return fanfold.Errorf(code, "the body is not a JSON value that is taken: %v", syntax)
	}
	return err
}

// document checks a written document against its key, drops what the store owns and gives it
// its id. An empty id in key is taken from the body, or made.
func (s *Server) document(body []byte, key *fanfold.Key) (source []byte, dropped []string, err error) {
	t, hasID, err := s.parse(body, key, "_meta", "_expanded")
	if err != nil {
		return nil, nil, err
	}
	m, _, reserved := s.models.Model()
	collection := m.Collection(key.Collection)
	shape := fanfold.NewShape(collection, append([]string{"_meta", "_expanded"}, reserved[key.Collection]...))
	source, dropped = shape.Strip(t)
	if collection != nil {
		if err := checkRelations(collection, source); err != nil {
			return nil, nil, err
		}
	}
	dropped = slices.DeleteFunc(dropped, func(p string) bool { return p == "/_meta" || p == "/_expanded" })
	if !hasID {
		source = jsondoc.WithFirst(source, "id", jsondoc.Quote(key.ID))
	}
	return source, dropped, nil
}

// exact checks a document that is stored as it is: one that _export wrote, whose members may be
// hidden by derived ones.
func (s *Server) exact(body []byte, key *fanfold.Key) ([]byte, error) {
	_, hasID, err := s.parse(body, key)
	if err == nil && !hasID {
		err = fanfold.Errorf(fanfold.Unprocessable, "the document has no id")
	}
	if c := s.collection(key); err == nil && c != nil {
		err = checkRelations(c, body)
	}
	return body, err
}

func (s *Server) collection(key *fanfold.Key) *fanfold.Collection {
	m, _, _ := s.models.Model()
	return m.Collection(key.Collection)
}

// parse checks what any document must be. Of the store's own members it lets through those
// that are dropped later.
func (s *Server) parse(body []byte, key *fanfold.Key, dropped ...string) (t *jsondoc.Tree, hasID bool, err error) {
	if err := s.checkJSON(body); err != nil {
		return nil, false, err
	}
	t = jsondoc.MustParse(body)
	if t.Kind(jsondoc.Root) != jsondoc.Object {
		return nil, false, fanfold.Errorf(fanfold.Invalid, "the body must be a JSON object, the document")
	}
	if hasID, err = documentID(t, key); err != nil {
		return nil, false, err
	}
	for n := t.First(jsondoc.Root); n != jsondoc.None; n = t.Next(n) {
		if name := t.Key(n); strings.HasPrefix(name, "_") && !slices.Contains(dropped, name) {
			return nil, false, fanfold.Errorf(fanfold.Unprocessable, "member %q: names that begin with _ are the store's own at the top level", name)
		}
	}
	return t, hasID, nil
}

// documentID compares the body's id with the key's, or gives the key its id.
func documentID(t *jsondoc.Tree, key *fanfold.Key) (hasID bool, err error) {
	n := t.Member(jsondoc.Root, "id")
	if n == jsondoc.None {
		if key.ID == "" {
			key.ID, err = newID()
		}
		return false, err
	}
	if kind := t.Kind(n); kind != jsondoc.String && kind != jsondoc.Number {
		return true, fanfold.Errorf(fanfold.Unprocessable, "member \"id\" must be a string or a number")
	}
	id := t.Text(n)
	if err := fanfold.CheckID(id); err != nil {
		return true, err
	}
	if key.ID == "" {
		key.ID = id
	}
	if id != key.ID {
		return true, fanfold.Errorf(fanfold.Unprocessable, "the body's id %q is not the path's id %q", id, key.ID)
	}
	return true, nil
}

func checkRelations(c *fanfold.Collection, source []byte) error {
	if len(c.Relations) == 0 {
		return nil
	}
	t := jsondoc.MustParse(source)
	for _, r := range c.Relations {
		if n := len(r.Path.AppendIDs(nil, t, jsondoc.Root)); n > fanfold.MaxRelationIDs {
			return fanfold.Errorf(fanfold.Unprocessable, "relation %s holds %d ids at %s; at most %d are taken", r.Name, n, r.Path, fanfold.MaxRelationIDs)
		}
	}
	return nil
}
