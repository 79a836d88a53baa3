package sqlite

import (
	"math"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Bounds of what a page of the past looks at: rows, and how long it takes.
const (
	maxPastRows = 100_000
	maxPastTime = 2 * time.Second
)

// pastBound ends a page of the past that looks at too much.
type pastBound struct {
	s     *Snapshot
	rows  int // that were read before
	begun time.Time
	most  time.Duration
}

// bound returns the bound of a page that begins.
func (pa past) bound() pastBound {
	return pastBound{pa.Snapshot, pa.RowsRead(), time.Now(), maxPastTime}
}

// reached reports whether the page has looked at as much as it may.
func (b *pastBound) reached() bool {
	return b.s.RowsRead()-b.rows > maxPastRows || time.Since(b.begun) > b.most
}

// selectPast returns the parts of a query for documents that are there, and for those that were. Those that are there have no body where they
// have changed after the position that is parameter 3. Each row ends with the position of a delete, NULL where there was none.
func selectPast(view fanfold.View) (live, deleted string) {
	body := "CASE WHEN d.position <= ?3 THEN d.body END, NULL"
	if view == fanfold.Referenced {
		body = "CASE WHEN d.position <= ?3 THEN CASE typeof(d.source) WHEN 'text' THEN d.source ELSE d.body END END, " + referencedPlaces
	}
	return "SELECT " + docColumns + body + ", NULL FROM document d ", "SELECT p.number, p.collection, p.id, 0, 0, 0, 0, NULL, NULL, p.deleted FROM past_document p "
}

// deletedColumn is the place of a delete's position in a row of selectPast.
const deletedColumn = 9

// lifetimeOf returns the lifetime of the document in a row of selectPast.
func lifetimeOf(r driver.Row) *lifetime {
	life := &lifetime{number: r.Int(0), end: fanfold.Position(r.Int(4)), live: r[deletedColumn] == nil}
	if !life.live {
		life.end = fanfold.Position(r.Int(deletedColumn))
	}
	return life
}

// selectListed returns the query for documents of a collection that are there or were, in order of id, those with the same id in order
// of creation.
func selectListed(view fanfold.View) string {
	live, deleted := selectPast(view)
	return "SELECT * FROM (" + live + "INDEXED BY document_key WHERE d.collection = ?1 AND d.id > ?2)" +
		" UNION ALL SELECT * FROM (" + deleted + "WHERE p.collection = ?1 AND p.id > ?2) ORDER BY 3, 1"
}

// numberAtSQL returns the query for the document with a number that is there, or was.
func numberAtSQL(view fanfold.View) string {
	live, deleted := selectPast(view)
	return live + "WHERE d.number = ?1 UNION ALL " + deleted + "INDEXED BY past_document_number WHERE p.number = ?2"
}

// EachListedAt does what EachListed does for documents as they were at a position that Resolve has returned. It ends early where it
// would look at too much. last is the id that it has come to, and more tells that others may follow.
func (s *Snapshot) EachListedAt(at fanfold.Position, collection, after string, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (last string, more bool, err error) {
	bound, n := s.past().bound(), 0
	last = after
	id := after // of the last row, which more rows may have
	err = s.c.Query(selectListed(view), func(r driver.Row) error {
		if r.Text(2) != id {
			last, id = id, r.Text(2)
			if more = last != after && bound.reached(); more {
				return driver.ErrStop
			}
		}
		doc, err := s.past().listedAt(r, at, view)
		if err != nil {
			return err
		}
		if doc != nil {
			taken := n < limit
			if taken {
				if taken, err = fn(doc); err != nil {
					return err
				}
			}
			if more = !taken; more {
				return driver.ErrStop
			}
			n++
		}
		return nil
	}, collection, after, int64(at))
	return last, more, err
}

// listedAt returns the document in a row of selectListed as it was, nil where it was not there.
func (pa past) listedAt(r driver.Row, at fanfold.Position, view fanfold.View) (*fanfold.Document, error) {
	life := lifetimeOf(r)
	switch {
	case uint64(life.number) > at.Seq(), !life.live && life.end <= at:
		return nil, nil
	case life.live && life.end <= at:
		return scanDocument(r), nil
	}
	doc, _, err := pa.version(*life, fanfold.Key{Collection: r.Text(1), ID: r.Text(2)}, at, view, math.MaxInt)
	return doc, err
}
