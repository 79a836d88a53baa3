package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// get answers one document.
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
	doc, at, err := s.reader.Get(key, view)
	if err != nil {
		return err
	}
	if doc == nil {
		return missing(key)
	}
	return s.sendDocument(c, http.StatusOK, doc, at, s.etag(doc))
}

// lineage answers where a document's derived values come from.
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
	report, err := s.models.Lineage(key)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, report)
}

func missing(key fanfold.Key) error {
	return fanfold.Errorf(fanfold.NotFound, "there is no document %s", key)
}

func (s *Server) etag(doc *fanfold.Document) fanfold.ETag { return doc.ETagOf(s.opt.FoldVersion) }

// Header names in canonical form, so that setting one costs no conversion.
var (
	keyETag     = http.CanonicalHeaderKey("ETag")
	keyRevision = http.CanonicalHeaderKey(headerRevision)
	keyPosition = http.CanonicalHeaderKey(headerPosition)
	keyDerived  = http.CanonicalHeaderKey(headerDerived)
	typeJSON    = []string{"application/json"}
)

func (s *Server) sendDocument(c echo.Context, status int, doc *fanfold.Document, at fanfold.Position, etag fanfold.ETag) error {
	h := c.Response().Header()
	tag := etag.String()
	values := []string{tag, strconv.FormatUint(uint64(doc.Revision), 10), at.String(), doc.Updated.Format(http.TimeFormat), strconv.Itoa(len(doc.Body))}
	h[keyETag], h[keyRevision], h[keyPosition], h["Last-Modified"] = values[0:1:1], values[1:2:2], values[2:3:3], values[3:4:4]
	if none := c.Request().Header["If-None-Match"]; len(none) > 0 && matches(none, tag) {
		return c.NoContent(http.StatusNotModified)
	}
	h["Content-Type"], h["Content-Length"] = typeJSON, values[4:5:5]
	w := c.Response()
	w.WriteHeader(status)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	_, err := w.Write(doc.Body)
	return err
}

// matches compares weakly (RFC 9110, 13.1.2), by the whole tag.
func matches(lines []string, tag string) bool {
	for _, line := range lines {
		for v := range strings.SplitSeq(line, ",") {
			v = strings.TrimSpace(v)
			if v == "*" || strings.TrimPrefix(v, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// create answers POST: the id comes from the body, or is made.
func (s *Server) create(c echo.Context) error {
	collection, err := collectionOf(c)
	if err != nil {
		return err
	}
	if err := parameters(c, askParameters...); err != nil {
		return err
	}
	cond, err := parseConditions(c.Request())
	if err != nil {
		return err
	}
	if cond.exists || len(cond.match) > 0 {
		return fanfold.Errorf(fanfold.Invalid, "If-Match does not go with POST, which only creates: use PUT")
	}
	body, _, err := s.readBody(c, "application/json")
	if err != nil {
		return err
	}
	key := fanfold.Key{Collection: collection}
	w, err := s.newWrite(c, &key, body)
	if err != nil {
		return err
	}
	ctx, err := asked(c, w.prefer)
	if err != nil {
		return err
	}
	seq, err := s.once(ctx, w.event.IdempotencyKey, func(ctx context.Context) (uint64, error) { return s.appendNew(ctx, w.event) })
	if err != nil {
		return err
	}
	return s.finish(c, w, seq)
}

// write is one write on its way.
type write struct {
	event   *fanfold.Event
	prefer  preferences
	limit   time.Duration
	begun   time.Duration // since the server's own beginning
	dropped bool          // members of the body were
}

// newWrite checks the body of a POST or PUT.
func (s *Server) newWrite(c echo.Context, key *fanfold.Key, body []byte) (*write, error) {
	w := &write{prefer: prefer(c), begun: s.now()}
	var err error
	if w.limit, err = s.timeout(c); err != nil {
		return nil, err
	}
	w.event = &fanfold.Event{Kind: fanfold.KindPut}
	if w.event.Body, w.dropped, err = s.written(body, key, w.prefer.strict); err != nil {
		return nil, err
	}
	w.event.Key = *key
	w.event.IdempotencyKey, err = onceOf(c.Request(), body)
	return w, err
}

// parsing waits where several large bodies are being parsed, each of which may need many times its
// size meanwhile; the function it returns says that this one is done.
func (s *Server) parsing(body []byte) (done func()) {
	if len(body) < 64<<10 {
		return func() {}
	}
	s.parsers <- struct{}{}
	return func() { <-s.parsers }
}

// written checks a document that is to be stored and drops what the store owns; with strict it
// refuses that.
func (s *Server) written(body []byte, key *fanfold.Key, strict bool) (source []byte, dropped bool, err error) {
	defer s.parsing(body)()
	t, source, list, err := s.document(body, key)
	if err == nil { // a derived member is none of a relation's, so it does not matter that they are in the tree
		c, _ := s.shape(key.Collection)
		if err = checkRelations(c, t); err == nil {
			err = s.misfit(key.Collection, source)
		}
	}
	if err != nil {
		return nil, false, err
	}
	if len(list) > 0 && strict {
		e := fanfold.Errorf(fanfold.Unprocessable, "the body has members that the store derives; leave them out, or send no Prefer: handling=strict")
		for _, p := range list {
			e.Problems = append(e.Problems, fanfold.Problem{Path: p, Detail: "is derived"})
		}
		return nil, false, e
	}
	return source, len(list) > 0, nil
}

// appendNew appends an event that must create its document. A deleted document's tombstone is
// what to expect then.
func (s *Server) appendNew(ctx context.Context, ev *fanfold.Event) (uint64, error) {
	doc, _, err := s.reader.Get(ev.Key, fanfold.Embedded)
	if err != nil {
		return 0, err
	}
	if doc != nil {
		if rev, deleted, err := s.log.Last(ctx, ev.Key); err != nil || !deleted {
			return 0, errors.Join(err, exists(ev.Key, rev))
		}
	}
	expect := fanfold.Exactly(0)
	for {
		seq, err := s.append(ctx, ev, expect)
		if fanfold.CodeOf(err) != fanfold.Stale {
			return seq, err
		}
		rev, deleted, lerr := s.log.Last(ctx, ev.Key)
		if lerr != nil {
			return 0, lerr
		}
		if !deleted {
			return 0, exists(ev.Key, rev)
		}
		expect = fanfold.Exactly(rev)
	}
}

func exists(key fanfold.Key, rev fanfold.Revision) error {
	return &fanfold.Error{Code: fanfold.Exists, Message: "document " + key.String() + " exists already: PUT replaces it", Current: rev}
}

// put answers PUT: create or replace, under the request's conditions.
func (s *Server) put(c echo.Context) error {
	key, cond, err := addressed(c, "refresh")
	if err != nil {
		return err
	}
	body, _, err := s.readBody(c, "application/json")
	if err != nil {
		return err
	}
	w, err := s.newWrite(c, &key, body)
	if err != nil {
		return err
	}
	if err := s.refresh(c, w.event); err != nil {
		return err
	}
	ctx, err := asked(c, w.prefer)
	if err != nil {
		return err
	}
	seq, err := s.once(ctx, w.event.IdempotencyKey, func(ctx context.Context) (uint64, error) {
		switch {
		case cond.noneness:
			return s.appendNew(ctx, w.event)
		case cond.any():
			return s.onCurrent(ctx, key, cond, func(rev fanfold.Revision) (uint64, error) {
				return s.append(ctx, w.event, fanfold.Exactly(rev))
			})
		default:
			return s.append(ctx, w.event, fanfold.Expect{})
		}
	})
	if err != nil {
		return s.stale(c, key, err)
	}
	return s.finish(c, w, seq)
}

// refresh reads refresh=field[,field]: the frozen copies that the write takes anew.
func (s *Server) refresh(c echo.Context, ev *fanfold.Event) error {
	if v := c.QueryParam("refresh"); v != "" {
		ev.Refresh = strings.Split(v, ",")
	}
	return s.checkRefresh(ev)
}

func (s *Server) checkRefresh(ev *fanfold.Event) error {
	m, _, _ := s.models.Model()
	for _, path := range ev.Refresh {
		c := m.Collection(ev.Key.Collection)
		if c == nil || !slices.ContainsFunc(c.Rules, func(r *fanfold.Rule) bool { return r.Frozen && r.Path.String() == path }) {
			return fanfold.Errorf(fanfold.Unprocessable, "refresh: %q is no frozen field of %s", path, ev.Key.Collection)
		}
	}
	return nil
}

// addressed reads what a write to one document has besides its body.
func addressed(c echo.Context, known ...string) (key fanfold.Key, cond conditions, err error) {
	if key, err = keyOf(c); err != nil {
		return key, cond, err
	}
	if err := parameters(c, append(known, askParameters...)...); err != nil {
		return key, cond, err
	}
	cond, err = parseConditions(c.Request())
	if err == nil && cond.noneness && c.Request().Method != http.MethodPut {
		err = fanfold.Errorf(fanfold.Invalid, "If-None-Match does not go with %s", c.Request().Method)
	}
	return key, cond, err
}

// stale turns a lost condition into a 412 with the current ETag.
func (s *Server) stale(c echo.Context, key fanfold.Key, err error) error {
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Code != fanfold.Stale && e.Code != fanfold.Exists {
		return err
	}
	if e.Current > 0 { // the tag below should not be older than the revision told
		_ = s.wait(c.Request().Context(), uint64(e.Current), s.opt.Timeout)
	}
	if doc, at, gerr := s.reader.Get(key, fanfold.Embedded); gerr == nil && doc != nil {
		h := c.Response().Header()
		h[keyETag] = []string{s.etag(doc).String()}
		h.Set(headerRevision, strconv.FormatUint(uint64(doc.Revision), 10))
		h.Set(headerPosition, at.String())
	}
	return &fanfold.Error{Code: fanfold.Stale, Message: e.Message, Current: e.Current, Err: e.Err}
}

// onCurrent runs try with the document's current revision, as far as cond allows it, until it
// is not Stale any more. Without If-Match one on this node does so at a time, in order of arrival;
// it starts over only where another node was faster, and that one has made progress.
func (s *Server) onCurrent(ctx context.Context, key fanfold.Key, cond conditions, try func(rev fanfold.Revision) (uint64, error)) (uint64, error) {
	alone := len(cond.match) == 0
	if alone {
		done, err := s.turns.take(ctx, key)
		if err != nil {
			return 0, fanfold.Wrap(err, fanfold.Unavailable, "too many others write to the document: try again")
		}
		defer done()
	}
	for {
		rev, err := s.current(ctx, key, cond)
		if err != nil {
			return 0, err
		}
		seq, err := try(rev)
		var e *fanfold.Error
		if !errors.As(err, &e) || e.Code != fanfold.Stale || !alone {
			if err == nil && alone { // whose turn is next should see it
				_ = s.wait(ctx, seq, s.opt.Timeout)
			}
			return seq, err
		}
		s.retries.Add(1)
		if err := s.wait(ctx, uint64(e.Current), s.opt.Timeout); err != nil {
			return 0, behind(err)
		}
	}
}

// behind is the error of a write that needs to see what this node has not folded.
func behind(err error) error {
	return fanfold.Wrap(err, fanfold.Unavailable, "the document changes faster than this node follows: try again%s", reasonOf(err))
}

// current is the revision that a write is to replace. What the read model shows is checked
// against the log only where it does not meet the condition, for it may lag.
func (s *Server) current(ctx context.Context, key fanfold.Key, cond conditions) (fanfold.Revision, error) {
	doc, _, err := s.reader.Get(key, fanfold.Referenced)
	if err != nil {
		return 0, err
	}
	meets := func(rev fanfold.Revision) bool {
		for _, want := range cond.match {
			if want == rev {
				return true
			}
		}
		return len(cond.match) == 0
	}
	if doc != nil && meets(doc.Revision) {
		return doc.Revision, nil
	}
	rev, deleted, err := s.log.Last(ctx, key)
	switch {
	case err != nil:
		return 0, err
	case rev == 0 || deleted:
		if cond.any() {
			return 0, fanfold.Errorf(fanfold.Stale, "there is no document %s", key)
		}
		return 0, missing(key)
	case !meets(rev):
		return 0, &fanfold.Error{Code: fanfold.Stale, Current: rev,
			Message: "document " + key.String() + " is at revision " + strconv.FormatUint(uint64(rev), 10)}
	}
	if err := s.wait(ctx, uint64(rev), s.opt.Timeout); err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, "this node does not show revision %d yet: try again%s", rev, reasonOf(err))
	}
	return rev, nil
}

// delete answers DELETE.
func (s *Server) delete(c echo.Context) error {
	key, cond, err := addressed(c, "steps")
	if err != nil {
		return err
	}
	steps, err := boolParam(c, "steps")
	if err != nil {
		return err
	}
	w := &write{event: &fanfold.Event{Kind: fanfold.KindDelete, Key: key}, prefer: prefer(c), begun: s.now()}
	if w.limit, err = s.timeout(c); err != nil {
		return err
	}
	if w.event.IdempotencyKey, err = onceOf(c.Request(), nil); err != nil {
		return err
	}
	ctx, err := asked(c, w.prefer)
	if err != nil {
		return err
	}
	if steps {
		return s.deleteStep(ctx, c, key, cond, w)
	}
	seq, err := s.once(ctx, w.event.IdempotencyKey, func(ctx context.Context) (uint64, error) {
		op := &operation{name: "delete", event: w.event, cond: cond}
		if s.deletes([]*operation{op}) {
			first, err := s.commit(ctx, []*operation{op})
			return first, alone(err)
		}
		return s.onCurrent(ctx, key, cond, func(rev fanfold.Revision) (uint64, error) {
			return s.append(ctx, w.event, fanfold.Exactly(rev))
		})
	})
	if err != nil {
		return s.stale(c, key, err)
	}
	return s.finish(c, w, seq)
}

// within is the error of a transaction, as that of none of its operations where it is about a write that
// they brought with them.
func within(err error, operations int) error {
	if operationOf(err) >= operations {
		return alone(err)
	}
	return err
}

// alone is the error of a transaction with one operation as that of a request without any.
func alone(err error) error {
	var e *fanfold.Error
	if !errors.As(err, &e) || e.Operation == nil {
		return err
	}
	own := *e
	own.Operation, own.Message = nil, strings.TrimPrefix(e.Message, fmt.Sprintf("operation %d: ", *e.Operation))
	return &own
}

func revisionOf(doc *fanfold.Document) fanfold.Revision {
	if doc == nil {
		return 0
	}
	return doc.Revision
}
