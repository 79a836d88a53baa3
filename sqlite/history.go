package sqlite

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// history rebuilds documents as they were after changes of one snapshot. A document's view after a change is that before its
// next one. The next write or key frame may hold it. Otherwise the derived changes between are undone on the document itself,
// all together except at views that the next changes of the same page need. These are kept.
type history struct {
	s         *Snapshot
	view      fanfold.View
	requested []*fanfold.Change                // the changes that are asked about, in order
	views     map[fanfold.Position]rebuiltView // embedded views after changes
	viewBytes int                              // of views, in bytes
	bodyBytes map[fanfold.Key]int              // of the views that were rebuilt last, in bytes
	times     map[writeOf]writeTimes           // of documents
}

// rebuiltView is the embedded view of the document with a number.
type rebuiltView struct {
	number int64
	body   []byte
}

// image is a document's views before a write or a key frame, or as they are now.
type image struct {
	after      fanfold.Position // the change that they are the views after
	number     int64
	body       []byte // nil where it is longer than was asked for
	referenced ReferencedView
	bodyBytes  int // of body, in bytes
}

// maxRebuiltViews bounds the views that are kept while a page is read, in number.
const maxRebuiltViews = 1024

// after returns the document as it was after a change, and how many bytes its body has or takes to be rebuilt. A body for
// which maxBytes are too few is not rebuilt, and the document nil, as it is where the change deleted it.
func (h *history) after(ch *fanfold.Change, maxBytes int) (doc *fanfold.Document, size int, err error) {
	if ch.Op.Gone() {
		return nil, 0, nil
	}
	if v, ok := h.views[ch.Position]; ok && h.view == fanfold.Embedded {
		h.dropView(ch.Position)
		doc, err = h.document(ch, v.number, v.body)
		return doc, len(v.body), err
	}
	newest, err := h.s.changes().isNewest(ch)
	if err != nil {
		return nil, 0, err
	}
	if newest {
		doc, size, err := h.s.GetWithin(ch.Key, h.view, maxBytes)
		if doc != nil && size > maxBytes {
			doc = nil
		}
		return doc, size, err
	}
	base, err := h.image(ch, maxBytes)
	if err != nil || base.body == nil && base.bodyBytes > maxBytes {
		return nil, base.bodyBytes, err
	}
	var body []byte
	if h.view == fanfold.Referenced {
		body = base.referenced.Text(base.body)
	} else if body, err = h.walk(base, ch, maxBytes); err != nil {
		return nil, 0, err
	}
	doc, err = h.document(ch, base.number, body)
	return doc, len(body), err
}

// before returns the view that a change found, nil where it created the document.
func (h *history) before(ch *fanfold.Change, after *fanfold.Document) ([]byte, error) {
	switch {
	case ch.Op != fanfold.OpDerive:
		if h.view == fanfold.Referenced && ch.PreviousSource != nil {
			return ch.PreviousSource, nil
		}
		return ch.Previous, nil
	case after == nil:
		return nil, nil
	case h.view == fanfold.Referenced:
		return after.Body, nil
	}
	h.s.undone += len(after.Body) + len(ch.Delta)
	body, ok := jsondoc.Undo(after.Body, ch.Delta, func() []byte { return h.referencedAfter(ch) })
	if !ok {
		return nil, damagedHistory(ch.Position)
	}
	return body, nil
}

// referencedAfter returns the referenced view after a change; none where it cannot be read.
func (h *history) referencedAfter(ch *fanfold.Change) []byte {
	doc, _, err := (&history{s: h.s, view: fanfold.Referenced}).after(ch, int(^uint(0)>>1))
	if err != nil || doc == nil {
		return []byte("{}")
	}
	return doc.Body
}

// damagedHistory returns the error for a document whose change cannot be undone.
func damagedHistory(at fanfold.Position) error {
	return fanfold.Errorf(fanfold.Internal, "change %s cannot be undone: the read model is damaged; fanfold replay builds it anew", at)
}

// image returns the first image after a change. Its body is nil where that has more than maxBytes.
func (h *history) image(ch *fanfold.Change, maxBytes int) (i image, err error) {
	scan := func(r driver.Row) {
		i = image{after: fanfold.Position(r.Int(0)), number: r.Int(1), bodyBytes: int(r.Int(2)), body: r.Bytes(3), referenced: ReferencedView{r[4]}}
	}
	found, err := h.s.c.QueryRow("SELECT prior, number, octet_length(previous), CASE WHEN octet_length(previous) <= ?1 THEN previous END, previous_source"+
		" FROM change WHERE number = ?2 AND position > ?3 AND previous IS NOT NULL ORDER BY position LIMIT 1", scan,
		int64(maxBytes), ch.Number, int64(ch.Position))
	if err != nil || found {
		return i, err
	}
	found, err = h.s.c.QueryRow("SELECT position, number, octet_length(body), CASE WHEN octet_length(body) <= ?1 THEN body END, source FROM document WHERE number = ?2", scan,
		int64(maxBytes), ch.Number)
	if err == nil && !found {
		err = damagedHistory(ch.Position)
	}
	return i, err
}

// keepView keeps a view for later changes of the page.
func (h *history) keepView(at fanfold.Position, v rebuiltView) {
	if h.views == nil {
		h.views = map[fanfold.Position]rebuiltView{}
	}
	h.dropView(at)
	h.views[at] = v
	h.viewBytes += len(v.body)
}

// dropView forgets a view.
func (h *history) dropView(at fanfold.Position) {
	h.viewBytes -= len(h.views[at].body)
	delete(h.views, at)
}

// document returns a document that a change led to, given its number and its body.
func (h *history) document(ch *fanfold.Change, number int64, body []byte) (*fanfold.Document, error) {
	doc := &fanfold.Document{Key: ch.Key, Number: number, Revision: ch.Revision, Position: ch.Position, Body: body}
	key := writeOf{number, ch.Revision}
	times, known := h.times[key]
	if !known {
		if _, err := h.s.c.QueryRow(eventTimesSQL, func(r driver.Row) { times = writeTimes{r.Int(0), r.Int(1)} }, int64(ch.Revision), number); err != nil {
			return nil, err
		}
		if h.times == nil || len(h.times) >= maxRebuiltViews {
			h.times = map[writeOf]writeTimes{}
		}
		h.times[key] = times
	}
	doc.Created, doc.Updated = timeOf(times.created), timeOf(times.updated)
	return doc, nil
}

// writeOf is a write of the document with a number.
type writeOf struct {
	number   int64
	revision fanfold.Revision
}

// writeTimes are when the document of a write was created, and the write's own time, in nanoseconds.
type writeTimes struct{ created, updated int64 }
