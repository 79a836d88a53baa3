package sqlite

import (
	"math"
	"sort"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// maxRecentEnds bounds how many links of a target that ended after a position are sorted. More are read in order of their holders, with
// those that ended before.
const maxRecentEnds = 1000

// Columns of links that are there and of those that ended: the holder, the events that made it and ended it, the place in pages.
const (
	selectLinks     = "SELECT holder, coalesce(since, holder), NULL, ordinal FROM link WHERE relation = (SELECT id FROM name WHERE text = ?1) AND target = ?2 AND "
	selectPastLinks = "SELECT holder, since, until, ordinal FROM past_link INDEXED BY "
	ofTarget        = " WHERE relation = (SELECT id FROM name WHERE text = ?1) AND target = ?2 AND "

	// holders created later referred to nothing
	holderRange = "holder > ?3 AND holder <= ?4"

	ofRecentEnds = "sqlite_autoindex_past_link_1" + ofTarget + "until > ?4"
)

// Queries for the links of a target as they were.
const (
	holdersAtSQL       = selectLinks + holderRange + " UNION ALL " + selectPastLinks + "past_link_holder" + ofTarget + holderRange + " ORDER BY 1"
	recentHoldersAtSQL = selectLinks + holderRange + " UNION ALL " + selectPastLinks + ofRecentEnds + " AND " + holderRange + " ORDER BY 1"
	countRecentSQL     = "SELECT count(*) FROM (SELECT 1 FROM past_link INDEXED BY " + ofRecentEnds + " LIMIT ?3 + 0)"
	onPageAtSQL        = selectLinks + placeRange + " UNION ALL " + selectPastLinks + "past_link_ordinal" + ofTarget + placeRange + " ORDER BY 4"
	placeRange         = "ordinal >= ?3 AND ordinal < ?4"
)

// wasThere tells of a row of selectLinks whether the link was there after an event.
func wasThere(r driver.Row, seq uint64) bool {
	return r.Int(1) <= int64(seq) && (r[2] == nil || r.Int(2) > int64(seq))
}

// EachReferringAt does what EachReferring does for documents as they were at a position that Resolve has returned. It ends early where it
// would look at too much. last is the number that it has come to, and more tells that others may follow.
func (s *Snapshot) EachReferringAt(at fanfold.Position, relation, target string, after int64, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (last int64, more bool, err error) {
	bound, n, seq := s.past().bound(), 0, at.Seq()
	query := recentHoldersAtSQL
	if _, err := s.c.QueryRow(countRecentSQL, func(r driver.Row) {
		if r.Int(0) > maxRecentEnds {
			query = holdersAtSQL
		}
	}, relation, target, int64(maxRecentEnds+1), int64(seq)); err != nil {
		return after, false, err
	}
	last = after
	holder := after // of the last row, which more rows may have
	err = s.c.Query(query, func(r driver.Row) error {
		if r.Int(0) != holder {
			last, holder = holder, r.Int(0)
			if more = last != after && bound.reached(); more {
				return driver.ErrStop
			}
		}
		if !wasThere(r, seq) {
			return nil
		}
		taken := n < limit
		if taken {
			doc, err := s.past().numberAt(holder, at, view)
			if err != nil {
				return err
			}
			if taken, err = fn(doc); err != nil {
				return err
			}
		}
		if more = !taken; more {
			return driver.ErrStop
		}
		n++
		return nil
	}, relation, target, after, int64(seq))
	return last, more, err
}

// EachOnPageAt does what EachOnPage does for documents as they were at a position that Resolve has returned.
func (s *Snapshot) EachOnPageAt(at fanfold.Position, p model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error {
	first := int64(0) // the event from which on places count
	if _, err := s.c.QueryRow("SELECT max(seq) FROM relinked WHERE relation = ? AND seq <= ?", func(r driver.Row) { first = r.Int(0) }, p.Relation, int64(at.Seq())); err != nil {
		return err
	}
	count, err := s.past().placesAt(p, first, int64(at.Seq()))
	if err != nil {
		return err
	}
	places, page := int64(p.Size), p.Page
	pages := max(1, (count+places-1)/places)
	if page == 0 {
		page = pages
	}
	if err := begin(page, pages); err != nil {
		return err
	}
	from := (min(page, pages+1) - 1) * places
	return s.c.Query(onPageAtSQL, func(r driver.Row) error {
		if r.Int(1) < first || !wasThere(r, at.Seq()) {
			return nil
		}
		doc, err := s.past().numberAt(r.Int(0), at, p.View)
		if err != nil {
			return err
		}
		more, err := fn(doc)
		if err == nil && !more {
			err = driver.ErrStop
		}
		return err
	}, p.Relation, p.Target, from, from+places)
}

// placesAt returns how many documents had come into a target's pages after an event, which is not before the horizon, where the places are counted from the event first on. The
// later a link was made, the higher is its place.
func (pa past) placesAt(p model.PageQuery, first, seq int64) (n int64, err error) {
	if _, err := pa.c.QueryRow(lastPlaceSQL, func(r driver.Row) { n = r.Int(0) + 1 }, p.Relation, p.Target); err != nil {
		return 0, err
	}
	given := func(place int64) (found bool) {
		if err == nil {
			found, err = pa.c.Has(givenPlaceSQL, p.Relation, p.Target, place, first, seq)
		}
		return found
	}
	atHorizon, err := pa.placesAtHorizon(p, first)
	if n = max(n, atHorizon); err != nil || n == atHorizon || given(n-1) {
		return n, err
	}
	return atHorizon + int64(sort.Search(int(n-1-atHorizon), func(place int) bool { return !given(atHorizon + int64(place)) })), err
}

// placesAtHorizon returns how many documents had come into a target's pages at the horizon, where places are counted from an event up to it on;
// otherwise 0. The links that ended before the horizon are not known.
func (pa past) placesAtHorizon(p model.PageQuery, first int64) (n int64, err error) {
	_, base, err := pa.Horizon()
	if err != nil || base == 0 || first > int64(base) {
		return 0, err
	}
	_, err = pa.c.QueryRow("SELECT count FROM horizon_paged WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ?", func(r driver.Row) { n = r.Int(0) }, p.Relation, p.Target)
	return n, err
}

// Queries for places in a target's pages.
const (
	lastPlaceSQL = "SELECT max(coalesce((SELECT max(ordinal) FROM link WHERE relation = (SELECT id FROM name WHERE text = ?1) AND target = ?2 AND ordinal IS NOT NULL), -1)," +
		" coalesce((SELECT max(ordinal) FROM past_link INDEXED BY past_link_ordinal WHERE relation = (SELECT id FROM name WHERE text = ?1) AND target = ?2 AND ordinal IS NOT NULL), -1))"
	givenPlaceSQL = "SELECT 1 FROM link WHERE relation = (SELECT id FROM name WHERE text = ?1) AND target = ?2 AND ordinal = ?3 AND coalesce(since, holder) BETWEEN ?4 AND ?5" +
		" UNION ALL SELECT 1 FROM past_link INDEXED BY past_link_ordinal WHERE relation = (SELECT id FROM name WHERE text = ?1) AND target = ?2 AND ordinal = ?3 AND since BETWEEN ?4 AND ?5 LIMIT 1"
)

// numberAt returns the document with a number as it was at a position within its lifetime.
func (pa past) numberAt(number int64, at fanfold.Position, view fanfold.View) (doc *fanfold.Document, err error) {
	var life *lifetime
	var key fanfold.Key
	if _, err := pa.c.QueryRow(numberAtSQL(view), func(r driver.Row) {
		if life = lifetimeOf(r); life.live && life.end <= at {
			doc = scanDocument(r)
		}
		key = fanfold.Key{Collection: r.Text(1), ID: r.Text(2)}
	}, number, number, int64(at)); doc != nil || err != nil {
		return doc, err
	}
	if life == nil {
		return nil, damagedHistory(fanfold.At(uint64(number), 0))
	}
	doc, _, err = pa.version(*life, key, at, view, math.MaxInt)
	return doc, err
}
