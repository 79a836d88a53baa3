package sqlite

import (
	"bytes"
	"errors"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// Aggregates are what rules keep in a transaction of the documents that refer to a target: entries in an order, or a total.
type Aggregates struct{ p *pending }

// AddEntry enters a document into the order that a rule keeps of the documents referring to target.
// sort is its sort key, holder is the document's number: of documents with one sort key the older comes first.
func (a *Aggregates) AddEntry(rule, target string, sort []byte, holder int64) error {
	at, e := ruleTarget{rule, target}, ruleEntry{sort, holder}
	if err := a.p.giveNumber(rule); err != nil {
		return err
	}
	a.p.entries.add(at, e)
	a.p.lastEntries.add(at, e)
	return a.p.countAdded(a.p.entries.rows, len(target)+len(sort))
}

// RemoveEntry removes a document from a rule's order on target. It does nothing where the document
// has no such entry.
func (a *Aggregates) RemoveEntry(rule, target string, sort []byte, holder int64) error {
	at, e := ruleTarget{rule, target}, ruleEntry{sort, holder}
	a.p.entries.remove(at, e)
	a.p.lastEntries.remove(at, e)
	return a.p.countAdded(a.p.entries.rows, len(target)+len(sort))
}

// IsAfterLast reports whether an entry is known to come after the last ones of a rule's order on target, limit of them. The order has it
// already.
func (a *Aggregates) IsAfterLast(rule, target string, sort []byte, limit int) bool {
	entries, ok := a.p.lastEntries.get(ruleTarget{rule, target}, limit)
	return ok && !a.p.inMemory && len(entries) == limit && bytes.Compare(sort, entries[limit-1].sort) < 0
}

// FirstEntry returns the least sort key in a rule's order on target, or nil where the order is
// empty.
func (a *Aggregates) FirstEntry(rule, target string) (sort []byte, err error) {
	return a.p.firstOrLastEntry(ruleTarget{rule, target}, false)
}

// LastEntry returns the greatest sort key in a rule's order on target, or nil where the order is
// empty.
func (a *Aggregates) LastEntry(rule, target string) (sort []byte, err error) {
	return a.p.firstOrLastEntry(ruleTarget{rule, target}, true)
}

// The queries for entries.
const (
	lastEntriesSQL  = "SELECT sort, holder FROM entry WHERE rule = (SELECT id FROM name WHERE text = ?) AND target = ? ORDER BY sort DESC, holder DESC LIMIT ? + 0"
	firstEntriesSQL = "SELECT sort, holder FROM entry WHERE rule = (SELECT id FROM name WHERE text = ?) AND target = ? ORDER BY sort, holder LIMIT ? + 0"
)

// EachLast calls fn with the numbers of the last documents in a rule's order on target, the last one first, until limit
// documents were there. fn returns whether the document is there: one that is being created is not yet. EachLast returns
// fn's error.
func (a *Aggregates) EachLast(rule, target string, limit int, fn func(number int64) (there bool, err error)) error {
	numbers, err := a.p.lastHolders(ruleTarget{rule, target}, limit+1)
	if err != nil {
		return err
	}
	return firstThere(numbers, limit, fn)
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
func (a *Aggregates) Total(rule, target string) (count int64, sum string, err error) {
	if t := a.p.totals[ruleTarget{rule, target}]; t != nil {
		return t.count, t.sum, nil
	}
	if err := a.p.forgetKnown(); err != nil {
		return 0, "", err
	}
	t := &knownTotal{}
	err = a.p.query(totalTable, totalSQL, func(r driver.Row) error {
		t.count, t.sum = r.Int(0), r.Text(1)
		return nil
	}, rule, target)
	if err == nil {
		a.p.totals[ruleTarget{rule, target}] = t
	}
	return t.count, t.sum, err
}

// totalSQL reads a total.
const totalSQL = "SELECT count, sum FROM total WHERE rule = (SELECT id FROM name WHERE text = ?) AND target = ?"

// SetTotal records how many documents a rule adds up on target, and their sum. A count of 0 removes
// the record.
func (a *Aggregates) SetTotal(rule, target string, count int64, sum string) error {
	if err := errors.Join(a.p.forgetKnown(), a.p.giveNumber(rule)); err != nil {
		return err
	}
	at := ruleTarget{rule, target}
	if t := a.p.totals[at]; t == nil || !t.changed {
		a.p.changedTotals = append(a.p.changedTotals, at)
	}
	a.p.totals[at] = &knownTotal{total{count, sum}, true}
	return nil
}

// Forget removes all orders and totals of a rule.
func (a *Aggregates) Forget(rule string) error {
	if err := a.p.c.Exec("DELETE FROM entry WHERE rule = (SELECT id FROM name WHERE text = ?)", rule); err != nil {
		return err
	}
	return a.p.c.Exec("DELETE FROM total WHERE rule = (SELECT id FROM name WHERE text = ?)", rule)
}
