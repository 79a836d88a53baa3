package sqlite

import (
	"slices"
)

// AddLink records that holder refers to target; once, however often it does. Where the relation
// has pages, holder gets the next place in target's.
func (tx *Tx) AddLink(relation, target string, holder int64, paged bool) error {
	if !paged {
		return tx.c.exec("INSERT INTO link (relation, target, holder) VALUES (?, ?, ?)", relation, target, holder)
	}
	if err := tx.c.exec("INSERT INTO paged (relation, target, count) VALUES (?, ?, 1) ON CONFLICT (relation, target) DO UPDATE SET count = count + 1", relation, target); err != nil {
		return err
	}
	return tx.c.exec("INSERT INTO link (relation, target, holder, ordinal) SELECT relation, target, ?, count - 1 FROM paged WHERE relation = ? AND target = ?", holder, relation, target)
}

// AddLinks is AddLink of several, without pages.
func (tx *Tx) AddLinks(links []Link, holder int64) error {
	for some := range slices.Chunk(links, len(linkRows)) {
		tx.args = tx.args[:0]
		for _, l := range some {
			tx.args = append(tx.args, l.Relation, l.Target, holder)
		}
		if err := tx.c.exec(linkRows[len(some)-1], tx.args...); err != nil {
			return err
		}
	}
	return nil
}

// RemoveLink forgets that holder refers to target.
func (tx *Tx) RemoveLink(relation, target string, holder int64) error {
	return tx.c.exec("DELETE FROM link WHERE relation = ? AND target = ? AND holder = ?", relation, target, holder)
}

// RemoveLinks forgets every link of the relation, and its pages.
func (tx *Tx) RemoveLinks(relation string) error {
	if err := tx.c.exec("DELETE FROM paged WHERE relation = ?", relation); err != nil {
		return err
	}
	return tx.c.exec("DELETE FROM link WHERE relation = ?", relation)
}

// HasHolders tells whether any document refers to target.
func (tx *Tx) HasHolders(relation, target string) (bool, error) {
	return tx.c.first("SELECT 1 FROM link WHERE relation = ? AND target = ? LIMIT 1", func([]sqlValue) {}, relation, target)
}

// Holders appends the numbers of the documents that refer to target, in order of arrival; at
// most limit of them where limit is not negative.
func (tx *Tx) Holders(dst []int64, relation, target string, limit int) ([]int64, error) {
	err := tx.c.query("SELECT holder FROM link WHERE relation = ? AND target = ? ORDER BY holder LIMIT ?", func(r []sqlValue) error {
		dst = append(dst, intOf(r[0]))
		return nil
	}, relation, target, int64(limit))
	return dst, err
}

// HolderIDs returns the ids of the first limit documents that refer to target.
func (tx *Tx) HolderIDs(relation, target string, limit int) (ids []string, err error) {
	err = tx.c.query("SELECT d.id FROM link l JOIN document d ON d.number = l.holder WHERE l.relation = ? AND l.target = ? ORDER BY l.holder LIMIT ?",
		func(r []sqlValue) error {
			ids = append(ids, textOf(r[0]))
			return nil
		}, relation, target, int64(limit))
	return ids, err
}

// HasLink tells whether holder refers to target.
func (tx *Tx) HasLink(relation, target string, holder int64) (bool, error) {
	return tx.c.first("SELECT 1 FROM link WHERE relation = ? AND target = ? AND holder = ?", func([]sqlValue) {}, relation, target, holder)
}

// DeepHolders tells whether a document that refers to target nests deeper than SQLite's JSON functions take.
func (tx *Tx) DeepHolders(relation, target string) (bool, error) {
	return tx.c.first("SELECT 1 FROM link l CROSS JOIN document d ON d.number = l.holder WHERE l.relation = ? AND l.target = ? AND octet_length(d.body) >= ? AND NOT json_valid(d.body) LIMIT 1",
		func([]sqlValue) {}, relation, target, int64(MaxShallow))
}

// CountHolders returns how many documents refer to target; at most limit where that is not negative.
func (tx *Tx) CountHolders(relation, target string, limit int64) (n int64, err error) {
	return tx.Snapshot().CountHolders(relation, target, limit)
}

// Link says that a document refers to target.
type Link struct{ Relation, Target string }

// MaxShallow is how long JSON text must be, in bytes, to nest deeper than the 1,000 levels that SQLite's
// JSON functions take (SQLite documentation, JSON Functions And Operators).
const MaxShallow = 2000
