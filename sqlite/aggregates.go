package sqlite

// An entry or a total is what a rule keeps of the documents that refer to a target.

// AddEntry enters a document into the order that a rule keeps of the documents referring to target.
// sort is its sort key, holder is the document's number: of documents with one sort key the older comes first.
func (tx *Tx) AddEntry(rule, target string, sort []byte, holder int64) error {
	if tx.over != nil {
		tx.over.addEntry(rule, target, ruleEntry{sort, holder})
		return nil
	}
	tx.unwritten.entries = append(tx.unwritten.entries, entryRow{ruleTarget{rule, target}, ruleEntry{sort, holder}})
	return tx.keepBack(len(tx.unwritten.entries), len(target)+len(sort))
}

// RemoveEntry removes a document from a rule's order on target. It does nothing where the document
// has no such entry.
func (tx *Tx) RemoveEntry(rule, target string, sort []byte, holder int64) error {
	if tx.over != nil {
		tx.over.removeEntry(rule, target, ruleEntry{sort, holder})
		return nil
	}
	return tx.c.exec("DELETE FROM entry WHERE rule = ? AND target = ? AND sort = ? AND holder = ?", rule, target, sort, holder)
}

// FirstEntry returns the least sort key in a rule's order on target, or nil where the order is
// empty.
func (tx *Tx) FirstEntry(rule, target string) (sort []byte, err error) {
	if tx.over != nil {
		return tx.over.extreme(rule, target, true)
	}
	_, err = tx.c.queryRow("SELECT sort FROM entry WHERE rule = ? AND target = ? ORDER BY sort LIMIT 1", func(r []sqlValue) { sort = blobOf(r[0]) }, rule, target)
	return sort, err
}

// LastEntry returns the greatest sort key in a rule's order on target, or nil where the order is
// empty.
func (tx *Tx) LastEntry(rule, target string) (sort []byte, err error) {
	if tx.over != nil {
		return tx.over.extreme(rule, target, false)
	}
	_, err = tx.c.queryRow("SELECT sort FROM entry WHERE rule = ? AND target = ? ORDER BY sort DESC LIMIT 1", func(r []sqlValue) { sort = blobOf(r[0]) }, rule, target)
	return sort, err
}

// EachLast calls fn with the numbers of the last documents in a rule's order on target, the last one first, until it has
// returned true limit times: it returns whether the document is there, for one that is being created is not yet. EachLast
// returns fn's error.
func (tx *Tx) EachLast(rule, target string, limit int, fn func(number int64) (there bool, err error)) error {
	if tx.over != nil {
		return tx.over.eachLast(rule, target, limit, fn)
	}
	return tx.eachOf(fn, "SELECT holder FROM entry WHERE rule = ? AND target = ? ORDER BY sort DESC, holder DESC LIMIT ?", rule, target, limit)
}

// EachNewest calls fn with the numbers of the newest documents that refer to target, the newest first, as EachLast does.
func (tx *Tx) EachNewest(relation, target string, limit int, fn func(number int64) (there bool, err error)) error {
	if tx.over != nil {
		return tx.over.eachNewest(relation, target, limit, fn)
	}
	return tx.eachOf(fn, newestHoldersSQL, relation, target, limit)
}

// eachOf calls fn with the first numbers that a query finds, until it has returned true limit times. One document at most is not
// there, which is being created.
func (tx *Tx) eachOf(fn func(number int64) (there bool, err error), query, of, target string, limit int) error {
	numbers := make([]int64, 0, limit+1)
	if err := tx.c.query(query, func(r []sqlValue) error { numbers = append(numbers, intOf(r[0])); return nil }, of, target, int64(limit)+1); err != nil {
		return err
	}
	return firstThere(numbers, limit, fn)
}

// firstThere calls fn with the first of these numbers, until it has returned true limit times.
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

// BodyOf returns the embedded view of the document with a number, nil where there is none.
func (tx *Tx) BodyOf(number int64) (body []byte, err error) {
	if tx.over != nil {
		return tx.over.bodyOf(number)
	}
	if cached := tx.cache.rows[number]; cached != nil {
		return cached.row.Body, nil
	}
	_, err = tx.c.queryRow("SELECT body FROM document WHERE number = ?", func(r []sqlValue) { body = bytesOf(r[0]) }, number)
	return body, err
}

// Total returns how many documents a rule adds up on target, and their exact sum; 0 and "" where
// there is none.
func (tx *Tx) Total(rule, target string) (count int64, sum string, err error) {
	if tx.over != nil {
		if t, known := tx.over.totals[ruleTarget{rule, target}]; known {
			return t.count, t.sum, nil
		}
		_, err = tx.c.queryRow(totalSQL, func(r []sqlValue) { count, sum = intOf(r[0]), textOf(r[1]) }, rule, target)
		return count, sum, err
	}
	if t := tx.unwritten.totals[ruleTarget{rule, target}]; t != nil {
		return t.count, t.sum, nil
	}
	if err := tx.forgetKnown(); err != nil {
		return 0, "", err
	}
	t := &knownTotal{}
	err = tx.directly(func() error {
		_, err := tx.c.queryRow(totalSQL, func(r []sqlValue) { t.count, t.sum = intOf(r[0]), textOf(r[1]) }, rule, target)
		return err
	})
	if err == nil {
		tx.unwritten.totals[ruleTarget{rule, target}] = t
	}
	return t.count, t.sum, err
}

// totalSQL reads a total.
const totalSQL = "SELECT count, sum FROM total WHERE rule = ? AND target = ?"

// SetTotal records how many documents a rule adds up on target, and their sum. A count of 0 removes
// the record.
func (tx *Tx) SetTotal(rule, target string, count int64, sum string) error {
	if tx.over != nil {
		tx.over.totals[ruleTarget{rule, target}] = total{count, sum}
		return nil
	}
	if err := tx.forgetKnown(); err != nil {
		return err
	}
	at := ruleTarget{rule, target}
	if t := tx.unwritten.totals[at]; t == nil || !t.changed {
		tx.unwritten.changedTotals = append(tx.unwritten.changedTotals, at)
	}
	tx.unwritten.totals[at] = &knownTotal{total{count, sum}, true}
	return nil
}

// ForgetEntries removes all orders and totals of a rule.
func (tx *Tx) ForgetEntries(rule string) error {
	if err := tx.c.exec("DELETE FROM entry WHERE rule = ?", rule); err != nil {
		return err
	}
	return tx.c.exec("DELETE FROM total WHERE rule = ?", rule)
}
