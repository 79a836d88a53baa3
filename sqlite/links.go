package sqlite

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Links are the links of a transaction: which documents refer to which.
type Links struct {
	p     *pending
	event int64 // the event that makes the writes
}

// SetEvent says which event makes the following writes. Links know by it since when they are there.
func (ls *Links) SetEvent(seq uint64) { ls.event = int64(seq) }

// Add records that holder refers to target. It is called once for each pair of the two, however often the
// document names the target. If the relation has pages, holder gets the next place in target's pages.
func (ls *Links) Add(relation, target string, holder int64, paged bool) error {
	l := Link{relation, target}
	if !paged || ls.p.inMemory { // nothing of a rehearsal reads places
		return ls.p.addLink(l, linkEnd{holder, -1, ls.event})
	}
	if err := ls.p.giveNumber(relation); err != nil {
		return err
	}
	count := ls.p.paged[l]
	if count == nil {
		var err error
		if count, err = ls.p.readPaged(l); err != nil {
			return err
		}
	}
	if count.n++; !count.changed {
		count.changed = true
		ls.p.changedPaged = append(ls.p.changedPaged, l)
	}
	return ls.p.addLink(l, linkEnd{holder, count.n - 1, ls.event})
}

// AddAll records several links of a holder, of relations without pages.
func (ls *Links) AddAll(links []Link, holder int64) error {
	for _, l := range links {
		if err := ls.p.addLink(l, linkEnd{holder, -1, ls.event}); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes the link from holder to target, which stays known as one that ended.
func (ls *Links) Remove(relation, target string, holder int64) error {
	l, end, p := Link{relation, target}, linkEnd{holder: holder, seq: ls.event}, ls.p
	delete(p.hasHolders, l)
	if made, there, known := p.links.known(l, end); known && there && !p.inMemory {
		p.ended = append(p.ended, endedLink{l, made, ls.event})
	}
	p.links.remove(l, end)
	p.lastLinks.remove(l, end)
	return p.countAdded(p.links.rows+len(p.ended), len(target))
}

// HasHolders reports whether any document refers to target.
func (ls *Links) HasHolders(relation, target string) (bool, error) {
	l := Link{relation, target}
	if held, known := ls.p.hasHolders[l]; known {
		return held, nil
	}
	n, err := ls.CountHolders(relation, target, 1)
	if err == nil {
		ls.p.forgetHolders(1)
		ls.p.hasHolders[l] = n > 0
	}
	return n > 0, err
}

// Holders appends the numbers of the documents that refer to target to dst, in order of creation,
// limit of them at most where limit is not negative.
func (ls *Links) Holders(dst []int64, relation, target string, limit int) ([]int64, error) {
	most := limit
	if limit < 0 && ls.p.bounds.MaxDocuments > 0 {
		most = ls.p.bounds.MaxDocuments + 1
	}
	ends, err := ls.p.holderEnds(Link{relation, target}, most, false)
	if err != nil {
		return nil, err
	}
	if limit < 0 && ls.p.bounds.tooMany(len(ends)) {
		return nil, ErrRehearsalEnds
	}
	return appendHolders(dst, ends), nil
}

// appendHolders appends the numbers of documents to dst.
func appendHolders(dst []int64, ends []linkEnd) []int64 {
	dst = slices.Grow(dst, len(ends))
	for _, e := range ends {
		dst = append(dst, e.holder)
	}
	return dst
}

// Has reports whether holder refers to target.
func (ls *Links) Has(relation, target string, holder int64) (bool, error) {
	if _, there, known := ls.p.links.known(Link{relation, target}, linkEnd{holder: holder}); known {
		return there, nil
	}
	has := false
	err := ls.p.query(linkTable, hasLinkSQL, func(driver.Row) error {
		has = true
		return driver.ErrStop
	}, relation, target, holder)
	return has, err
}

// EachNewest calls fn with the numbers of the newest documents that refer to target, the newest first, as EachLast does.
func (ls *Links) EachNewest(relation, target string, limit int, fn func(number int64) (there bool, err error)) error {
	ends, err := ls.p.newestHolders(Link{relation, target}, limit+1)
	if err != nil {
		return err
	}
	return firstThere(appendHolders(nil, ends), limit, fn)
}

// heldTargetsSQL returns which of keysPerLookup ids some document refers to.
var heldTargetsSQL = "SELECT column1 FROM (VALUES (?)" + strings.Repeat(", (?)", keysPerLookup-1) + ") WHERE EXISTS (SELECT 1 FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = column1)"

// FindHolders finds out for several targets at a time whether any document refers to them by a relation, so that HasHolders need not
// look for each.
func (ls *Links) FindHolders(relation string, targets []string) error {
	p := ls.p
	targets = slices.DeleteFunc(slices.Clone(targets), func(id string) bool {
		l := Link{relation, id}
		_, known := p.hasHolders[l]
		return known || p.links.changed[l] != nil
	})
	if len(targets) < keysPerLookup/4 {
		return nil
	}
	p.forgetHolders(len(targets))
	args := make([]driver.Value, 0, keysPerLookup+1)
	for some := range slices.Chunk(targets, keysPerLookup) {
		args = args[:0]
		for i := range keysPerLookup {
			args = append(args, some[min(i, len(some)-1)])
		}
		for _, id := range some {
			p.hasHolders[Link{relation, id}] = false
		}
		if err := p.query(linkTable, heldTargetsSQL, func(r driver.Row) error {
			p.hasHolders[Link{relation, r.Text(0)}] = true
			return nil
		}, append(args, relation)...); err != nil {
			return err
		}
	}
	return nil
}

// UnfitHolders reports whether a document that refers to target does not suit SQLite's JSON functions. Its embedded
// view is nested too deeply, has no room for a value already, or would pass limit, in bytes, if it grew by so many.
func (ls *Links) UnfitHolders(relation, target string, growth, limit int) (bool, error) {
	if ls.p.bounds.MaxDocuments > 0 { // it reads them all
		if n, err := ls.CountHolders(relation, target, int64(ls.p.bounds.MaxDocuments)+1); err != nil || ls.p.bounds.tooMany(int(n)) {
			return false, cmp.Or(err, ErrRehearsalEnds)
		}
	}
	return ls.p.c.QueryRow(`SELECT 1 FROM link l CROSS JOIN document d ON d.number = l.holder WHERE l.relation = (SELECT id FROM name WHERE text = ?) AND l.target = ?
		AND (octet_length(d.body) >= ? AND NOT json_valid(d.body) OR octet_length(d.body) > ? OR d.omitted IS NOT NULL) LIMIT 1`,
		func(driver.Row) {}, relation, target, int64(MaxShallow), int64(limit-growth))
}

// CountHolders returns how many documents refer to target. It stops counting at limit where that is
// not negative.
func (ls *Links) CountHolders(relation, target string, limit int64) (n int64, err error) {
	c, within := ls.p.links.of(Link{relation, target}), limit
	if limit >= 0 {
		within += int64(len(c.removed))
	}
	err = ls.p.query(linkTable, countHoldersSQL, func(r driver.Row) error {
		n = r.Int(0)
		return nil
	}, relation, target, within)
	ls.p.c.Rows += int(n)
	if n += int64(len(c.added) - len(c.removed)); limit >= 0 {
		n = min(n, limit)
	}
	return n, err
}

// Queries for links.
const (
	holdersSQL         = "SELECT holder FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ? ORDER BY holder LIMIT ? + 0"
	holdersFromLastSQL = "SELECT holder FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ? ORDER BY holder DESC LIMIT ? + 0"
	countHoldersSQL    = "SELECT count(*) FROM (SELECT 1 FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ? LIMIT ? + 0)"
	hasLinkSQL         = "SELECT 1 FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ? AND holder = ?"
)

// Link says that a document refers to the document with id Target, by a relation.
type Link struct{ Relation, Target string }

// MaxShallow is the length in bytes from which JSON text can be nested deeper than the 1,000 levels
// that SQLite's JSON functions take (SQLite documentation, JSON Functions And Operators).
const MaxShallow = 2000

// Holders returns documents that refer to target by a relation and have numbers greater than after, in order of
// creation. It stops at limit, and earlier if they are large. more reports whether others follow.
func (s *Snapshot) Holders(relation, target string, after int64, limit int, view fanfold.View) (docs []*fanfold.Document, more bool, err error) {
	return s.documents(limit, pageBytes, selectHolders(view), relation, target, after)
}

// EachReferring does what Holders does, and calls fn with each document as EachListed does.
func (s *Snapshot) EachReferring(relation, target string, after int64, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error) {
	return s.eachDocument(limit, fn, selectHolders(view), relation, target, after)
}

// selectHolders returns the query for documents that refer to a target, after a number.
func selectHolders(view fanfold.View) string {
	return selectView(view) + fromHolders + "WHERE l.relation = (SELECT id FROM name WHERE text = ?) AND l.target = ? AND l.holder > ? ORDER BY l.holder"
}

// HolderMeta returns the documents that Holders returns, as written and without their bodies, limit of them at most.
func (s *Snapshot) HolderMeta(relation, target string, limit int) (docs []*fanfold.Document, err error) {
	err = s.c.Query("SELECT "+docColumns+"NULL, NULL"+fromHolders+"WHERE l.relation = (SELECT id FROM name WHERE text = ?) AND l.target = ? ORDER BY l.holder LIMIT ? + 0", func(r driver.Row) error {
		docs = append(docs, scanDocument(r))
		return nil
	}, relation, target, int64(limit))
	return docs, err
}

// CountHolders returns how many documents refer to target. It stops counting at limit where that is
// not negative.
func (s *Snapshot) CountHolders(relation, target string, limit int64) (n int64, err error) {
	_, err = s.c.QueryRow(countHoldersSQL, func(r driver.Row) { n = r.Int(0) }, relation, target, limit)
	s.c.Rows += int(n)
	return n, err
}

// Queries for the target to which most documents refer. They go along the table's own order, so that nothing is sorted, and end before
// a target. max has its row's target, the first of those that have as many.
const (
	linksFrom        = " FROM link WHERE relation = (SELECT id FROM name WHERE text = ?)"
	targetAfterSQL   = "SELECT target" + linksFrom + " ORDER BY target LIMIT 1 OFFSET ? + 0"
	largestSQL       = "SELECT target, max(n), sum(n) FROM (SELECT target, count(*) AS n" + linksFrom + " GROUP BY target)"
	largestBeforeSQL = "SELECT target, max(n), sum(n) FROM (SELECT target, count(*) AS n" + linksFrom + " AND target < ? GROUP BY target)"
)

// LargestTarget returns the target of a relation to which most documents refer, how many these are, and how many links were looked at, of the most
// that may be. If there are more links, partial is true: the first targets by id were looked at, and the last of them in part.
func LargestTarget(s *Snapshot, relation string, most int64) (target string, holders, read int64, partial bool, err error) {
	end := ""
	if partial, err = s.c.QueryRow(targetAfterSQL, func(r driver.Row) { end = r.Text(0) }, relation, most); err != nil {
		return "", 0, 0, false, err
	}
	query, args := largestSQL, []driver.Value{relation}
	if partial {
		query, args = largestBeforeSQL, append(args, end)
	}
	if _, err = s.c.QueryRow(query, func(r driver.Row) { target, holders, read = r.Text(0), r.Int(1), r.Int(2) }, args...); err != nil || !partial {
		return target, holders, read, partial, err
	}
	ofEnd, err := s.CountHolders(relation, end, most)
	if ofEnd > holders {
		target, holders = end, ofEnd
	}
	return target, holders, most, true, err
}

// HolderNumbers returns the numbers of the documents that refer to target, in order of creation, limit of them at most where
// that is not negative.
func (s *Scanner) HolderNumbers(relation, target string, limit int) (numbers []int64, err error) {
	err = s.c.Query("SELECT holder FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ? ORDER BY holder LIMIT ? + 0", func(r driver.Row) error {
		numbers = append(numbers, r.Int(0))
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
		if err := s.c.Query("SELECT d.number, d.id FROM link l CROSS JOIN document d ON d.number = l.holder WHERE l.relation = (SELECT id FROM name WHERE text = ?) AND l.target = ? AND l.holder > ? ORDER BY l.holder LIMIT ? + 0", func(r driver.Row) error {
			some = append(some, holder{r.Int(0), r.Text(1)})
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
// first calls begin with the page's number and how many pages there are, and ends with its error. Pages have size places
// and count from 1 on; 0 is the last one. A page after the last is empty.
func (s *Snapshot) EachOnPage(p model.PageQuery, begin func(page, pages int64) error, fn func(doc *fanfold.Document) (bool, error)) error {
	count, places, page := int64(0), int64(p.Size), p.Page
	if _, err := s.c.QueryRow("SELECT count FROM paged WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ?", func(r driver.Row) { count = r.Int(0) }, p.Relation, p.Target); err != nil {
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
		"WHERE l.relation = (SELECT id FROM name WHERE text = ?) AND l.target = ? AND l.ordinal >= ? AND l.ordinal < ? ORDER BY l.ordinal", p.Relation, p.Target, first, first+places)
	return err
}

// Targets calls fn with every document that others refer to by a relation, in order of id. to is
// the collection of these documents. fn may read and write.
func (ls *Links) Targets(relation, to string, fn func(id string, body []byte) error) error {
	for after := ""; ; {
		var id string
		var body []byte
		found, err := ls.p.c.QueryRow("SELECT target, (SELECT body FROM document WHERE collection = ? AND id = target) FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) AND target > ? ORDER BY target LIMIT 1",
			func(r driver.Row) { id, body = r.Text(0), r.Bytes(1) }, to, relation, after)
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

// GivePlaces gives every link of a relation its place in the pages of its target, in order of the documents' creation.
// It is not known when each of them began to refer to the target.
func (ls *Links) GivePlaces(relation string) error {
	if err := ls.p.c.Exec("DELETE FROM paged WHERE relation = (SELECT id FROM name WHERE text = ?)", relation); err != nil {
		return err
	}
	if err := ls.p.c.Exec("INSERT INTO paged (relation, target, count) SELECT relation, target, count(*) FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) GROUP BY target", relation); err != nil {
		return err
	}
	return ls.p.c.Exec(`UPDATE link SET ordinal = p.ordinal
		FROM (SELECT target, holder, row_number() OVER (PARTITION BY target ORDER BY holder) - 1 AS ordinal FROM link WHERE relation = (SELECT id FROM name WHERE text = ?1)) p
		WHERE link.relation = (SELECT id FROM name WHERE text = ?1) AND link.target = p.target AND link.holder = p.holder`, relation)
}
