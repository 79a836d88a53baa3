package sqlite

import "github.com/fanfold/fanfold/sqlite/driver"

// AddKeptValues records the value that stays on every document that refers to target and has none of it yet.
func (tx *Tx) AddKeptValues(rule, relation, target string, value []byte) error {
	if tx.rehearsal != nil {
		numbers, err := tx.Holders(nil, relation, target, -1)
		for _, number := range numbers {
			tx.pending.keptValues.add(ruleTarget{rule, target}, keptValue{number, string(value)})
		}
		return err
	}
	return tx.c.Exec("INSERT OR IGNORE INTO kept (rule, target, holder, value) SELECT ?, target, holder, ? FROM link WHERE relation = ? AND target = ?",
		rule, driver.Text(value), relation, target)
}

// AddKeptValue records the value that stays on one document that refers to target.
func (tx *Tx) AddKeptValue(rule, target string, holder int64, value []byte) error {
	tx.pending.keptValues.add(ruleTarget{rule, target}, keptValue{holder, string(value)})
	return tx.pending.countAdded(tx.pending.keptValues.rows, len(target)+len(value))
}

// KeptValue returns the value that stayed on a document, or nil where none did.
func (tx *Tx) KeptValue(rule, target string, holder int64) (value []byte, err error) {
	if row, there, known := tx.pending.keptValues.known(ruleTarget{rule, target}, keptValue{holder: holder}); known {
		if !there {
			return nil, nil
		}
		return []byte(row.value), nil
	}
	err = tx.pending.query(keptValueTable, keptValueSQL, func(r driver.Row) error {
		value = r.Bytes(0)
		return nil
	}, rule, target, holder)
	return value, err
}

// KeptValueHolders returns the numbers of the documents on which a value of a target stays by a rule, in order.
func (tx *Tx) KeptValueHolders(rule, target string) (holders []int64, err error) {
	err = tx.c.Query("SELECT holder FROM kept WHERE rule = ? AND target = ? ORDER BY holder", func(r driver.Row) error {
		holders = append(holders, r.Int(0))
		return nil
	}, rule, target)
	return holders, err
}

// RemoveKeptValues removes kept values of a rule. A target that is not "" and a holder that is not 0 limit it to
// their values.
func (tx *Tx) RemoveKeptValues(rule, target string, holder int64) error {
	kept := &tx.pending.keptValues
	switch {
	case target == "":
		return tx.c.Exec("DELETE FROM kept WHERE rule = ?", rule)
	case holder == 0:
		kept.removeAll(ruleTarget{rule, target})
	default:
		kept.remove(ruleTarget{rule, target}, keptValue{holder: holder})
	}
	return tx.pending.countAdded(kept.rows, len(target))
}

// CopyKeptValues copies the kept values of a rule from another generation, in place of those that are here.
func (tx *Tx) CopyKeptValues(from *Snapshot, rule string) error {
	if err := tx.RemoveKeptValues(rule, "", 0); err != nil {
		return err
	}
	return from.c.Query("SELECT target, holder, value FROM kept WHERE rule = ? ORDER BY target, holder", func(r driver.Row) error {
		return tx.AddKeptValue(rule, r.Text(0), r.Int(1), r.Bytes(2))
	}, rule)
}

// CountKeptValues returns the number of kept values of a rule.
func (s *Snapshot) CountKeptValues(rule string) (n int64, err error) {
	_, err = s.c.QueryRow("SELECT count(*) FROM kept WHERE rule = ?", func(r driver.Row) { n = r.Int(0) }, rule)
	return n, err
}

// KeptValue returns the value that stayed on a document, or nil where none did.
func (s *Snapshot) KeptValue(rule, target string, holder int64) (value []byte, err error) {
	_, err = s.c.QueryRow(keptValueSQL,
		func(r driver.Row) { value = r.Bytes(0) }, rule, target, holder)
	return value, err
}

// keptValueSQL reads a value that stayed on a document.
const keptValueSQL = "SELECT value FROM kept WHERE rule = ? AND target = ? AND holder = ?"
