package sqlite

import (
	"cmp"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
)

// AddLink records that holder refers to target. It is called once for each pair of the two, however
// often the document names the target. Where the
// relation has pages, holder gets the next place in those of target.
func (tx *Tx) AddLink(relation, target string, holder int64, paged bool) error {
	if tx.over != nil {
		tx.over.addLink(relation, target, holder)
		return nil
	}
	l := Link{relation, target}
	if !paged {
		return tx.keepLink(l, holder, -1)
	}
	count := tx.unwritten.paged[l]
	if count == nil {
		var err error
		if count, err = tx.readPaged(l); err != nil {
			return err
		}
	}
	if count.n++; !count.changed {
		count.changed = true
		tx.unwritten.changedPaged = append(tx.unwritten.changedPaged, l)
	}
	return tx.keepLink(l, holder, count.n-1)
}

// readPaged reads how many documents ever came into a target's pages.
func (tx *Tx) readPaged(l Link) (*knownCount, error) {
	if err := tx.forgetKnown(); err != nil {
		return nil, err
	}
	count := &knownCount{}
	err := tx.directly(func() error {
		_, err := tx.c.queryRow("SELECT count FROM paged WHERE relation = ? AND target = ?", func(r []sqlValue) { count.n = intOf(r[0]) }, l.Relation, l.Target)
		return err
	})
	tx.unwritten.paged[l] = count
	return count, err
}

// keepLink keeps a link back. ordinal is negative for none.
func (tx *Tx) keepLink(l Link, holder, ordinal int64) error {
	if !tx.unwritten.held[l] {
		if err := tx.forgetKnown(); err != nil {
			return err
		}
		tx.unwritten.held[l] = true
	}
	tx.unwritten.links = append(tx.unwritten.links, linkRow{l, holder, ordinal})
	return tx.keepBack(len(tx.unwritten.links), len(l.Target))
}

// AddLinks records several links of a holder, of relations without pages.
func (tx *Tx) AddLinks(links []Link, holder int64) error {
	if tx.over != nil {
		for _, l := range links {
			tx.over.addLink(l.Relation, l.Target, holder)
		}
		return nil
	}
	for _, l := range links {
		if err := tx.keepLink(l, holder, -1); err != nil {
			return err
		}
	}
	return nil
}

// RemoveLink removes the link from holder to target.
func (tx *Tx) RemoveLink(relation, target string, holder int64) error {
	if tx.over != nil {
		tx.over.removeLink(relation, target, holder)
		return nil
	}
	return tx.c.exec("DELETE FROM link WHERE relation = ? AND target = ? AND holder = ?", relation, target, holder)
}

// RemoveLinks removes every link and every page of a relation.
func (tx *Tx) RemoveLinks(relation string) error {
	if err := tx.c.exec("DELETE FROM paged WHERE relation = ?", relation); err != nil {
		return err
	}
	return tx.c.exec("DELETE FROM link WHERE relation = ?", relation)
}

// HasHolders reports whether any document refers to target.
func (tx *Tx) HasHolders(relation, target string) (bool, error) {
	if tx.over != nil {
		if l := tx.over.link(relation, target); len(l.added) > 0 || len(l.removed) > 0 {
			if len(l.added) > 0 {
				return true, nil
			}
			n, err := tx.over.countHolders(relation, target, 1)
			return n > 0, err
		}
		return tx.over.heldInFile(relation, target)
	}
	l := Link{relation, target}
	if tx.unwritten.held[l] {
		return true, nil
	}
	if err := tx.forgetKnown(); err != nil {
		return false, err
	}
	held := false
	err := tx.directly(func() (err error) {
		held, err = tx.c.queryRow(hasHoldersSQL, func([]sqlValue) {}, relation, target)
		return err
	})
	if held {
		tx.unwritten.held[l] = true
	}
	return held, err
}

// Holders appends the numbers of the documents that refer to target to dst, in order of creation,
// limit of them at most where limit is not negative.
func (tx *Tx) Holders(dst []int64, relation, target string, limit int) ([]int64, error) {
	if tx.over != nil {
		return tx.over.holders(dst, relation, target, limit)
	}
	err := tx.c.query(holdersSQL, func(r []sqlValue) error {
		dst = append(dst, intOf(r[0]))
		return nil
	}, relation, target, int64(limit))
	return dst, err
}

// HolderIDs returns the ids of the first documents that refer to target, limit of them at most.
func (tx *Tx) HolderIDs(relation, target string, limit int) (ids []string, err error) {
	if tx.over != nil {
		return tx.over.holderIDs(relation, target, limit)
	}
	err = tx.c.query("SELECT d.id FROM link l JOIN document d ON d.number = l.holder WHERE l.relation = ? AND l.target = ? ORDER BY l.holder LIMIT ?",
		func(r []sqlValue) error {
			ids = append(ids, textOf(r[0]))
			return nil
		}, relation, target, int64(limit))
	return ids, err
}

// HasLink reports whether holder refers to target.
func (tx *Tx) HasLink(relation, target string, holder int64) (bool, error) {
	if tx.over != nil {
		return tx.over.hasLink(relation, target, holder)
	}
	return tx.c.queryRow(hasLinkSQL, func([]sqlValue) {}, relation, target, holder)
}

// UnfitHolders reports whether among the documents that refer to target is one whose embedded view
// is nested deeper than SQLite's JSON functions take, has no room for a value already, or would be
// longer than limit, in bytes, if it grew by so many.
func (tx *Tx) UnfitHolders(relation, target string, growth, limit int) (bool, error) {
	if tx.over != nil && tx.over.bounds.MaxDocuments > 0 { // it reads them all
		if n, err := tx.over.countHolders(relation, target, int64(tx.over.bounds.MaxDocuments)+1); err != nil || tx.over.tooMany(int(n)) {
			return false, cmp.Or(err, ErrRehearsalEnds)
		}
	}
	if tx.over == nil { // an event before this one may have altered what the holders have, in the same transaction
		if err := tx.flushCache(); err != nil {
			return false, err
		}
	}
	return tx.c.queryRow(`SELECT 1 FROM link l CROSS JOIN document d ON d.number = l.holder WHERE l.relation = ? AND l.target = ?
		AND (octet_length(d.body) >= ? AND NOT json_valid(d.body) OR octet_length(d.body) > ? OR d.omitted IS NOT NULL) LIMIT 1`,
		func([]sqlValue) {}, relation, target, int64(MaxShallow), int64(limit-growth))
}

// CountHolders returns how many documents refer to target. It stops counting at limit where that is
// not negative.
func (tx *Tx) CountHolders(relation, target string, limit int64) (n int64, err error) {
	if tx.over != nil {
		return tx.over.countHolders(relation, target, limit)
	}
	return tx.Snapshot().CountHolders(relation, target, limit)
}

// Queries for links.
const (
	holdersSQL       = "SELECT holder FROM link WHERE relation = ? AND target = ? ORDER BY holder LIMIT ?"
	newestHoldersSQL = "SELECT holder FROM link WHERE relation = ? AND target = ? ORDER BY holder DESC LIMIT ?"
	hasHoldersSQL    = "SELECT 1 FROM link WHERE relation = ? AND target = ? LIMIT 1"
	hasLinkSQL       = "SELECT 1 FROM link WHERE relation = ? AND target = ? AND holder = ?"
)

// Link says that a document refers to the document with id Target, by a relation.
type Link struct{ Relation, Target string }

// MaxShallow is the length in bytes from which JSON text can be nested deeper than the 1,000 levels
// that SQLite's JSON functions take (SQLite documentation, JSON Functions And Operators).
const MaxShallow = 2000

// Holders returns documents that refer to target by a relation and have numbers behind after,
// in order of creation: limit of them at most, and fewer where they are large. more reports whether
// others follow.
func (s *Snapshot) Holders(relation, target string, after int64, limit int, view fanfold.View) (docs []*fanfold.Document, more bool, err error) {
	return s.documents(limit, pageBytes, selectHolders(view), relation, target, after)
}

// EachReferring does what Holders does, and calls fn with each document as EachListed does.
func (s *Snapshot) EachReferring(relation, target string, after int64, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error) {
	return s.eachDocument(limit, fn, selectHolders(view), relation, target, after)
}

// selectHolders returns the query for documents that refer to a target, from behind a number.
func selectHolders(view fanfold.View) string {
	return selectView(view) + fromHolders + "WHERE l.relation = ? AND l.target = ? AND l.holder > ? ORDER BY l.holder"
}

// HolderMeta returns the documents that Holders returns, as written and without their bodies, limit of them at most.
func (s *Snapshot) HolderMeta(relation, target string, limit int) (docs []*fanfold.Document, err error) {
	err = s.c.query("SELECT "+docColumns+"NULL, NULL"+fromHolders+"WHERE l.relation = ? AND l.target = ? ORDER BY l.holder LIMIT ?", func(r []sqlValue) error {
		docs = append(docs, scanDocument(r))
		return nil
	}, relation, target, int64(limit))
	return docs, err
}

// CountHolders returns how many documents refer to target. It stops counting at limit where that is
// not negative.
func (s *Snapshot) CountHolders(relation, target string, limit int64) (n int64, err error) {
	_, err = s.c.queryRow("SELECT count(*) FROM (SELECT 1 FROM link WHERE relation = ? AND target = ? LIMIT ?)", func(r []sqlValue) { n = intOf(r[0]) }, relation, target, limit)
	s.c.rows += int(n)
	return n, err
}

// HolderNumbers returns the numbers of the documents that refer to target, in order of creation, limit of them at most where
// that is not negative.
func (s *Snapshot) HolderNumbers(relation, target string, limit int) (numbers []int64, err error) {
	err = s.c.query("SELECT holder FROM link WHERE relation = ? AND target = ? ORDER BY holder LIMIT ?", func(r []sqlValue) error {
		numbers = append(numbers, intOf(r[0]))
		return nil
	}, relation, target, int64(limit))
	return numbers, err
}

// EachHolder calls fn with the number and the id of each document that refers to target, in order of
// creation. fn may read, and may call EachHolder.
func (s *Snapshot) EachHolder(relation, target string, fn func(number int64, id string) error) error {
	type holder struct {
		number int64
		id     string
	}
	const chunk = 256
	for after := int64(0); ; {
		var some []holder
		if err := s.c.query("SELECT d.number, d.id FROM link l CROSS JOIN document d ON d.number = l.holder WHERE l.relation = ? AND l.target = ? AND l.holder > ? ORDER BY l.holder LIMIT ?", func(r []sqlValue) error {
			some = append(some, holder{intOf(r[0]), textOf(r[1])})
			return nil
		}, relation, target, after, int64(chunk)); err != nil {
			return err
		}
		for _, h := range some {
			after = h.number
			if err := fn(h.number, h.id); err != nil {
				return err
			}
		}
		if len(some) < chunk {
			return nil
		}
	}
}

// EachOnPage calls fn with the documents that have the places of one of target's pages, in order, as EachListed does. It
// first calls begin with the page's number and how many pages there are, and ends with its error. Pages have
// size places and count from 1 on; 0 is the last one. A page behind the last is empty.
func (s *Snapshot) EachOnPage(p model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error {
	count, places, page := int64(0), int64(p.Size), p.Page
	if _, err := s.c.queryRow("SELECT count FROM paged WHERE relation = ? AND target = ?", func(r []sqlValue) { count = intOf(r[0]) }, p.Relation, p.Target); err != nil {
		return err
	}
	pages := max(1, (count+places-1)/places)
	if page == 0 {
		page = pages
	}
	if err := begin(page, pages); err != nil {
		return err
	}
	first := (min(page, pages+1) - 1) * places
	_, err := s.eachDocument(p.Size, fn, selectView(p.View)+fromHolders+
		"WHERE l.relation = ? AND l.target = ? AND l.ordinal >= ? AND l.ordinal < ? ORDER BY l.ordinal", p.Relation, p.Target, first, first+places)
	return err
}

// Targets calls fn with every document that others refer to by a relation, in order of id. to is
// the collection of these documents. fn may read and write.
func (tx *Tx) Targets(relation, to string, fn func(id string, body []byte) error) error {
	for after := ""; ; {
		var id string
		var body []byte
		found, err := tx.c.queryRow("SELECT target, (SELECT body FROM document WHERE collection = ? AND id = target) FROM link WHERE relation = ? AND target > ? ORDER BY target LIMIT 1",
			func(r []sqlValue) { id, body = textOf(r[0]), bytesOf(r[1]) }, to, relation, after)
		if err != nil || !found {
			return err
		}
		if body != nil {
			if err := fn(id, body); err != nil {
				return err
			}
		}
		after = id
	}
}

// PageLinks gives every link of a relation its place in the pages of its target, in order of the
// documents' creation: when each of them began to refer to the target is not known.
func (tx *Tx) PageLinks(relation string) error {
	if err := tx.c.exec("DELETE FROM paged WHERE relation = ?", relation); err != nil {
		return err
	}
	if err := tx.c.exec("INSERT INTO paged (relation, target, count) SELECT relation, target, count(*) FROM link WHERE relation = ? GROUP BY target", relation); err != nil {
		return err
	}
	return tx.c.exec(`UPDATE link SET ordinal = p.ordinal
		FROM (SELECT target, holder, row_number() OVER (PARTITION BY target ORDER BY holder) - 1 AS ordinal FROM link WHERE relation = ?1) p
		WHERE link.relation = ?1 AND link.target = p.target AND link.holder = p.holder`, relation)
}
