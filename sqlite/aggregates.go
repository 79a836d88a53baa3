package sqlite

import (
	"bytes"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// An entry or a total is what a rule keeps of the documents that refer to a target.

// AddEntry enters a document into the order that a rule keeps of the documents referring to target.
// sort is its sort key, holder is the document's number: of documents with one sort key the older comes first.
func (tx *Tx) AddEntry(rule, target string, sort []byte, holder int64) error {
	at, e := ruleTarget{rule, target}, ruleEntry{sort, holder}
	tx.pending.entries.add(at, e)
	tx.pending.lastEntries.add(at, e)
	return tx.pending.countAdded(tx.pending.entries.rows, len(target)+len(sort))
}

// RemoveEntry removes a document from a rule's order on target. It does nothing where the document
// has no such entry.
func (tx *Tx) RemoveEntry(rule, target string, sort []byte, holder int64) error {
	at, e := ruleTarget{rule, target}, ruleEntry{sort, holder}
	tx.pending.entries.remove(at, e)
	tx.pending.lastEntries.remove(at, e)
	return tx.pending.countAdded(tx.pending.entries.rows, len(target)+len(sort))
}

// IsAfterLast reports whether an entry is known to come after the last ones of a rule's order on target, limit of them. The order has it
// already.
func (tx *Tx) IsAfterLast(rule, target string, sort []byte, limit int) bool {
	entries, ok := tx.pending.lastEntries.get(ruleTarget{rule, target}, limit)
	return ok && !tx.pending.inMemory && len(entries) == limit && bytes.Compare(sort, entries[limit-1].sort) < 0
}

// FirstEntry returns the least sort key in a rule's order on target, or nil where the order is
// empty.
func (tx *Tx) FirstEntry(rule, target string) (sort []byte, err error) {
	return tx.pending.firstOrLastEntry(ruleTarget{rule, target}, false)
}

// LastEntry returns the greatest sort key in a rule's order on target, or nil where the order is
// empty.
func (tx *Tx) LastEntry(rule, target string) (sort []byte, err error) {
	return tx.pending.firstOrLastEntry(ruleTarget{rule, target}, true)
}

// The queries for entries.
const (
	lastEntriesSQL  = "SELECT sort, holder FROM entry WHERE rule = ? AND target = ? ORDER BY sort DESC, holder DESC LIMIT ? + 0"
	firstEntriesSQL = "SELECT sort, holder FROM entry WHERE rule = ? AND target = ? ORDER BY sort, holder LIMIT ? + 0"
)

// EachLast calls fn with the numbers of the last documents in a rule's order on target, the last one first, until limit
// documents were there. fn returns whether the document is there: one that is being created is not yet. EachLast returns
// fn's error.
func (tx *Tx) EachLast(rule, target string, limit int, fn func(number int64) (there bool, err error)) error {
	numbers, err := tx.pending.lastHolders(ruleTarget{rule, target}, limit+1)
	if err != nil {
		return err
	}
	return firstThere(numbers, limit, fn)
}

// EachNewest calls fn with the numbers of the newest documents that refer to target, the newest first, as EachLast does.
func (tx *Tx) EachNewest(relation, target string, limit int, fn func(number int64) (there bool, err error)) error {
	ends, err := tx.pending.newestHolders(Link{relation, target}, limit+1)
	if err != nil {
		return err
	}
	return firstThere(appendHolders(nil, ends), limit, fn)
}

// firstThere calls fn with the first of these numbers, until it has returned true limit times. One document at most is not there,
// which is being created.
func firstThere(numbers []int64, limit int, fn func(number int64) (there bool, err error)) error {
	for _, number := range numbers {
		if limit == 0 {
			return nil
		}
		there, err := fn(number)
		if err != nil {
			return err
		}
		if there {
			limit--
		}
	}
	return nil
}

// Total returns how many documents a rule adds up on target, and their exact sum; 0 and "" where
// there is none.
func (tx *Tx) Total(rule, target string) (count int64, sum string, err error) {
	if t := tx.pending.totals[ruleTarget{rule, target}]; t != nil {
		return t.count, t.sum, nil
	}
	if err := tx.pending.forgetKnown(); err != nil {
		return 0, "", err
	}
	t := &knownTotal{}
	err = tx.pending.query(totalTable, totalSQL, func(r driver.Row) error {
		t.count, t.sum = r.Int(0), r.Text(1)
		return nil
	}, rule, target)
	if err == nil {
		tx.pending.totals[ruleTarget{rule, target}] = t
	}
	return t.count, t.sum, err
}

// totalSQL reads a total.
const totalSQL = "SELECT count, sum FROM total WHERE rule = ? AND target = ?"

// SetTotal records how many documents a rule adds up on target, and their sum. A count of 0 removes
// the record.
func (tx *Tx) SetTotal(rule, target string, count int64, sum string) error {
	if err := tx.pending.forgetKnown(); err != nil {
		return err
	}
	at := ruleTarget{rule, target}
	if t := tx.pending.totals[at]; t == nil || !t.changed {
		tx.pending.changedTotals = append(tx.pending.changedTotals, at)
	}
	tx.pending.totals[at] = &knownTotal{total{count, sum}, true}
	return nil
}

// ForgetEntries removes all orders and totals of a rule.
func (tx *Tx) ForgetEntries(rule string) error {
	if err := tx.c.Exec("DELETE FROM entry WHERE rule = ?", rule); err != nil {
		return err
	}
	return tx.c.Exec("DELETE FROM total WHERE rule = ?", rule)
}
