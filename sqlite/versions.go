package sqlite

import (
	"math"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Versions returns the page of a document's history that q asks for. The page ends early where more would be over q.MaxBytes; where
// already the first version is, it has no versions, and says how many bytes it needs. It has none from the horizon or before.
func (s *Snapshot) Versions(q fanfold.VersionQuery) (page fanfold.VersionPage, err error) {
	if q.MaxBytes == 0 {
		q.MaxBytes = pageBytes
	}
	q.To = min(q.To, s.Checkpoint.Position)
	if known, err := s.knows(q.Key); err != nil || !known {
		return page, err
	}
	if q.Reads != nil {
		if readable, err := s.past().readable(q.Key, q.Reads); err != nil || !readable || q.Limit == 0 {
			return fanfold.VersionPage{Known: readable}, err
		}
	}
	oldest, err := s.Oldest()
	if err != nil {
		return page, err
	}
	if oldest > 0 {
		q.From = max(q.From, oldest+1)
	}
	v := versions{VersionPage: fanfold.VersionPage{Known: true}, s: s, q: q, history: history{s: s, view: q.View}, wholes: wholes{s: s, view: q.View}}
	positions, err := v.positions()
	if err != nil {
		return page, err
	}
	if v.More = len(positions) > q.Limit; v.More {
		positions = positions[:q.Limit]
	}
	if len(positions) > 0 {
		v.Last = positions[len(positions)-1]
	}
	if positions, err = v.readable(positions); err != nil {
		return page, err
	}
	if q.Ascending {
		for _, at := range positions {
			v.history.requested = append(v.history.requested, &fanfold.Change{Position: at, Key: q.Key})
		}
	}
	for i, at := range positions {
		fits, err := v.add(at)
		switch {
		case err != nil:
			return v.VersionPage, err
		case fits:
			continue
		case i == 0:
			v.Need = v.size
		default:
			v.Last = positions[i-1]
		}
		v.More, v.Full = true, true
		break
	}
	return v.VersionPage, nil
}

// readable returns the changes whose versions the query's reader may read. It notes those where the reader may not read the version before.
func (v *versions) readable(positions []fanfold.Position) (seen []fanfold.Position, err error) {
	if v.q.Reads == nil {
		return positions, nil
	}
	v.unreadBefore = map[fanfold.Position]bool{}
	for _, at := range positions {
		before, after, err := v.sight(at)
		if err != nil {
			return nil, err
		}
		if !after {
			continue
		}
		if seen = append(seen, at); !before {
			v.unreadBefore[at] = true
		}
	}
	return seen, nil
}

// sight reports whether the query's reader may read the versions before and after a change. Every reader may read one that is no document. A
// delete shows the version before it. An erasure shows none.
func (v *versions) sight(at fanfold.Position) (before, after bool, err error) {
	ch, err := v.s.changes().at(latestColumns, at)
	switch {
	case err != nil:
		return false, false, err
	case ch == nil:
		return false, false, damagedHistory(at)
	case ch.Op == fanfold.OpErase:
		return true, true, nil
	}
	begin, end := at-1, at
	if ch.Op.Writes() {
		several, err := v.wholes.span(ch)
		if err != nil {
			return false, false, err
		}
		if several {
			begin, end = fanfold.At(uint64(v.wholes.first)-1, fanfold.MaxChanges), fanfold.At(uint64(v.wholes.last), fanfold.MaxChanges)
		}
	}
	var bodies [2][]byte
	for i, when := range []fanfold.Position{begin, end} {
		doc, _, err := v.s.GetAt(when, ch.Key, fanfold.Embedded, math.MaxInt)
		if err != nil {
			return false, false, err
		}
		bodies[i] = bodyOf(doc)
	}
	before = bodies[0] == nil || v.q.Reads(bodies[0])
	if bodies[1] == nil {
		return before, bodies[0] != nil && before, nil
	}
	return before, v.q.Reads(bodies[1]), nil
}

// readable reports whether a document may be read as it is, or as it was last. It may not where nothing of that is known any more.
func (pa past) readable(key fanfold.Key, reads func(view []byte) bool) (bool, error) {
	doc, _, err := pa.GetWithin(key, fanfold.Embedded, math.MaxInt)
	if err != nil {
		return false, err
	}
	body := bodyOf(doc)
	if doc == nil {
		if body, _, err = lastView(pa.Snapshot, key, math.MaxInt); err != nil {
			return false, err
		}
	}
	return body != nil && reads(body), nil
}

// lastView returns the embedded view of a deleted document as it was before the delete and its transaction, and how many bytes it has or would take. It is
// nil where maxBytes are too few, or where it is not known any more.
func lastView(s *Snapshot, key fanfold.Key, maxBytes int) (body []byte, size int, err error) {
	ch, err := s.changes().deletion(key)
	if err != nil || ch == nil {
		return nil, 0, err
	}
	size, err = (&wholes{s: s}).begin(ch, maxBytes)
	return ch.Previous, size + len(ch.Previous), err
}

// knows reports whether there is or was a document with a key.
func (s *Snapshot) knows(key fanfold.Key) (bool, error) {
	return s.c.Has("SELECT 1 FROM document WHERE collection = ?1 AND id = ?2 UNION ALL SELECT 1 FROM tombstone WHERE collection = ?1 AND id = ?2 AND position > 0 LIMIT 1",
		key.Collection, key.ID)
}

// versions is a page of a document's history that is being read.
type versions struct {
	fanfold.VersionPage
	s       *Snapshot
	q       fanfold.VersionQuery
	history history
	wholes  wholes
	size    int // of what was read for the versions so far and the one that did not fit, in bytes

	unreadBefore map[fanfold.Position]bool // the changes whose patch would show what the reader may not read

	known     fanfold.Position // the change whose version is knownBody; 0 for none
	knownBody []byte
}

// positions returns the positions of the changes that the page is about, in its order, and of one more where there is one.
func (v *versions) positions() (positions []fanfold.Position, err error) {
	if v.q.Ascending {
		positions, err = v.oldestFirst()
	} else {
		positions, err = v.newestFirst()
	}
	if err != nil {
		return nil, err
	}
	erased, err := v.erased()
	if err != nil || len(erased) == 0 {
		return positions, err
	}
	positions = append(positions, erased...)
	slices.Sort(positions)
	if !v.q.Ascending {
		slices.Reverse(positions)
	}
	return positions[:min(len(positions), v.q.Limit+1)], nil
}

// erased returns the positions of the changes by which documents with the key were erased after their deletes, as many as the page needs, in its order.
func (v *versions) erased() (positions []fanfold.Position, err error) {
	from, to, order := v.q.From, v.q.To, "DESC"
	switch {
	case v.q.Ascending:
		from, order = max(from, v.q.After+1), "ASC"
	case v.q.After != 0:
		to = min(to, v.q.After-1)
	}
	err = v.s.c.Query("SELECT position FROM erased_document WHERE collection = ? AND id = ? AND position >= ? AND position <= ? ORDER BY position "+order+" LIMIT ? + 0", func(r driver.Row) error {
		positions = append(positions, fanfold.Position(r.Int(0)))
		return nil
	}, v.q.Key.Collection, v.q.Key.ID, int64(from), int64(to), int64(v.q.Limit)+1)
	return positions, err
}

// newestFirst returns the positions of changes, the newest first: it goes from each to the one before it.
func (v *versions) newestFirst() (positions []fanfold.Position, err error) {
	upper := v.q.To
	if v.q.After != 0 {
		upper = min(upper, v.q.After-1)
	}
	lives, err := v.s.past().lifetimes(v.q.Key, upper, v.q.Limit+1)
	if err != nil {
		return nil, err
	}
	for _, life := range lives {
		at, err := v.s.past().lastVersion(life, upper)
		for err == nil && at != 0 && at >= v.q.From && len(positions) <= v.q.Limit {
			var prior, write fanfold.Position
			if prior, write, err = v.before(at); v.q.Direct && write != at {
				at = write // passes over all derived changes after the write
				continue
			}
			positions = append(positions, at)
			at = prior
		}
		if err != nil {
			return nil, err
		}
	}
	return positions, nil
}

// before returns the position of the document's change before one, 0 for none, and the position of the last write at or before it.
func (v *versions) before(at fanfold.Position) (prior, write fanfold.Position, err error) {
	found, err := v.s.c.QueryRow("SELECT prior, CASE WHEN op IS NULL THEN coalesce(revision, number) << 20 ELSE position END FROM change WHERE position = ?", func(r driver.Row) {
		prior, write = fanfold.Position(r.Int(0)), fanfold.Position(r.Int(1))
	}, int64(at))
	if err == nil && !found {
		err = damagedHistory(at)
	}
	return prior, write, err
}

// oldestFirst returns the positions of changes, the oldest first. A change does not name the one after it, so the changes of a
// stretch between two images are read from its end.
func (v *versions) oldestFirst() (positions []fanfold.Position, err error) {
	lower := max(v.q.From, v.q.After+1)
	lives, err := v.s.past().lifetimesFrom(v.q.Key, lower, v.q.Limit+1)
	if err != nil {
		return nil, err
	}
	for _, life := range lives {
		at := max(lower, fanfold.At(uint64(life.number), 0))
		for at <= min(life.end, v.q.To) && len(positions) <= v.q.Limit {
			some, end, err := v.stretch(life, at)
			if err != nil {
				return nil, err
			}
			positions = append(positions, some...)
			at = end + 1
		}
	}
	if i := slices.IndexFunc(positions, func(at fanfold.Position) bool { return at > v.q.To }); i >= 0 {
		positions = positions[:i]
	}
	return positions[:min(len(positions), v.q.Limit+1)], nil
}

// stretch returns the positions of changes from one on, in order, up to the next that has an image, which is the end.
func (v *versions) stretch(life lifetime, from fanfold.Position) (positions []fanfold.Position, end fanfold.Position, err error) {
	if created := fanfold.At(uint64(life.number), 0); from == created {
		return []fanfold.Position{created}, created, nil
	}
	if v.q.Direct {
		return v.writes(life, from)
	}
	if end, err = v.s.past().imageAfter(life, from-1); err != nil {
		return nil, 0, err
	}
	err = v.s.c.Query(stretchSQL, func(r driver.Row) error {
		positions = append(positions, fanfold.Position(r.Int(0)))
		return nil
	}, int64(end), int64(from))
	slices.Reverse(positions)
	return positions, end, err
}

// stretchSQL goes back from a change to the last one that is not before a position.
const stretchSQL = `WITH RECURSIVE back (position, prior) AS (
		SELECT position, prior FROM change WHERE position = ?1
		UNION ALL SELECT c.position, c.prior FROM back b JOIN change c ON c.position = b.prior WHERE b.prior >= ?2)
	SELECT position FROM back`

// writes returns the positions of writes from a position on, as many as the page needs. Each of them has an image.
func (v *versions) writes(life lifetime, from fanfold.Position) (positions []fanfold.Position, end fanfold.Position, err error) {
	end = life.end
	err = v.s.c.Query("SELECT position FROM change WHERE number = ? AND position >= ? AND previous IS NOT NULL AND op IS NOT NULL ORDER BY position LIMIT ? + 0", func(r driver.Row) error {
		positions = append(positions, fanfold.Position(r.Int(0)))
		return nil
	}, life.number, int64(from), int64(v.q.Limit)+1)
	if len(positions) > v.q.Limit {
		end = positions[v.q.Limit]
	}
	return positions, end, err
}

// lifetimesFrom returns the lifetimes of documents with a key that did not end before a position, the oldest first, limit of them at most.
func (pa past) lifetimesFrom(key fanfold.Key, from fanfold.Position, limit int) (lives []lifetime, err error) {
	return pa.readLifetimes(lifetimesFromSQL, key, int64(from), limit)
}

// lifetimesFromSQL reads lifetimes. A document that is there is newer than all that were deleted.
const lifetimesFromSQL = "SELECT * FROM (SELECT number, deleted, 0 FROM past_document WHERE collection = ?1 AND id = ?2 AND deleted >= ?3 ORDER BY number LIMIT ?4 + 0)" +
	" UNION ALL SELECT * FROM (SELECT number, position, 1 FROM document WHERE collection = ?1 AND id = ?2 AND position >= ?3) LIMIT ?4 + 0"

// add adds the version after the change at a position. It is false where the page has no room for it.
func (v *versions) add(at fanfold.Position) (fits bool, err error) {
	columns := feedColumns
	if v.q.View == fanfold.Referenced {
		columns = writtenColumns
	}
	ch, err := v.s.changes().at(columns, at)
	if err == nil && ch == nil {
		err = damagedHistory(at)
	}
	if err != nil {
		return false, err
	}
	if ch.Op == fanfold.OpErase {
		v.size += sizeOf(ch)
		v.Versions = append(v.Versions, fanfold.Version{ChangeRow: fanfold.ChangeRow{Change: ch}})
		return v.size <= v.q.MaxBytes, nil
	}
	row := fanfold.Version{ChangeRow: fanfold.ChangeRow{Change: ch}}
	if err := v.showWhole(&row); err != nil {
		return false, err
	}
	v.size += sizeOf(ch)
	if err := v.addBodies(&row); err != nil || v.size > v.q.MaxBytes {
		return false, err
	}
	if row.Cause, err = v.causeOf(ch); err != nil {
		return false, err
	}
	ch.Previous, ch.PreviousSource, ch.Delta = nil, nil, nil
	if len(row.Patch) > fanfold.MaxVersionPatch || ch.ByErasure() || v.unreadBefore[at] {
		row.Patch = nil
	}
	if v.size += len(row.Patch); v.size > v.q.MaxBytes {
		return false, nil
	}
	v.Versions = append(v.Versions, row)
	return true, nil
}

// showWhole does what feedPage.showWhole does.
func (v *versions) showWhole(row *fanfold.Version) (err error) {
	if row.Op == fanfold.OpDerive {
		row.Within, err = v.wholes.covers(row.Change)
		return err
	}
	size, err := v.wholes.begin(row.Change, v.q.MaxBytes-v.size)
	v.size += size
	return err
}

// addBodies adds the document and the patch to a version. It adds neither where the page has no room for the document.
func (v *versions) addBodies(row *fanfold.Version) error {
	ch := row.Change
	derived := ch.Op == fanfold.OpDerive
	if v.q.Docs || !derived || v.q.Shown != nil {
		var size int
		var err error
		if row.Doc, size, err = v.after(ch); err != nil {
			return err
		}
		if v.size += size; v.size > v.q.MaxBytes {
			return nil
		}
	}
	row.Patch = []byte("[]")
	var before []byte
	if !derived || row.Doc != nil {
		var err error
		if before, err = v.bodyBefore(ch, row.Doc); err != nil {
			return err
		}
		v.known, v.knownBody = ch.Prior, before
		if !derived && ch.Tx != "" && uint64(v.wholes.first) <= ch.Prior.Seq() { // the body is of the transaction's beginning
			v.known, v.knownBody = 0, nil
		}
	}
	switch {
	case v.q.Shown != nil:
		v.mask(row, before)
	case !derived:
		row.Patch = jsondoc.Diff(before, bodyOf(row.Doc))
	case v.q.View == fanfold.Embedded:
		row.Patch = ch.Delta
	}
	if !v.q.Docs {
		row.Doc = nil
	}
	return nil
}

// mask makes a version's document, and the patch from the one before, as the query's reader sees them.
func (v *versions) mask(row *fanfold.Version, before []byte) {
	after := row.Doc
	if before != nil {
		before = v.q.Shown(before)
	}
	if after != nil {
		doc := *after
		doc.Body = v.q.Shown(doc.Body)
		row.Doc = &doc
	}
	row.Patch = jsondoc.Diff(before, bodyOf(row.Doc))
}

// bodyBefore returns the view that a change found. A derived change whose patch does not say all of it, such as the place of a member,
// has an image.
func (v *versions) bodyBefore(ch *fanfold.Change, after *fanfold.Document) (body []byte, err error) {
	if ch.Op == fanfold.OpDerive && v.q.View == fanfold.Embedded {
		found, err := v.s.c.QueryRow("SELECT previous FROM change WHERE position = ? AND previous IS NOT NULL", func(r driver.Row) { body = r.Bytes(0) }, int64(ch.Position))
		if found || err != nil {
			return body, err
		}
	}
	return v.history.before(ch, after)
}

// after returns the document after a change, and how many bytes its body has, as history.after does. It is known where the page had the
// version after it before.
func (v *versions) after(ch *fanfold.Change) (doc *fanfold.Document, size int, err error) {
	more, err := v.wholes.moreAfter(ch)
	if err != nil || more && ch.Op != fanfold.OpDerive {
		return v.wholes.after(&v.history, ch, v.q.MaxBytes-v.size)
	}
	if v.known == ch.Position && !ch.Op.Gone() {
		doc, err := v.history.document(ch, ch.Number, v.knownBody)
		return doc, len(v.knownBody), err
	}
	return v.history.after(ch, v.q.MaxBytes-v.size)
}

// causeOf returns the document whose write caused a derived change; nil where a model did, and of a write.
func (v *versions) causeOf(ch *fanfold.Change) (*fanfold.Key, error) {
	if ch.Op != fanfold.OpDerive {
		return nil, nil
	}
	cause, err := v.s.changes().firstOfEvent(ch.Position.Seq(), nil)
	if err != nil || cause == nil || !cause.Op.Writes() {
		return nil, err
	}
	return &cause.Key, nil
}
