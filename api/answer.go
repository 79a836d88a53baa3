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
	"github.com/fanfold/fanfold/internal/view"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/writer"
)

// outcome holds what a write did.
type outcome struct {
	key     fanfold.Key
	op      fanfold.Op
	tx      string
	derived int64 // the number of derived changes, with the rest of its transaction's
}

// status returns the HTTP status of a write with this outcome, answered without a body.
func (o *outcome) status() int {
	if o.op == fanfold.OpCreate {
		return http.StatusCreated
	}
	return http.StatusNoContent
}

// outcomeOf returns the outcome of a write by its direct change, nil where nothing was there to delete.
func outcomeOf(ch *fanfold.Change) outcome {
	if ch == nil {
		return outcome{}
	}
	return outcome{key: ch.Key, op: ch.Op, tx: ch.Tx}
}

// answerNowIfFolded drops the preference for an asynchronous answer where a request with a key was stored before and is
// folded: its full answer needs no waiting.
func (w *write) answerNowIfFolded(folded Folded, seq uint64) {
	if w.request.Key.Hash != "" && folded.Applied() >= seq {
		w.prefer.async = false
	}
}

// waitFor waits for the fold of a write's last event, unless the client prefers not to. It returns the errors of wait.
func (d *documents) waitFor(c echo.Context, w *write, seq uint64) error {
	if w.prefer.async {
		return nil
	}
	err := d.fresh.wait(c.Request().Context(), seq, w.limit)
	if err == nil && w.request.Key.Hash == "" { // under a key the event may be older than the request
		d.fresh.caughtUp(w.begun)
	}
	return err
}

// finish waits for the fold of a write, whose event is seq, and answers it.
func (d *documents) finish(c echo.Context, w *write, seq uint64) error {
	h := c.Response().Header()
	h[keyRevision] = []string{strconv.FormatUint(seq, 10)}
	h[keyPosition] = []string{d.positions.markEvent(seq).String()}
	if len(w.op.Dropped) > 0 {
		h.Set(headerDropped, strings.Join(droppedMembers(w.op.Dropped), ", "))
	}
	key := w.op.Key
	if w.request.Key.Hash != "" { // if the request was stored before, its document may have another id
		key = fanfold.Key{}
	}
	w.answerNowIfFolded(d.folded, seq)
	if waited := d.waitFor(c, w, seq); waited != nil || w.prefer.async {
		if key.ID == "" && w.op.Kind == writer.Create { // without it the client would not know what it has made
			key, _ = d.open(c).KeyAt(c.Request().Context(), seq)
		}
		locate(c, key)
		w.preferenceApplied(c, false)
		return d.accepted(c, w, seq, waited, nil)
	}
	o, err := outcomeAt(d.open(c), key, seq)
	if err != nil {
		return err
	}
	if o.op == "" && w.op.Kind != writer.Delete {
		o = d.forgotten(c, w.op, seq)
	}
	setDerived(h, o.derived)
	locate(c, o.key)
	if w.prefer.representation {
		if sent, err := d.represent(c, w, o, seq, fanfold.At(seq, 0)); sent || err != nil {
			return err
		}
	}
	w.preferenceApplied(c, false)
	if len(w.op.Dropped) == 0 && o.op != fanfold.OpDelete && o.op != "" {
		h[keyETag] = []string{d.positions.tag(seq)}
	}
	return c.NoContent(o.status())
}

// finishUnchanged answers a write that would have changed nothing, with the ETag and the revision that the document has and the position
// at which it had them.
func finishUnchanged(d *documents, c echo.Context, w *write, same *writer.Unchanged) error {
	if len(w.op.Dropped) > 0 {
		c.Response().Header().Set(headerDropped, strings.Join(droppedMembers(w.op.Dropped), ", "))
	}
	setDerived(c.Response().Header(), 0)
	w.prefer.async = false
	rev := uint64(same.Document.Revision)
	if w.prefer.representation {
		if sent, err := d.represent(c, w, outcome{key: w.op.Key, op: fanfold.OpReplace}, rev, same.At); sent || err != nil {
			return err
		}
	}
	w.preferenceApplied(c, false)
	h := c.Response().Header()
	h[keyRevision] = []string{strconv.FormatUint(rev, 10)}
	h[keyPosition] = []string{d.positions.mark(same.At).String()}
	if len(w.op.Dropped) == 0 {
		h[keyETag] = []string{d.positions.etag(same.Document).String()}
	}
	return c.NoContent(http.StatusNoContent)
}

// forgotten returns what is known of a write whose change is no longer kept: a repeat of a request that was stored before the store begins.
// It is told apart from others by having no change. The key is the request's, or else the log's, as long as the log has the event.
func (d *documents) forgotten(c echo.Context, op *writer.Operation, seq uint64) outcome {
	o := outcome{key: op.Key, op: fanfold.OpReplace, derived: view.Untold}
	if op.Kind == writer.Create { // the id may be another
		o.op = fanfold.OpCreate
		o.key, _ = d.open(c).KeyAt(c.Request().Context(), seq)
	}
	return o
}

// setDerived tells how many derived changes a write caused, unless the sender may not know.
func setDerived(h http.Header, n int64) {
	if n != view.Untold {
		h[keyDerived] = []string{strconv.FormatInt(n, 10)}
	}
}

// maxDropped bounds what an answer says of the members that one document lost, in bytes.
const maxDropped = 1024

// droppedMembers returns JSON pointers as an answer has them, in ASCII and without commas, as a URI has them (RFC 6901, 6).
// If not all have room, the last element is "...".
func droppedMembers(pointers []string) (list []string) {
	size := 0
	for _, p := range pointers {
		p = strings.ReplaceAll(strings.ReplaceAll(url.PathEscape(p), "%2F", "/"), ",", "%2C")
		if size += len(p) + 2; size > maxDropped {
			return append(list, "...")
		}
		list = append(list, p)
	}
	return list
}

// locate sets the Location header of a document that a POST made.
func locate(c echo.Context, key fanfold.Key) {
	if c.Request().Method == http.MethodPost && key.ID != "" {
		c.Response().Header().Set("Location", "/v1/"+key.Collection+"/"+url.PathEscape(key.ID))
	}
}

// preferenceApplied sets the header that lists the preferences which the answer follows. body tells whether it has one.
func (w *write) preferenceApplied(c echo.Context, body bool) {
	if list := w.prefer.applied(w.op.Kind == writer.Put || w.op.Kind == writer.Create, w.prefer.async, body); list != "" {
		c.Response().Header().Set("Preference-Applied", list)
	}
}

// represent answers a write with the document that it made or left, and the position at which it was so. sent is false where that was
// overwritten meanwhile, where there is no room for it, and where it may not be read: the write is stored, whatever its answer says.
func (d *documents) represent(c echo.Context, w *write, o outcome, seq uint64, at fanfold.Position) (sent bool, err error) {
	doc, _, err := d.open(c).Get(o.key, fanfold.Embedded)
	if fanfold.CodeOf(err) == fanfold.Forbidden {
		return false, nil
	}
	if err != nil || doc == nil || uint64(doc.Revision) != seq {
		return false, err
	}
	room := d.budget.Answer(c.Request().Context())
	defer room.Release()
	if !room.TryHold(len(doc.Body)) {
		return false, nil
	}
	status := o.status()
	if status == http.StatusNoContent {
		status = http.StatusOK
	}
	w.preferenceApplied(c, true)
	c.Request().Header.Del("If-None-Match") // a write's condition, not a read's
	return true, d.sendDocument(c, status, doc, at, d.positions.etag(doc))
}

// outcomeAt returns what the folded event seq did. key is its document's, if it is known, which may save reading.
func outcomeAt(v view.View, key fanfold.Key, seq uint64) (o outcome, err error) {
	if op, derived, ok := v.Outcome(seq); ok && key.ID != "" {
		return outcome{key: key, op: op, derived: derived}, nil
	}
	changes, derived, err := v.Outcomes(seq, 1)
	if err != nil {
		return o, err
	}
	o = outcomeOf(changes[0])
	o.derived = derived
	return o, nil
}

// accepted answers a write that is stored and not folded yet with its position and the reason, which is in waited. result
// is what else is known, nil for nothing.
func (d *documents) accepted(c echo.Context, w *write, seq uint64, waited error, result any) error {
	var reason string
	switch {
	case w.prefer.async && result != nil:
		return c.JSON(http.StatusAccepted, result)
	case w.prefer.async:
		reason = "the request was not to wait for it"
	case stopping(c.Request().Context()):
		reason = "the node is stopping"
	case errors.Is(waited, context.DeadlineExceeded):
		reason = "this node stands at event " + strconv.FormatUint(d.folded.Applied(), 10) + " and did not reach " + strconv.FormatUint(seq, 10) + " in time"
	default:
		var e *fanfold.Error
		if errors.As(waited, &e) {
			reason = e.Message
		}
	}
	return c.JSON(http.StatusAccepted, wire.Accepted{Detail: "the write is stored, and not folded here yet: " + reason, Position: marked(d.positions.markEvent(seq), readerMark(c)), Result: result})
}
