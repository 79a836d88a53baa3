package sqlite

import (
	"cmp"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// wholes reads what changes show of whole transactions: the document as of the end of a direct change's transaction, and the one
// before as of its beginning. It remembers the bounds of the transaction that it was asked about last.
type wholes struct {
	s    *Snapshot
	view fanfold.View
	bare bool // changes that a delete's policies have made are not told

	page   []*fanfold.Change // the changes that the page looks at, all that there are from its first to its last; nil for a page that passes over some
	ending bool              // no change is after the page's last one

	tx          string
	first, last int64            // the sequences of the transaction's first and last event that have changes
	ends        map[int64][]byte // documents as of its end, by their numbers
}

// span moves to the transaction of a change, and reports whether there is one of several events.
func (w *wholes) span(ch *fanfold.Change) (several bool, err error) {
	seq := int64(ch.Position.Seq())
	if ch.Tx == "" {
		return false, nil
	}
	if ch.Tx != w.tx || seq < w.first || seq > w.last {
		w.tx, w.ends = ch.Tx, nil
		var begun, ended bool
		if w.first, w.last, begun, ended = w.within(ch); !begun {
			if w.first, err = w.edge(w.first, -1); err != nil {
				return false, err
			}
		}
		if !ended {
			if w.last, err = w.edge(w.last, 1); err != nil {
				return false, err
			}
		}
	}
	return w.first < w.last, nil
}

// within returns the first and the last event of a change's transaction that the page has, and whether the transaction begins and ends there.
func (w *wholes) within(ch *fanfold.Change) (first, last int64, begun, ended bool) {
	first = int64(ch.Position.Seq())
	last = first
	i, found := slices.BinarySearchFunc(w.page, ch.Position, func(c *fanfold.Change, at fanfold.Position) int { return cmp.Compare(c.Position, at) })
	if !found {
		return first, last, false, false
	}
	from, to := i, i
	for from > 0 && w.page[from-1].Tx == ch.Tx {
		from--
	}
	for to+1 < len(w.page) && w.page[to+1].Tx == ch.Tx {
		to++
	}
	return int64(w.page[from].Position.Seq()), int64(w.page[to].Position.Seq()), from > 0, to+1 < len(w.page) || w.ending
}

// edge returns the last event of the transaction in a direction, 1 or -1, from one of its events on. Its events stand next to each other, so
// the search takes few queries.
func (w *wholes) edge(seq, direction int64) (int64, error) {
	step := int64(1)
	for {
		found, inside, err := w.next(seq+direction*step, direction)
		if err != nil {
			return 0, err
		}
		if !inside {
			break
		}
		seq, step = found, step*2
	}
	for step > 1 { // nothing of the transaction is so far away, or farther
		found, inside, err := w.next(seq+direction*(step/2), direction)
		switch {
		case err != nil:
			return 0, err
		case inside:
			seq, step = found, step-direction*(found-seq)
		default:
			step /= 2
		}
	}
	return seq, nil
}

// next returns the nearest event with changes in a direction, from a sequence on, and whether it is of the transaction.
func (w *wholes) next(seq, direction int64) (found int64, inside bool, err error) {
	query, at := "SELECT c.position >> 20, "+eventTx+fromChange+"WHERE c.position >= ? ORDER BY c.position LIMIT 1", fanfold.At(uint64(max(0, seq)), 0)
	if direction < 0 {
		query, at = "SELECT c.position >> 20, "+eventTx+fromChange+"WHERE c.position <= ? ORDER BY c.position DESC LIMIT 1", fanfold.At(uint64(max(0, seq)), fanfold.MaxChanges)
	}
	_, err = w.s.c.QueryRow(query, func(r driver.Row) {
		tx, _ := readTx(r.Text(1))
		found, inside = r.Int(0), tx == w.tx
	}, int64(at))
	return found, inside, err
}

// moreBefore and moreAfter report whether the transaction of a change has events before its own, or after it.
func (w *wholes) moreBefore(ch *fanfold.Change) (bool, error) {
	several, err := w.span(ch)
	return several && w.first < int64(ch.Position.Seq()), err
}

func (w *wholes) moreAfter(ch *fanfold.Change) (bool, error) {
	several, err := w.span(ch)
	return several && w.last > int64(ch.Position.Seq()), err
}

// begin gives a direct change the document as it was before the transaction. It returns how many bytes that has: if they are more than maxBytes, the
// change stays as it is.
func (w *wholes) begin(ch *fanfold.Change, maxBytes int) (size int, err error) {
	if more, err := w.moreBefore(ch); err != nil || !more || ch.Prior.Seq() < uint64(w.first) {
		return 0, err
	}
	doc, size, err := w.s.GetAt(fanfold.At(uint64(w.first)-1, fanfold.MaxChanges), ch.Key, w.view, maxBytes)
	if err != nil || size > maxBytes {
		return size, err
	}
	ch.Previous, ch.PreviousSource = bodyOf(doc), nil
	return 0, nil // its bytes count as the change's
}

// after returns the document after a change, as history.after does. After a direct change it is the one at the end of the transaction, and
// the change says what that has no room for.
func (w *wholes) after(h *history, ch *fanfold.Change, maxBytes int) (doc *fanfold.Document, size int, err error) {
	more, err := w.moreAfter(ch)
	if err != nil {
		return nil, 0, err
	}
	if !more || !ch.Op.Writes() || ch.Op.Gone() {
		return h.after(ch, maxBytes)
	}
	doc, size, err = w.atEnd(ch, maxBytes)
	if err != nil || doc == nil || size > maxBytes {
		return nil, size, err
	}
	if doc.Position != ch.Position {
		last, err := w.s.changes().at(latestColumns, doc.Position)
		if err != nil || last == nil {
			return nil, 0, err
		}
		ch.Omitted = last.Omitted
	}
	return doc, size, nil
}

// atEnd returns the document of a change as of the transaction's end, as GetAt does. Most are as they are now, or were changed later: few
// are looked for in lifetimes.
func (w *wholes) atEnd(ch *fanfold.Change, maxBytes int) (doc *fanfold.Document, size int, err error) {
	end := fanfold.At(uint64(w.last), fanfold.MaxChanges)
	newest, err := w.s.c.Has("SELECT 1 FROM document WHERE number = ? AND position <= ?", ch.Number, int64(end))
	switch {
	case err != nil:
		return nil, 0, err
	case newest:
		return w.s.GetWithin(ch.Key, w.view, maxBytes)
	}
	return w.s.GetAt(end, ch.Key, w.view, maxBytes)
}

// covers reports whether a derived change is of a document that the same transaction writes, so that the direct change shows it.
func (w *wholes) covers(ch *fanfold.Change) (bool, error) {
	several, err := w.span(ch)
	if err != nil || !several || ch.Op != fanfold.OpDerive {
		return false, err
	}
	switch from := int64(ch.Revision); {
	case ch.Number >= w.first:
		return true, nil
	case !w.bare && (from >= w.first || int64(ch.Position.Seq()) == w.last): // no write of it is to come
		return from >= w.first, nil
	}
	query := "SELECT 1 FROM change WHERE number = ? AND position BETWEEN ? AND ? AND previous IS NOT NULL AND op IS NOT NULL"
	if w.bare {
		query += " AND form IS NULL"
	}
	return w.s.c.Has(query, ch.Number, int64(fanfold.At(uint64(w.first), 0)), int64(fanfold.At(uint64(w.last), fanfold.MaxChanges)))
}

// end returns the document of a derived change as of the end of its transaction, and how many bytes of it nobody has counted.
func (w *wholes) end(ch *fanfold.Change, maxBytes int) (body []byte, size int, err error) {
	if body, known := w.ends[ch.Number]; known {
		return body, 0, nil
	}
	doc, size, err := w.atEnd(ch, maxBytes)
	if err != nil || size > maxBytes {
		return nil, size, err
	}
	if w.ends == nil {
		w.ends = map[int64][]byte{}
	}
	w.ends[ch.Number] = bodyOf(doc)
	return w.ends[ch.Number], size, nil
}
