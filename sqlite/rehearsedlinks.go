package sqlite

import (
	"bytes"
	"cmp"
	"slices"
)

// linkOverlay holds what a rehearsal changed of the links to one target.
type linkOverlay struct {
	added   []int64 // in order
	removed map[int64]bool
}

// link returns what was changed of the links to a target, never nil.
func (o *overlay) link(relation, target string) *linkOverlay {
	if l := o.links[Link{relation, target}]; l != nil {
		return l
	}
	return &linkOverlay{}
}

// addLink adds a link.
func (o *overlay) addLink(relation, target string, holder int64) {
	l := o.link(relation, target)
	o.links[Link{relation, target}] = l
	if l.removed[holder] {
		delete(l.removed, holder)
		return
	}
	if at, found := slices.BinarySearch(l.added, holder); !found {
		l.added = slices.Insert(l.added, at, holder)
	}
}

// removeLink removes a link.
func (o *overlay) removeLink(relation, target string, holder int64) {
	l := o.link(relation, target)
	o.links[Link{relation, target}] = l
	if at, found := slices.BinarySearch(l.added, holder); found {
		l.added = slices.Delete(l.added, at, at+1)
		return
	}
	if l.removed == nil {
		l.removed = map[int64]bool{}
	}
	l.removed[holder] = true
}

// hasLink reports whether holder refers to target.
func (o *overlay) hasLink(relation, target string, holder int64) (bool, error) {
	l := o.link(relation, target)
	if _, found := slices.BinarySearch(l.added, holder); found || l.removed[holder] {
		return found, nil
	}
	return o.s.c.queryRow(hasLinkSQL, func([]sqlValue) {}, relation, target, holder)
}

// countHolders counts the documents that refer to target, up to limit where that is not negative.
func (o *overlay) countHolders(relation, target string, limit int64) (int64, error) {
	l := o.link(relation, target)
	within := limit
	if limit >= 0 {
		within += int64(len(l.removed))
	}
	n, err := o.s.CountHolders(relation, target, within)
	if n += int64(len(l.added) - len(l.removed)); limit >= 0 {
		n = min(n, limit)
	}
	return n, err
}

// holders appends the numbers of documents that refer to target to dst, in order: limit of them at most, where that is
// not negative, and otherwise all that may be changed.
func (o *overlay) holders(dst []int64, relation, target string, limit int) ([]int64, error) {
	l := o.link(relation, target)
	most := limit
	if limit < 0 && o.bounds.MaxDocuments > 0 {
		most = o.bounds.MaxDocuments + 1
	}
	numbers, err := o.listed(l, most, holdersSQL, relation, target)
	if err != nil {
		return nil, err
	}
	numbers = append(numbers, l.added...)
	slices.Sort(numbers)
	if limit < 0 && o.tooMany(len(numbers)) {
		return nil, ErrRehearsalEnds
	}
	if limit >= 0 {
		numbers = numbers[:min(limit, len(numbers))]
	}
	return append(dst, numbers...), nil
}

// listed returns the holders that a query finds in the file and that are still there, most of them at most where that is
// not negative.
func (o *overlay) listed(l *linkOverlay, most int, query, relation, target string) (numbers []int64, err error) {
	within := most
	if most >= 0 {
		within += len(l.removed)
	}
	err = o.s.c.query(query, func(r []sqlValue) error {
		if n := intOf(r[0]); !l.removed[n] {
			numbers = append(numbers, n)
		}
		return nil
	}, relation, target, int64(within))
	return numbers, err
}

// holderIDs returns the ids of the first documents that refer to target, limit of them at most.
func (o *overlay) holderIDs(relation, target string, limit int) (ids []string, err error) {
	numbers, err := o.holders(nil, relation, target, limit)
	if err != nil {
		return nil, err
	}
	for _, number := range numbers {
		r, err := o.byNumber(number)
		if err != nil {
			return nil, err
		}
		if r != nil {
			ids = append(ids, r.Key.ID)
		}
	}
	return ids, nil
}

// eachNewest calls fn with the numbers of the newest documents that refer to target, as Tx.EachNewest does.
func (o *overlay) eachNewest(relation, target string, limit int, fn func(number int64) (there bool, err error)) error {
	l := o.link(relation, target)
	numbers, err := o.listed(l, limit, newestHoldersSQL, relation, target)
	if err != nil {
		return err
	}
	numbers = append(numbers, l.added...)
	slices.SortFunc(numbers, func(a, b int64) int { return cmp.Compare(b, a) })
	return firstThere(numbers, limit, fn)
}

// bodyOf returns the embedded view of a document, nil where there is none.
func (o *overlay) bodyOf(number int64) ([]byte, error) {
	r, err := o.byNumber(number)
	if r == nil {
		return nil, err
	}
	return r.Body, err
}

// entryOverlay holds what a rehearsal changed of a rule's order on one target.
type entryOverlay struct{ added, removed []ruleEntry }

// ruleEntry holds a place in a rule's order.
type ruleEntry struct {
	sort   []byte
	holder int64
}

// compare orders entries as the file does.
func (e ruleEntry) compare(o ruleEntry) int {
	return cmp.Or(bytes.Compare(e.sort, o.sort), cmp.Compare(e.holder, o.holder))
}

// entry returns what was changed of a rule's order on a target, never nil.
func (o *overlay) entry(rule, target string) *entryOverlay {
	if e := o.entries[ruleTarget{rule, target}]; e != nil {
		return e
	}
	return &entryOverlay{}
}

// addEntry enters a document into a rule's order.
func (o *overlay) addEntry(rule, target string, added ruleEntry) {
	e := o.entry(rule, target)
	o.entries[ruleTarget{rule, target}] = e
	e.added = append(e.added, added)
}

// removeEntry removes a document from a rule's order.
func (o *overlay) removeEntry(rule, target string, gone ruleEntry) {
	e := o.entry(rule, target)
	o.entries[ruleTarget{rule, target}] = e
	same := func(x ruleEntry) bool { return x.compare(gone) == 0 }
	if at := slices.IndexFunc(e.added, same); at >= 0 {
		e.added = slices.Delete(e.added, at, at+1)
		return
	}
	e.removed = append(e.removed, gone)
}

// lastEntries returns the last entries of a rule's order on a target, the last one first; with first, the first ones
// instead. It returns limit of them at most.
func (o *overlay) lastEntries(rule, target string, limit int, first bool) (all []ruleEntry, err error) {
	e, query := o.entry(rule, target), lastEntriesSQL
	if first {
		query = firstEntriesSQL
	}
	err = o.s.c.query(query, func(r []sqlValue) error {
		found := ruleEntry{blobOf(r[0]), intOf(r[1])}
		if !slices.ContainsFunc(e.removed, func(x ruleEntry) bool { return x.compare(found) == 0 }) {
			all = append(all, found)
		}
		return nil
	}, rule, target, int64(limit+len(e.removed)))
	all = append(all, e.added...)
	slices.SortFunc(all, func(a, b ruleEntry) int {
		if first {
			return a.compare(b)
		}
		return b.compare(a)
	})
	return all[:min(limit, len(all))], err
}

// extreme returns the first or the last sort key in a rule's order on a target, nil where the order is empty.
func (o *overlay) extreme(rule, target string, first bool) ([]byte, error) {
	all, err := o.lastEntries(rule, target, 1, first)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0].sort, nil
}

// eachLast calls fn with the numbers of the last documents in a rule's order on target, as Tx.EachLast does.
func (o *overlay) eachLast(rule, target string, limit int, fn func(number int64) (there bool, err error)) error {
	all, err := o.lastEntries(rule, target, limit, false)
	if err != nil {
		return err
	}
	numbers := make([]int64, len(all))
	for i, e := range all {
		numbers[i] = e.holder
	}
	return firstThere(numbers, limit, fn)
}

// The queries for entries.
const (
	lastEntriesSQL  = "SELECT sort, holder FROM entry WHERE rule = ? AND target = ? ORDER BY sort DESC, holder DESC LIMIT ?"
	firstEntriesSQL = "SELECT sort, holder FROM entry WHERE rule = ? AND target = ? ORDER BY sort, holder LIMIT ?"
)

// keptOverlay holds what a rehearsal changed of the values of a rule that stay on the holders of one target.
type keptOverlay struct {
	values    map[int64][]byte // nil for one that was dropped
	forgotten bool             // those in the file are dropped
}

// setKept sets the value that stays on a holder, nil for none.
func (o *overlay) setKept(rule, target string, holder int64, value []byte) {
	k := o.kept[ruleTarget{rule, target}]
	if k == nil {
		k = &keptOverlay{values: map[int64][]byte{}}
		o.kept[ruleTarget{rule, target}] = k
	}
	k.values[holder] = value
}

// keepOnHolders sets the value that stays on every document that refers to target.
func (o *overlay) keepOnHolders(rule, relation, target string, value []byte) error {
	numbers, err := o.holders(nil, relation, target, -1)
	for _, number := range numbers {
		o.setKept(rule, target, number, value)
	}
	return err
}

// forgetKept drops the values that stay on holders of a target: on all of them where holder is 0.
func (o *overlay) forgetKept(rule, target string, holder int64) {
	if holder == 0 {
		o.kept[ruleTarget{rule, target}] = &keptOverlay{values: map[int64][]byte{}, forgotten: true}
		return
	}
	o.setKept(rule, target, holder, nil)
}

// keptValue returns the value that stayed on a document, nil where none did.
func (o *overlay) keptValue(rule, target string, holder int64) ([]byte, error) {
	if k := o.kept[ruleTarget{rule, target}]; k != nil {
		if value, known := k.values[holder]; known || k.forgotten {
			return value, nil
		}
	}
	return o.s.Kept(rule, target, holder)
}
