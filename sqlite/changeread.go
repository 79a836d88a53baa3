package sqlite

import (
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// changeColumns are the columns of a change that changes.scan reads, in its order.
const changeColumns = "c.position, " + changeOrdinal + ", " + changeCollection + ", " + changeID + ", c.op, coalesce(c.revision, c.number), " + eventTime + ", " + eventTx + ", f.rules, c.delta, c.previous, c.previous_source, c.prior, c.omitted, f.patch, " + eventActor + ", " + changeNumber

// The time, the transaction and the actor of a change's event. They stand in the event's first change.
const (
	eventTime  = "e.time"
	eventTx    = "e.tx"
	eventActor = "e.actor"
)

// changeOrdinal is a change's ordinal. Most derived changes have none in their row: it follows from their event's first change.
const changeOrdinal = "coalesce(c.ordinal, e.ordinal + c.position - e.position)"

// The document of a change. Its key stands in its first change, and where that was before the horizon, with the document, which is there or
// was deleted since.
const (
	changeNumber     = "coalesce(c.number, CASE WHEN c.op IS NOT 5 THEN c.position >> 20 END)"
	changeCollection = "CASE WHEN k.position IS NULL THEN coalesce((SELECT collection FROM document WHERE number = c.number), (SELECT collection FROM " + deletedByNumber + "c.number)) ELSE k.collection END"
	changeID         = "CASE WHEN k.position IS NULL THEN coalesce((SELECT id FROM document WHERE number = c.number), (SELECT id FROM " + deletedByNumber + "c.number)) ELSE k.id END"
	deletedByNumber  = "past_document INDEXED BY past_document_number WHERE number = "
)

// fromChange are the tables of changeColumns: the changes, the first of each one's document and event, and what derived ones have
// in common.
const fromChange = " FROM change c LEFT JOIN change k ON k.position = coalesce(c.number << 20, c.position) LEFT JOIN change e ON e.position = c.position >> 20 << 20 LEFT JOIN form f ON f.id = c.form "

// changes reads the rows of changes.
type changes struct{ *Snapshot }

// changes returns what reads the rows of changes.
func (s *Snapshot) changes() changes { return changes{s} }

// scan returns the change in a row of changeColumns. The error is the rows', with which it is stored.
func (cs changes) scan(r driver.Row) (ch *fanfold.Change, err error) {
	ch = &fanfold.Change{Position: fanfold.Position(r.Int(0)), Ordinal: r.Int(1), Number: r.Int(16),
		Key: fanfold.Key{Collection: r.Text(2), ID: r.Text(3)}, Revision: fanfold.Revision(r.Int(5)), Time: timeOf(r.Int(6)),
		Previous: r.Bytes(10), Prior: fanfold.Position(r.Int(12)), Omitted: r.Bytes(13), Actor: r.Text(15)}
	ch.Tx, ch.Call = readTx(r.Text(7))
	if r[11] != nil {
		ch.PreviousSource = ReferencedView{r[11]}.Text(ch.Previous)
	}
	if op := r.Int(4); op <= 0 || op >= int64(len(storedOps)) {
		ch.Op = fanfold.OpDerive
		ch.Previous, ch.PreviousSource = nil, nil // of a key frame, which is for history alone
	} else {
		ch.Op = storedOps[op]
		if ch.Op != fanfold.OpErase {
			ch.Revision = fanfold.Revision(ch.Position.Seq())
		}
	}
	if delta := r.Blob(9); delta != nil {
		if ch.Delta, err = cs.chains.patch(cs.c, storedDelta{ch.Position, ch.Prior, r.Text(14), delta}); err != nil {
			return nil, err
		}
	}
	switch rules := r.Text(8); {
	case rules == "":
	case ch.Op == fanfold.OpDerive:
		ch.Rules = strings.Split(rules, ",")
	default:
		ch.ByDelete = readByDelete(rules, r.Text(14))
	}
	return ch, nil
}

// Changes returns the page of the change feed that q asks for. The page ends early if its values and documents would have more
// than q.MaxBytes. If the first change alone has more, the page has no rows, and says how many bytes it needs. The error is
// PositionGone where changes after q.After are no longer kept.
func (s *Snapshot) Changes(q fanfold.ChangeQuery) (page fanfold.ChangePage, err error) {
	if q.MaxBytes == 0 {
		q.MaxBytes = pageBytes
	}
	if err := s.requireKept(q.After); err != nil {
		return page, err
	}
	changes, full, err := s.changes().after(q)
	if err != nil {
		return page, err
	}
	page.Head, page.Changes = s.Checkpoint.At(), s.Checkpoint.Changes
	page.Last = max(q.After, page.Head)
	f := feedPage{ChangePage: page, s: s, q: q, history: history{s: s, view: q.View}, wholes: wholes{s: s, view: q.View, bare: q.NoCascades, page: changes, ending: !full}}
	if !q.Direct || q.Judged != nil {
		f.history.requested = changes
	}
	f.embedded = sights{history: &f.history, wholes: &f.wholes}
	if q.Judged != nil && q.View != fanfold.Embedded {
		f.embedded = sights{history: &history{s: s, requested: changes}, wholes: &wholes{s: s, bare: q.NoCascades, page: changes, ending: !full}}
	}
	if full {
		f.endAt(changes[len(changes)-1])
	}
	for i, ch := range changes {
		fits, err := f.add(ch)
		switch {
		case err != nil:
			return f.ChangePage, err
		case !fits && i == 0:
			f.Need = f.size
			f.Last, f.Pending = q.After, s.Checkpoint.Changes-ch.Ordinal+1
			return f.ChangePage, nil
		case !fits:
			f.endAt(changes[i-1])
			return f.ChangePage, nil
		}
	}
	return f.ChangePage, nil
}

// feedPage is a page of the change feed that is being read.
type feedPage struct {
	fanfold.ChangePage
	s     *Snapshot
	q     fanfold.ChangeQuery
	size  int             // of the rows so far and the one that did not fit, in bytes
	cause *fanfold.Change // an event's first change

	history history
	wholes  wholes
	newest  map[fanfold.Key][]byte // see newestVersion

	embedded sights
}

// endAt ends the page after a change.
func (f *feedPage) endAt(last *fanfold.Change) {
	f.Last, f.Pending = last.Position, f.s.Checkpoint.Changes-last.Ordinal
}

// add adds a change to the page where it is asked for. It is false where the page has no room for it.
func (f *feedPage) add(ch *fanfold.Change) (fits bool, err error) {
	if ch.Position.N() == 0 {
		f.cause = ch
	}
	row := fanfold.ChangeRow{Change: ch}
	if wanted, err := f.wants(&row); err != nil || !wanted {
		return true, err
	}
	written := *ch
	if err := f.showWhole(&row); err != nil {
		return false, err
	}
	f.size += sizeOf(ch)
	if err := f.addDocuments(&row); err != nil {
		return false, err
	}
	if err := f.addVersions(&row); err != nil {
		return false, err
	}
	if err := f.addSight(&row, &written); err != nil {
		return false, err
	}
	if f.q.View == fanfold.Referenced || ch.ByErasure() {
		f.showReferenced(ch)
	}
	if ch.Op == fanfold.OpDerive {
		if f.cause, err = f.s.changes().firstOfEvent(ch.Position.Seq(), f.cause); err != nil {
			return false, err
		}
		if f.cause != nil && f.cause.Op.Writes() {
			row.Cause = &f.cause.Key
		}
	}
	if err := f.addCause(&row); err != nil || f.size > f.q.MaxBytes {
		return false, err
	}
	f.Rows = append(f.Rows, row)
	return true, nil
}

// wants reports whether the page looks at a row's change. It says in the row whether a newer change tells of the document, and of a judged one
// whether the kind is asked for.
func (f *feedPage) wants(row *fanfold.ChangeRow) (wanted bool, err error) {
	ch := row.Change
	asked, judged := selects(f.q, ch), f.judges(ch.Key.Collection)
	switch {
	case judged:
		if !asked && (ch.Op.Gone() || !selectsDocument(f.q, ch.Key)) {
			return false, nil
		}
		row.Sight = &fanfold.Sight{Unasked: !asked}
	case !asked:
		return false, nil
	}
	if !f.q.Latest {
		return true, nil
	}
	var newest bool
	if asked {
		newest, err = f.s.changes().isNewestOf(ch, f.q)
	} else {
		newest, err = f.isLaterThanSelected(ch)
	}
	row.Superseded = !newest
	return newest || f.mayLeave(ch), err
}

// showWhole gives a direct change the document as it was before its transaction, and marks a derived one whose document a direct one shows. With
// newest changes alone only filters look at it.
func (f *feedPage) showWhole(row *fanfold.ChangeRow) (err error) {
	switch {
	case row.Sight == nil && f.q.Latest && (!f.q.Versions || row.Position <= f.q.HeldFrom):
	case row.Op == fanfold.OpDerive:
		row.Within, err = f.wholes.covers(row.Change)
	default:
		var size int
		size, err = f.wholes.begin(row.Change, f.q.MaxBytes-f.size)
		f.size += size
	}
	return err
}

// addDocuments adds the documents to a row that it is to have. Those for which the page has no room are left out.
func (f *feedPage) addDocuments(row *fanfold.ChangeRow) error {
	before := f.q.Before && row.Op == fanfold.OpDerive
	if f.q.Docs || before || row.Sight != nil {
		var doc *fanfold.Document
		var size int
		var err error
		switch {
		case !f.q.Latest:
			doc, size, err = f.wholes.after(&f.history, row.Change, f.q.MaxBytes-f.size)
		case row.Superseded && (row.Sight == nil || !f.q.Docs):
		case !row.Op.Gone():
			doc, size, err = f.s.GetWithin(row.Key, f.q.View, f.q.MaxBytes-f.size)
		}
		if err != nil {
			return err
		}
		f.size += size
		row.Doc = doc
	}
	if !f.q.Before || f.size > f.q.MaxBytes {
		return nil
	}
	var err error
	if row.Before, err = f.history.before(row.Change, row.Doc); err != nil {
		return err
	}
	if before {
		f.size += len(row.Before)
	}
	if !f.q.Docs && row.Sight == nil {
		row.Doc = nil
	}
	return nil
}

// showReferenced gives a change the values of the referenced view, which a derived change leaves as it is.
func (f *feedPage) showReferenced(ch *fanfold.Change) {
	if ch.PreviousSource != nil {
		ch.Previous = ch.PreviousSource
	}
	ch.Delta = nil
}

// changeBytes is what a change takes in memory besides its values, in bytes: about as much as its row in an answer has.
const changeBytes = 512

// sizeOf returns how many bytes a change takes in memory.
func sizeOf(ch *fanfold.Change) int {
	return changeBytes + len(ch.Delta) + len(ch.Previous) + len(ch.PreviousSource)
}

// selects reports whether a query asks for changes such as one, whether or not it is the newest.
func selects(q fanfold.ChangeQuery, ch *fanfold.Change) bool {
	return (!q.Direct || ch.Op != fanfold.OpDerive) && (!q.NoCascades || ch.ByDelete == nil) && selectsDocument(q, ch.Key)
}

// selectsDocument reports whether a query asks for changes of a document.
func selectsDocument(q fanfold.ChangeQuery, key fanfold.Key) bool {
	return (len(q.Collections) == 0 || slices.Contains(q.Collections, key.Collection)) && (q.Reads == nil || q.Reads(key.Collection)) &&
		(q.Partitions == 0 || key.Partition(q.Partitions) == q.Partition)
}

// isNewestOf reports whether a change is the newest of its document, of the kinds that a query asks for.
func (cs changes) isNewestOf(ch *fanfold.Change, q fanfold.ChangeQuery) (newest bool, err error) {
	if q.Direct && !ch.Op.Gone() { // nothing is derived after a document is gone
		newest, err = cs.c.QueryRow("SELECT 1 FROM document WHERE collection = ? AND id = ? AND revision = ?", func(driver.Row) {},
			ch.Key.Collection, ch.Key.ID, int64(ch.Position.Seq()))
	} else {
		newest, err = cs.isNewest(ch)
	}
	if newest || err != nil || !q.NoCascades {
		return newest, err
	}
	last, err := cs.newestSelected(ch.Key, q)
	return err == nil && last != nil && last.Position == ch.Position, err
}

// The columns of a change that the feed reads: the values of all changes, and none where only the newest are asked for,
// whose rows have no values.
var (
	feedColumns    = strings.NewReplacer("c.previous, c.previous_source", "CASE WHEN c.op IS NOT NULL THEN c.previous END, NULL").Replace(changeColumns)
	writtenColumns = strings.NewReplacer("c.previous, c.previous_source", "CASE WHEN c.op IS NOT NULL THEN c.previous END, CASE WHEN c.op IS NOT NULL THEN c.previous_source END").Replace(changeColumns)
	latestColumns  = strings.NewReplacer("c.delta, c.previous, c.previous_source", "NULL, NULL, NULL").Replace(changeColumns)
)

// after returns the changes that a page looks at. They are more than fit at most by the last one. full is false
// where they end with the snapshot.
func (cs changes) after(q fanfold.ChangeQuery) (changes []*fanfold.Change, full bool, err error) {
	columns, size := feedColumns, 0
	bare := q.Latest && q.Judged == nil && (!q.Versions || q.HeldFrom >= cs.Checkpoint.Position) // no values are needed
	switch {
	case bare:
		columns = latestColumns
	case q.View == fanfold.Referenced:
		columns = writtenColumns
	}
	err = cs.c.Query("SELECT "+columns+fromChange+"WHERE c.position > ? ORDER BY c.position LIMIT ? + 0", func(r driver.Row) error {
		ch, err := cs.scan(r)
		if err != nil {
			return err
		}
		changes = append(changes, ch)
		if !bare {
			size += sizeOf(ch)
		}
		if size > q.MaxBytes {
			return driver.ErrStop
		}
		return nil
	}, int64(q.After), int64(q.Limit))
	if err != nil {
		return nil, false, err
	}
	return changes, len(changes) == q.Limit || size > q.MaxBytes, nil
}

// firstOfEvent returns the first change of an event without its values, which is the direct one where the event wrote a
// document. It returns known without reading where that is a change of the event.
func (cs changes) firstOfEvent(seq uint64, known *fanfold.Change) (*fanfold.Change, error) {
	if known != nil && known.Position.Seq() == seq {
		return known, nil
	}
	return cs.at(latestColumns, fanfold.At(seq, 0))
}

// Change returns the change at a position, or nil where there is none.
func (s *Snapshot) Change(at fanfold.Position) (ch *fanfold.Change, err error) {
	return s.changes().at(writtenColumns, at)
}

// Cause returns the first change of an event, without its values, or nil where there is none. It is the direct one where the
// event wrote a document.
func (s *Snapshot) Cause(seq uint64) (*fanfold.Change, error) {
	return s.changes().firstOfEvent(seq, nil)
}

// at returns some columns of the change at a position, or nil where there is none.
func (cs changes) at(columns string, at fanfold.Position) (ch *fanfold.Change, err error) {
	err = cs.c.Query("SELECT "+columns+fromChange+"WHERE c.position = ?", func(r driver.Row) (err error) {
		ch, err = cs.scan(r)
		return err
	}, int64(at))
	return ch, err
}

// Derived returns how many derived changes were caused by count events from first on, and by later events of the same
// transaction.
func (s *Snapshot) Derived(first uint64, count int) (n int64, err error) {
	end, tx := first+uint64(count), "" // tx is the events' transaction as it is stored, "" while none of them has changed anything
	err = s.c.Query("SELECT position, op, tx FROM change WHERE position >= ? ORDER BY position", func(r driver.Row) error {
		at := fanfold.Position(r.Int(0))
		switch own := at.Seq() < end; {
		case at.N() > 0: // the first change of the event has its transaction
		case own:
			tx = r.Text(2)
		case tx == "" || r.Text(2) != tx:
			return driver.ErrStop
		}
		if r[1] == nil {
			n++
		}
		return nil
	}, int64(fanfold.At(first, 0)))
	return n, err
}

// isNewest reports whether a change is the newest of its document.
func (cs changes) isNewest(ch *fanfold.Change) (bool, error) {
	table := "document"
	if ch.Op.Gone() {
		table = "tombstone"
	}
	return cs.c.QueryRow("SELECT 1 FROM "+table+" WHERE collection = ? AND id = ? AND position = ?", func(driver.Row) {},
		ch.Key.Collection, ch.Key.ID, int64(ch.Position))
}

// deletion returns the delete of a document that is not there; nil where it is no longer known.
func (cs changes) deletion(key fanfold.Key) (ch *fanfold.Change, err error) {
	at := fanfold.Position(0)
	found, err := cs.c.QueryRow("SELECT position FROM tombstone WHERE collection = ? AND id = ?", func(r driver.Row) { at = fanfold.Position(r.Int(0)) }, key.Collection, key.ID)
	if err != nil || !found || at <= 0 {
		return nil, err
	}
	if ch, err = cs.at(writtenColumns, at); ch != nil && ch.Op != fanfold.OpDelete {
		ch = nil
	}
	return ch, err
}

// Before returns a position that has every change from before t at or before it, and every later
// change after it; 0 where that is before the oldest one. It can search by halves because times never decrease from position to position.
func (s *Snapshot) Before(t time.Time) (fanfold.Position, error) {
	h, _, err := s.Horizon()
	if err != nil || h.Seq > 0 && !t.After(h.Time) {
		return 0, err
	}
	low, high := h.At(), s.Checkpoint.Position // the answer is in [low, high], or low
	for low < high {
		mid := low + (high-low)/2
		var at fanfold.Position
		var when int64
		if _, err := s.c.QueryRow("SELECT c.position, "+eventTime+fromChange+"WHERE c.position > ? ORDER BY c.position LIMIT 1",
			func(r driver.Row) { at, when = fanfold.Position(r.Int(0)), r.Int(1) }, int64(mid)); err != nil {
			return 0, err
		}
		if time.Unix(0, when).Before(t) {
			low = at
		} else {
			high = mid
		}
	}
	return low, nil
}
