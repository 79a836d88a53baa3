package sqlite

import (
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

// walk is a way back through the derived changes of one document. The changes that it passes are postponed, and undone together
// when a view is needed: in a long document one change takes as much work as all of them.
type walk struct {
	h             *history
	base          image
	body          []byte             // the view after at, but for what is postponed
	at            fanfold.Position   // of the change after which the walk stands
	wanted        []fanfold.Position // of the page's later changes of the document, in order
	viewBytes     int                // of the views to come, as far as is known, in bytes
	keptPositions []fanfold.Position // of the views that are kept, from the newest on
	maxBytes      int
	oneByOne      bool // each change is undone by itself

	postponed      []storedDelta  // what is postponed, from the newest on; the delta is nil of those that need not be undone
	places         map[string]int // where in postponed the changes are, by the places that they are about
	postponedBytes int            // of postponed, in bytes
}

// Bounds of the changes that a walk postpones: in bytes, where the document is not longer, and what each has besides its own.
const (
	maxPostponedBytes = 1 << 20
	postponedOverhead = 128
)

// errUndoOneByOne says that changes cannot be undone together.
var errUndoOneByOne = errors.New("changes cannot be undone together")

// walk undoes the changes from an image back to a change, and returns the embedded view after that one. Views on the way
// that the page may need are kept, up to maxBytes.
func (h *history) walk(base image, ch *fanfold.Change, maxBytes int) ([]byte, error) {
	body, at, err := h.walkTo(base, ch, maxBytes)
	if err == nil && at != ch.Position {
		err = damagedHistory(ch.Position)
	}
	return body, err
}

// walkTo does what walk does to the last change of the document that is not after the position of ch, which it returns.
func (h *history) walkTo(base image, ch *fanfold.Change, maxBytes int) (body []byte, at fanfold.Position, err error) {
	w := &walk{h: h, base: base, maxBytes: maxBytes}
	err = h.walkBack(w, ch)
	if errors.Is(err, errUndoOneByOne) {
		w = &walk{h: h, base: base, maxBytes: maxBytes, oneByOne: true}
		err = h.walkBack(w, ch)
	}
	if err != nil {
		return nil, 0, err
	}
	if h.bodyBytes == nil {
		h.bodyBytes = map[fanfold.Key]int{}
	}
	h.bodyBytes[ch.Key] = len(w.body)
	return w.body, w.at, nil
}

// walkBack goes back to a change. The error is errUndoOneByOne where each change has to be undone by itself, and nothing is kept then.
func (h *history) walkBack(w *walk, ch *fanfold.Change) (err error) {
	w.at, w.body, w.viewBytes = w.base.after, w.base.body, w.base.bodyBytes
	if known, ok := h.bodyBytes[ch.Key]; ok {
		w.viewBytes = known
	}
	for _, c := range h.requested {
		if c.Position > ch.Position && c.Key == ch.Key {
			w.wanted = append(w.wanted, c.Position)
		}
	}
	if w.at > ch.Position {
		err = h.s.c.Query(walkSQL, w.step, int64(w.at), int64(ch.Position))
	}
	if err == nil {
		err = w.undoPostponed()
	}
	if err == nil && w.at > ch.Position {
		err = damagedHistory(ch.Position)
	}
	if err != nil {
		for _, at := range w.keptPositions {
			h.dropView(at)
		}
	}
	return err
}

// step undoes one more change, which is in a row of walkSQL.
func (w *walk) step(r driver.Row) error {
	at, prior, form, delta := fanfold.Position(r.Int(0)), fanfold.Position(r.Int(1)), r.Text(3), r.Blob(4)
	if at != w.at || r[2] != nil || prior >= at || delta == nil {
		return damagedHistory(at)
	}
	if w.wants(at) {
		if err := w.undoPostponed(); err != nil {
			return err
		}
		w.viewBytes = max(w.viewBytes, len(w.body))
		w.keepView()
	}
	w.at = prior
	w.postpone(storedDelta{at, prior, form, delta})
	if w.oneByOne || w.postponedBytes > max(maxPostponedBytes, len(w.body)) {
		return w.undoPostponed()
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
	return last >= 0 && w.wanted[last] == at && last < maxRebuiltViews && (last+1+other)*w.viewBytes <= w.maxBytes
}

// postpone postpones a change. It takes the place of a later one about the same places, whose old values are of no use.
func (w *walk) postpone(d storedDelta) {
	places := w.h.s.chains.placesOf(d)
	if i, found := w.places[places]; found && places != "" {
		w.postponedBytes -= len(w.postponed[i].form) + len(w.postponed[i].delta)
		w.postponed[i] = storedDelta{}
	}
	if w.places == nil {
		w.places = map[string]int{}
	}
	w.places[places] = len(w.postponed)
	w.postponed = append(w.postponed, d)
	w.postponedBytes += len(d.form) + len(d.delta) + postponedOverhead
}

// placesOf returns a text that is the same for changes by the same operations at the same paths, "" where they are not known.
func (r *chainReader) placesOf(d storedDelta) string {
	if d.form == wholePatch {
		return ""
	}
	places := d.form
	if !strings.Contains(places, `"path":`+"\n") || d.depth() > 0 || len(d.delta) == 0 {
		return places
	}
	delta := d.delta[1:]
	for _, op := range r.form(d.form).ops {
		for _, slot := range op.slots {
			var text []byte
			if text, _, delta = cutValue(delta); slot == slotPath {
				places += "\n" + string(text)
			}
		}
	}
	return places
}

// undoPostponed undoes what is postponed.
func (w *walk) undoPostponed() error {
	var patches [][]byte
	s := w.h.s
	for _, d := range w.postponed {
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
	w.postponed, w.places, w.postponedBytes = w.postponed[:0], nil, 0
	if len(patches) == 0 {
		return nil
	}
	s.undone += len(w.body)
	body, ok := jsondoc.UndoAll(w.body, patches, func() []byte { return w.base.referenced.Text(w.base.body) })
	if !ok && len(patches) > 1 {
		return errUndoOneByOne
	}
	if !ok {
		return damagedHistory(w.at)
	}
	w.body = body
	return nil
}

// keepView keeps the view that the walk has come to, and drops the newest where there are too many: they are needed last.
func (w *walk) keepView() {
	h := w.h
	h.keepView(w.at, rebuiltView{w.base.number, w.body})
	w.keptPositions = append(w.keptPositions, w.at)
	for (h.viewBytes > w.maxBytes || len(h.views) > maxRebuiltViews) && len(w.keptPositions) > 0 {
		h.dropView(w.keptPositions[0])
		w.keptPositions = w.keptPositions[1:]
	}
}
