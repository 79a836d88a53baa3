package sqlite

import (
	"math"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// lifetime is the time from a document's creation to its delete, in positions.
type lifetime struct {
	number int64
	end    fanfold.Position // of the last change
	live   bool             // the document is there; else the last change is its delete
}

// Time returns the time of the last event: the running maximum of the log's times.
func (s *Snapshot) Time() time.Time { return s.Checkpoint.Time }

// Resolve returns the position of a moment: its last event, or its last whole transaction. A moment that the snapshot has not reached is
// its end. Of events without changes it knows by time those that applied a model. A moment before the horizon is at a position before
// the oldest one.
func (s *Snapshot) Resolve(m fanfold.Moment) (fanfold.Position, error) {
	if m.Time.IsZero() {
		return s.past().whole(m.Position)
	}
	if !s.Checkpoint.Time.After(m.Time) {
		return s.At(), nil
	}
	if m.Time.Unix() < 0 { // before every log, and perhaps before what nanoseconds reach back to
		return 0, nil
	}
	at, err := s.Before(m.Time.Add(1))
	if err != nil || at == 0 {
		return 0, err
	}
	if _, err = s.c.QueryRow("SELECT max(seq) FROM model WHERE time <= ?", func(r driver.Row) { at = max(at, fanfold.At(uint64(r.Int(0)), 0)) }, m.Time.UnixNano()); err != nil {
		return 0, err
	}
	return s.past().whole(at)
}

// whole returns the position at which the event of a position ends, and its transaction.
func (pa past) whole(at fanfold.Position) (fanfold.Position, error) {
	at = fanfold.At(at.Seq(), fanfold.MaxChanges)
	if at >= pa.At() {
		return pa.At(), nil
	}
	h, _, err := pa.Horizon()
	if err != nil || at.Seq() < h.Seq {
		return fanfold.At(at.Seq(), 0), err
	}
	if at.Seq() == h.Seq && h.Seq > 0 {
		return h.At(), nil
	}
	last, tx, err := pa.lastChange(at)
	for tx != "" && err == nil {
		next, following := fanfold.Position(0), ""
		if _, err = pa.c.QueryRow("SELECT c.position, "+eventTx+fromChange+"WHERE c.position > ? ORDER BY c.position LIMIT 1", func(r driver.Row) {
			next, following = fanfold.Position(r.Int(0)), r.Text(1)
		}, int64(fanfold.At(last.Seq(), fanfold.MaxChanges))); following != tx || err != nil {
			break
		}
		last, tx, err = pa.lastChange(fanfold.At(next.Seq(), fanfold.MaxChanges))
	}
	return max(last, fanfold.At(at.Seq(), 0)), err
}

// lastChange returns the position of the last change up to a position, 0 for none, and the transaction of its event, as it is stored.
func (pa past) lastChange(at fanfold.Position) (last fanfold.Position, tx string, err error) {
	_, err = pa.c.QueryRow("SELECT c.position, "+eventTx+fromChange+"WHERE c.position <= ? ORDER BY c.position DESC LIMIT 1", func(r driver.Row) {
		last, tx = fanfold.Position(r.Int(0)), r.Text(1)
	}, int64(at))
	return last, tx, err
}

// ModelAt returns the model that applied at a position, as JSON, and the event that applied it, 0 for none.
func (s *Snapshot) ModelAt(at fanfold.Position) (source []byte, seq uint64, err error) {
	_, err = s.c.QueryRow("SELECT source, seq FROM model WHERE seq <= ? ORDER BY seq DESC LIMIT 1", func(r driver.Row) {
		source, seq = r.Bytes(0), uint64(r.Int(1))
	}, int64(at.Seq()))
	return source, seq, err
}

// GetAt returns a document as it was at a position that Resolve has returned, nil where there was none. It also returns how many bytes
// the body had, or takes to be rebuilt. A body for which maxBytes are too few is nil. It undoes at most what changed between two key frames: see
// IsKeyFrame.
func (s *Snapshot) GetAt(when fanfold.Position, key fanfold.Key, view fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error) {
	life, err := s.past().lifetimeAt(key, when)
	switch {
	case err != nil || life == nil:
		return nil, 0, err
	case life.live && life.end <= when:
		return s.GetWithin(key, view, maxBytes)
	}
	return s.past().version(*life, key, when, view, maxBytes)
}

// past reads documents as they were, from their changes.
type past struct{ *Snapshot }

// past returns what reads documents as they were.
func (s *Snapshot) past() past { return past{s} }

// version returns a document as it was at a position within its lifetime, and before its last change, as GetAt does.
func (pa past) version(life lifetime, key fanfold.Key, when fanfold.Position, view fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error) {
	h := history{s: pa.Snapshot, view: view}
	ch := &fanfold.Change{Position: when, Key: key, Number: life.number}
	base, err := h.image(ch, maxBytes)
	if err != nil {
		return nil, 0, err
	}
	body, size := base.body, base.bodyBytes
	switch {
	case base.after <= when:
		ch.Position = base.after
	case view == fanfold.Referenced || body == nil:
		ch.Position, err = pa.versionBefore(base.after, when)
	default:
		body, ch.Position, err = h.walkTo(base, ch, maxBytes)
		size = len(body)
	}
	if err != nil {
		return nil, 0, err
	}
	if view == fanfold.Referenced && body != nil {
		body = base.referenced.Text(body)
		size = len(body)
	}
	doc = &fanfold.Document{Key: key, Number: life.number, Position: ch.Position, Body: body}
	return doc, size, pa.addTimes(doc)
}

// lifetimeAt returns the lifetime of a document that was there at a position, nil where none was.
func (pa past) lifetimeAt(key fanfold.Key, at fanfold.Position) (life *lifetime, err error) {
	lives, err := pa.lifetimes(key, at, 1)
	if err != nil || len(lives) == 0 || !lives[0].live && lives[0].end <= at {
		return nil, err
	}
	return &lives[0], nil
}

// lifetimes returns the newest lifetimes of documents with a key that began at or before a position, the newest first, limit of them at
// most.
func (pa past) lifetimes(key fanfold.Key, at fanfold.Position, limit int) (lives []lifetime, err error) {
	return pa.readLifetimes(lifetimesSQL, key, int64(at.Seq()), limit)
}

// readLifetimes returns the lifetimes that a query finds for a key and a bound.
func (pa past) readLifetimes(query string, key fanfold.Key, bound int64, limit int) (lives []lifetime, err error) {
	err = pa.c.Query(query, func(r driver.Row) error {
		lives = append(lives, lifetime{number: r.Int(0), end: fanfold.Position(r.Int(1)), live: r.Int(2) == 1})
		return nil
	}, key.Collection, key.ID, bound, int64(limit))
	return lives, err
}

// lifetimesSQL reads lifetimes. A document that is there is newer than all that were deleted.
const lifetimesSQL = "SELECT * FROM (SELECT number, position, 1 FROM document WHERE collection = ?1 AND id = ?2 AND number <= ?3)" +
	" UNION ALL SELECT * FROM (SELECT number, deleted, 0 FROM past_document WHERE collection = ?1 AND id = ?2 AND number <= ?3 ORDER BY number DESC LIMIT ?4 + 0) LIMIT ?4 + 0"

// addTimes adds to a document its revision and its times after the change at its position.
func (pa past) addTimes(doc *fanfold.Document) error {
	found, err := pa.c.QueryRow(timesSQL, func(r driver.Row) {
		doc.Revision, doc.Created, doc.Updated = fanfold.Revision(r.Int(0)), timeOf(r.Int(1)), timeOf(r.Int(2))
	}, int64(doc.Position), doc.Number)
	if err == nil && !found {
		found, err = pa.c.QueryRow("SELECT revision, created, updated FROM horizon_version WHERE position = ? AND number = ?", func(r driver.Row) {
			doc.Revision, doc.Created, doc.Updated = fanfold.Revision(r.Int(0)), timeOf(r.Int(1)), timeOf(r.Int(2))
		}, int64(doc.Position), doc.Number)
	}
	if err == nil && !found {
		err = damagedHistory(doc.Position)
	}
	return err
}

// timesSQL reads a document's revision after a change, and the times of its creation and of that revision.
var timesSQL = "SELECT c.revision, " + createdTimeSQL + ", " + writtenTimeSQL("c.revision") +
	" FROM (SELECT coalesce(revision, CASE WHEN op IS NULL THEN number END, position >> 20) AS revision FROM change WHERE position = ?1) c"

// eventTimesSQL reads when a document was created, and the time of one of its writes.
var eventTimesSQL = "SELECT " + createdTimeSQL + ", " + writtenTimeSQL("?1")

// Expressions for when the document with the number ?2 was created, in nanoseconds; 0 where it is not known. Before the horizon no event's
// time is kept, but what documents had of them then.
const createdTimeSQL = "coalesce((SELECT time FROM change WHERE position = ?2 << 20), (SELECT created FROM horizon_version WHERE number = ?2), 0)"

// writtenTimeSQL returns an expression for the time of an event that wrote that document.
func writtenTimeSQL(seq string) string {
	return "coalesce((SELECT time FROM change WHERE position = " + seq + " << 20), (SELECT updated FROM horizon_version WHERE number = ?2 AND revision = " + seq + "), 0)"
}

// lastVersion returns the position of the last change of a document up to a position within its lifetime.
func (pa past) lastVersion(life lifetime, at fanfold.Position) (version fanfold.Position, err error) {
	if life.end <= at {
		return life.end, nil
	}
	if version, err = pa.imageAfter(life, at); err != nil {
		return 0, err
	}
	return pa.versionBefore(version, at)
}

// versionBefore goes back from a change after a position to the last one of its document that is not after it. The last one
// has no row if the horizon is after it.
func (pa past) versionBefore(from, at fanfold.Position) (version fanfold.Position, err error) {
	if _, err = pa.c.QueryRow(lastVersionSQL, func(r driver.Row) { version = fanfold.Position(r.Int(0)) }, int64(from), int64(at)); err == nil && (version == 0 || version > at) {
		err = damagedHistory(from)
	}
	return version, err
}

// imageAfter returns the position of the first change of a document after a position that has an image, and where there is none, the last
// change of its lifetime.
func (pa past) imageAfter(life lifetime, at fanfold.Position) (image fanfold.Position, err error) {
	image = life.end
	_, err = pa.c.QueryRow("SELECT position FROM change WHERE number = ? AND position > ? AND previous IS NOT NULL ORDER BY position LIMIT 1",
		func(r driver.Row) { image = fanfold.Position(r.Int(0)) }, life.number, int64(at))
	return image, err
}

// lastVersionSQL goes back from a change to the first after a position, and reads which one was before that.
const lastVersionSQL = `WITH RECURSIVE back (position, prior) AS (
		SELECT position, prior FROM change WHERE position = ?1
		UNION ALL SELECT c.position, c.prior FROM back b JOIN change c ON c.position = b.prior WHERE b.prior > ?2)
	SELECT min(prior) FROM back`

// State reads single documents, and who referred to them, as they were at one position. One bound holds for all that is read. Past it the
// error of each method is TakesLong.
type State struct {
	pa    past
	at    fanfold.Position
	bound pastBound
}

// NewState returns the state of a snapshot at a position that Resolve has returned, and that is not before the oldest one.
func NewState(s *Snapshot, at fanfold.Position) *State {
	return &State{s.past(), at, s.past().bound()}
}

// Row returns a document, nil where there was none. Of a version from before the horizon it does not tell who wrote it where that is no longer
// known. Omitted is not told, or is of another time.
func (st *State) Row(key fanfold.Key) (row *Row, err error) {
	life, err := st.lifetime(key)
	switch {
	case err != nil || life == nil:
		return nil, err
	case life.live && life.end <= st.at:
		return st.pa.Row(key)
	}
	doc, _, err := st.pa.version(*life, key, st.at, fanfold.Embedded, math.MaxInt)
	if err != nil {
		return nil, err
	}
	source, _, err := st.pa.version(*life, key, st.at, fanfold.Referenced, math.MaxInt)
	if err != nil {
		return nil, err
	}
	row = &Row{Number: life.number, Key: key, Revision: doc.Revision, Position: doc.Position, Created: doc.Created, Updated: doc.Updated,
		Body: doc.Body, Referenced: NewReferencedView(doc.Body, source.Body, true)}
	_, err = st.pa.c.QueryRow(stateRowSQL, func(r driver.Row) {
		row.CreatedBy, row.UpdatedBy = r.Text(0), r.Text(1)
	}, row.Number, int64(row.Revision))
	return row, err
}

// stateRowSQL reads whose events made the document of a version and wrote it.
const stateRowSQL = "SELECT coalesce((SELECT actor FROM change WHERE position = ?1 << 20), (SELECT created_by FROM document WHERE number = ?1), '')," +
	" coalesce((SELECT actor FROM change WHERE position = ?2 << 20), (SELECT updated_by FROM document WHERE number = ?1 AND revision = ?2), '')"

// GetWithin does what GetAt does.
func (st *State) GetWithin(key fanfold.Key, view fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error) {
	if err := st.check(); err != nil {
		return nil, 0, err
	}
	return st.pa.GetAt(st.at, key, view, maxBytes)
}

// NumberOf returns the number of a document, 0 where there was none.
func (st *State) NumberOf(key fanfold.Key) (number int64, err error) {
	life, err := st.lifetime(key)
	if err != nil || life == nil {
		return 0, err
	}
	return life.number, nil
}

// HolderMeta returns the first documents that referred to target, by creation and without their bodies, limit of them at most.
func (st *State) HolderMeta(relation, target string, limit int) (docs []*fanfold.Document, err error) {
	err = st.eachHolder(relation, target, func(number int64) (bool, error) {
		doc, err := st.meta(number)
		docs = append(docs, doc)
		return len(docs) < limit, err
	})
	return docs, err
}

// CountHolders returns how many documents referred to target. It stops counting at limit where that is not negative.
func (st *State) CountHolders(relation, target string, limit int64) (n int64, err error) {
	err = st.eachHolder(relation, target, func(int64) (bool, error) {
		n++
		return n != limit, nil
	})
	return n, err
}

// eachHolder calls fn with the numbers of the documents that referred to target, by creation, until fn returns false.
func (st *State) eachHolder(relation, target string, fn func(number int64) (bool, error)) error {
	last := int64(0) // of the last call: a document may have several links of other times
	return st.pa.c.Query(holdersAtSQL, func(r driver.Row) error {
		if err := st.check(); err != nil {
			return err
		}
		if r.Int(0) == last || !wasThere(r, st.at.Seq()) {
			return nil
		}
		last = r.Int(0)
		more, err := fn(last)
		if err == nil && !more {
			err = driver.ErrStop
		}
		return err
	}, relation, target, int64(0), int64(st.at.Seq()))
}

// meta returns the document with a number, without its body.
func (st *State) meta(number int64) (doc *fanfold.Document, err error) {
	var key fanfold.Key
	if _, err = st.pa.c.QueryRow("SELECT collection, id FROM document WHERE number = ?1 UNION ALL SELECT collection, id FROM past_document WHERE number = ?1", func(r driver.Row) {
		key = fanfold.Key{Collection: r.Text(0), ID: r.Text(1)}
	}, number); err != nil {
		return nil, err
	}
	if doc, _, err = st.pa.GetAt(st.at, key, fanfold.Embedded, 0); err == nil && doc == nil {
		err = damagedHistory(st.at)
	}
	return doc, err
}

// lifetime returns the lifetime of a document that was there, nil where none was.
func (st *State) lifetime(key fanfold.Key) (*lifetime, error) {
	if err := st.check(); err != nil {
		return nil, err
	}
	return st.pa.lifetimeAt(key, st.at)
}

// check returns a TakesLong where more was read than is.
func (st *State) check() error {
	if !st.bound.reached() {
		return nil
	}
	return fanfold.Errorf(fanfold.TakesLong, "to tell where the values came from takes more than %d rows, or more than %v: ask for the document's _history, or for a smaller document", maxPastRows, maxPastTime)
}
