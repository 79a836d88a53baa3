package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
)

// outcome is what a write did.
type outcome struct {
	key     fanfold.Key
	op      fanfold.Op
	tx      string
	derived int64 // changes, those of the transaction behind it included
}

func (o *outcome) status() int {
	if o.op == fanfold.OpCreate {
		return http.StatusCreated
	}
	return http.StatusNoContent
}

// tag is the entity tag that a document has by a write: the write's own change is the first of
// its event, and no other change of that event is of the same document.
func (s *Server) tag(seq uint64) string {
	return s.etag(&fanfold.Document{Revision: fanfold.Revision(seq), Position: fanfold.At(seq, 0)}).String()
}

// outcomeOf reads what the folded event seq did.
func outcomeOf(snap Snapshot, seq uint64) (o outcome, err error) {
	ch, err := snap.Change(fanfold.At(seq, 0))
	if err != nil || ch == nil { // nothing was there to delete
		return o, err
	}
	return outcome{key: ch.Key, op: ch.Op, tx: ch.Tx}, nil
}

// settled takes a write that was made under its key before, and is folded, for what it is: it
// needs no waiting.
func (w *write) settled(s *Server, once fanfold.IdempotencyKey, seq uint64) {
	if once.Hash != "" && s.reader.Applied() >= seq {
		w.prefer.async = false
	}
}

// waitFor waits for the fold of a write's last event, unless that was not asked for.
func (s *Server) waitFor(c echo.Context, w *write, seq uint64) error {
	if w.prefer.async {
		return nil
	}
	err := s.wait(c.Request().Context(), seq, w.limit)
	if err == nil && c.Request().Header.Get(headerOnce) == "" { // under a key the event may be an old one
		s.provenAt(w.begun)
	}
	return err
}

// finish waits for the fold and answers a write.
func (s *Server) finish(c echo.Context, w *write, seq uint64) error {
	h := c.Response().Header()
	h[keyRevision] = []string{strconv.FormatUint(seq, 10)}
	h[keyPosition] = []string{fanfold.At(seq, 0).String()}
	applied := func(body bool) {
		if list := w.prefer.applied(w.event.Kind == fanfold.KindPut, w.prefer.async, body); list != "" {
			h.Set("Preference-Applied", list)
		}
	}
	key := w.event.Key
	if w.event.IdempotencyKey.Hash != "" { // made under the key before, it may have another id
		key = fanfold.Key{}
	}
	post := c.Request().Method == http.MethodPost
	located := func(key fanfold.Key) {
		if post && key.ID != "" {
			h.Set("Location", "/v1/"+key.Collection+"/"+url.PathEscape(key.ID))
		}
	}
	w.settled(s, w.event.IdempotencyKey, seq)
	if waited := s.waitFor(c, w, seq); waited != nil || w.prefer.async {
		located(key)
		applied(false)
		return s.accepted(c, w, seq, waited, nil)
	}
	o, err := s.outcome(key, seq)
	if err != nil {
		return err
	}
	h[keyDerived] = []string{strconv.FormatInt(o.derived, 10)}
	located(o.key)
	status := o.status()
	if w.prefer.representation {
		doc, _, err := s.reader.Get(o.key, fanfold.Embedded)
		if err != nil {
			return err
		}
		if doc != nil && uint64(doc.Revision) == seq { // else it was overwritten meanwhile: nothing of ours to show
			if status == http.StatusNoContent {
				status = http.StatusOK
			}
			applied(true)
			c.Request().Header.Del("If-None-Match") // a write's condition, not a read's
			return s.sendDocument(c, status, doc, fanfold.At(seq, 0), s.etag(doc))
		}
	}
	applied(false)
	if !w.dropped && o.op != fanfold.OpDelete && o.op != "" {
		h[keyETag] = []string{s.tag(seq)}
	}
	return c.NoContent(status)
}

// outcome tells what the folded event seq did; key, where it is known, may save reading it.
func (s *Server) outcome(key fanfold.Key, seq uint64) (o outcome, err error) {
	if op, derived, ok := s.reader.Outcome(seq); ok && key.ID != "" {
		return outcome{key: key, op: op, derived: derived}, nil
	}
	err = s.reader.Read(func(snap Snapshot) (err error) {
		if o, err = outcomeOf(snap, seq); err == nil {
			o.derived, err = snap.Derived(seq)
		}
		return err
	})
	return o, err
}

// accepted answers a write that is in the log and not folded yet: with its position, and why.
func (s *Server) accepted(c echo.Context, w *write, seq uint64, waited error, result any) error {
	var reason string
	switch {
	case w.prefer.async && result != nil:
		return c.JSON(http.StatusAccepted, result)
	case w.prefer.async:
		reason = "the request was not to wait for it"
	case errors.Is(waited, context.DeadlineExceeded):
		reason = "this node stands at event " + strconv.FormatUint(s.reader.Applied(), 10) + " and did not reach " + strconv.FormatUint(seq, 10) + " in time"
	default:
		reason = strings.TrimPrefix(reasonOf(waited), ": ")
	}
	body := map[string]any{"position": fanfold.At(seq, 0), "detail": "the write is stored, and not folded here yet: " + reason}
	if result != nil {
		body["result"] = result
	}
	return c.JSON(http.StatusAccepted, body)
}
