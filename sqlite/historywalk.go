package sqlite

import (
	"bytes"
	"errors"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// walkSQL reads derived changes of one document, from one back to the first after another.
const walkSQL = `WITH RECURSIVE back (position, prior, op, form, delta) AS (
		SELECT position, prior, op, form, delta FROM change WHERE position = ?1
		UNION ALL SELECT c.position, c.prior, c.op, c.form, c.delta FROM back b JOIN change c ON c.position = b.prior WHERE b.prior > ?2)
	SELECT b.position, b.prior, b.op, f.patch, b.delta FROM back b LEFT JOIN form f ON f.id = b.form`

// walk is a way back through the derived changes of one document. The changes that it passes are put off, and undone together
// where a view is needed: to undo one of a long document takes as much as to undo all of them.
type walk struct {
	h        *history
	base     image
	body     []byte             // the view after at, but for what is put off
	at       fanfold.Position   // of the change after which the walk stands
	wanted   []fanfold.Position // of the page's later changes of the document, in order
	length   int                // of the views to come, as far as is known, in bytes
	passed   []fanfold.Position // of the views that are kept, from the newest on
	maxBytes int
	apart    bool // each change is undone by itself

	put      []storedDelta  // what is put off, from the newest on; the delta is nil of those that need not be undone
	places   map[string]int // where in put the changes are, by the places that they are about
	putBytes int            // of put, in bytes
}

// Bounds of the changes that a walk puts off: in bytes, where the document is not longer, and what each has besides its own.
const (
	maxPutBytes = 1 << 20
	putOverhead = 128
)

// errUndoneApart says that changes cannot be undone together.
var errUndoneApart = errors.New("changes cannot be undone together")

// walk undoes the changes from an image back to a change, and returns the embedded view after that one. What has come by
// and the page may need is kept, as far as it has no more than maxBytes.
func (h *history) walk(base image, ch *fanfold.Change, maxBytes int) ([]byte, error) {
	body, err := h.walkBack(&walk{h: h, base: base, maxBytes: maxBytes}, ch)
	if errors.Is(err, errUndoneApart) {
		body, err = h.walkBack(&walk{h: h, base: base, maxBytes: maxBytes, apart: true}, ch)
	}
	if err != nil {
		return nil, err
	}
	if h.lengths == nil {
		h.lengths = map[fanfold.Key]int{}
	}
	h.lengths[ch.Key] = len(body)
	return body, nil
}

// walkBack goes back to a change, and returns the view after it. The error is errUndoneApart where each change has to be
// undone by itself, and nothing is kept then.
func (h *history) walkBack(w *walk, ch *fanfold.Change) (body []byte, err error) {
	w.at, w.body, w.length = w.base.after, w.base.body, w.base.length
	if known, ok := h.lengths[ch.Key]; ok {
		w.length = known
	}
	for _, c := range h.asked {
		if c.Position > ch.Position && c.Key == ch.Key {
			w.wanted = append(w.wanted, c.Position)
		}
	}
	if w.at > ch.Position {
		err = h.s.c.Query(walkSQL, w.step, int64(w.at), int64(ch.Position))
	}
	if err == nil {
		err = w.undoPut()
	}
	if err == nil && w.at != ch.Position {
		err = damagedHistory(ch.Position)
	}
	if err != nil {
		for _, at := range w.passed {
			h.drop(at)
		}
		return nil, err
	}
	return w.body, nil
}

// step undoes one more change, which is in a row of walkSQL.
func (w *walk) step(r driver.Row) error {
	at, prior, form, delta := fanfold.Position(r.Int(0)), fanfold.Position(r.Int(1)), r.Text(3), r.Bytes(4)
	if at != w.at || r[2] != nil || prior >= at || delta == nil {
		return damagedHistory(at)
	}
	if w.wants(at) {
		if err := w.undoPut(); err != nil {
			return err
		}
		w.length = max(w.length, len(w.body))
		w.keep()
	}
	w.at = prior
	w.putOff(storedDelta{at, prior, form, delta})
	if w.apart || w.putBytes > max(maxPutBytes, len(w.body)) {
		return w.undoPut()
	}
	return nil
}

// wants reports whether the page may need the view after a change: with the views before it that it needs, it must have room.
func (w *walk) wants(at fanfold.Position) bool {
	last := len(w.wanted) - 1
	for last >= 0 && w.wanted[last] > at {
		last--
	}
	w.wanted = w.wanted[:last+1]
	const other = 1 // the one that is asked for
	return last >= 0 && w.wanted[last] == at && last < maxKeptViews && (last+1+other)*w.length <= w.maxBytes
}

// putOff puts a change off. It takes the place of a later one about the same places, whose old values are of no use.
func (w *walk) putOff(d storedDelta) {
	places := placesOf(d)
	if i, found := w.places[places]; found && places != "" {
		w.putBytes -= len(w.put[i].form) + len(w.put[i].delta)
		w.put[i] = storedDelta{}
	}
	if w.places == nil {
		w.places = map[string]int{}
	}
	w.places[places] = len(w.put)
	w.put = append(w.put, d)
	w.putBytes += len(d.form) + len(d.delta) + putOverhead
}

// placesOf returns a text that is the same for changes by the same operations at the same paths, "" where they are not known.
func placesOf(d storedDelta) string {
	const path = `"path":`
	if d.form == wholePatch {
		return ""
	}
	if !strings.Contains(d.form, path+"\n") {
		return d.form
	}
	places, values := d.form, d.delta
	for rest, more := d.form, true; more; {
		var text string
		var value []byte
		text, rest, more = strings.Cut(rest, "\n")
		value, values, _ = bytes.Cut(values, []byte{'\n'})
		if strings.HasSuffix(text, path) {
			places += "\n" + string(value)
		}
	}
	return places
}

// undoPut undoes what is put off.
func (w *walk) undoPut() error {
	var patches [][]byte
	s := w.h.s
	for _, d := range w.put {
		if d.delta == nil {
			continue
		}
		patch, err := s.chains.patch(s.c, d)
		if err != nil {
			return err
		}
		s.undone += len(patch)
		patches = append(patches, patch)
	}
	w.put, w.places, w.putBytes = w.put[:0], nil, 0
	if len(patches) == 0 {
		return nil
	}
	s.undone += len(w.body)
	body, ok := jsondoc.UndoAll(w.body, patches, func() []byte { return w.base.stored.Source(w.base.body) })
	if !ok && len(patches) > 1 {
		return errUndoneApart
	}
	if !ok {
		return damagedHistory(w.at)
	}
	w.body = body
	return nil
}

// keep keeps the view that the walk has come to, and drops the newest where there are too many: they are needed last.
func (w *walk) keep() {
	h := w.h
	h.keep(w.at, keptView{w.base.number, w.body})
	w.passed = append(w.passed, w.at)
	for (h.size > w.maxBytes || len(h.kept) > maxKeptViews) && len(w.passed) > 0 {
		h.drop(w.passed[0])
		w.passed = w.passed[1:]
	}
}
