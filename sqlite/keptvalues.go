package sqlite

import "github.com/fanfold/fanfold/sqlite/driver"

// KeptValues are values in a transaction that stay on the documents that got them.
type KeptValues struct {
	p     *pending
	links *Links
}

// AddToAll records the value that stays on every document that refers to target and has none of it yet.
func (k *KeptValues) AddToAll(rule, relation, target string, value []byte) error {
	if k.p.inMemory {
		numbers, err := k.links.Holders(nil, relation, target, -1)
		for _, number := range numbers {
			k.p.keptValues.add(ruleTarget{rule, target}, keptValue{number, string(value)})
		}
		return err
	}
	if err := k.p.giveNumber(rule); err != nil {
		return err
	}
	return k.p.c.Exec("INSERT OR IGNORE INTO kept (rule, target, holder, value) SELECT ?, target, holder, ? FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ?",
		k.p.inserts.numbers[rule], driver.Text(value), relation, target)
}

// Add records the value that stays on one document that refers to target.
func (k *KeptValues) Add(rule, target string, holder int64, value []byte) error {
	if err := k.p.giveNumber(rule); err != nil {
		return err
	}
	k.p.keptValues.add(ruleTarget{rule, target}, keptValue{holder, string(value)})
	return k.p.countAdded(k.p.keptValues.rows, len(target)+len(value))
}

// Get returns the value that stayed on a document, or nil where none did.
func (k *KeptValues) Get(rule, target string, holder int64) (value []byte, err error) {
	if row, there, known := k.p.keptValues.known(ruleTarget{rule, target}, keptValue{holder: holder}); known {
		if !there {
			return nil, nil
		}
		return []byte(row.value), nil
	}
	err = k.p.query(keptValueTable, keptValueSQL, func(r driver.Row) error {
		value = r.Bytes(0)
		return nil
	}, rule, target, holder)
	return value, err
}

// Holders returns the numbers of the documents on which a value of a target stays by a rule, in order.
func (k *KeptValues) Holders(rule, target string) (holders []int64, err error) {
	err = k.p.c.Query("SELECT holder FROM kept WHERE rule = (SELECT id FROM name WHERE text = ?) AND target = ? ORDER BY holder", func(r driver.Row) error {
		holders = append(holders, r.Int(0))
		return nil
	}, rule, target)
	return holders, err
}

// Remove removes kept values of a rule. A target that is not "" and a holder that is not 0 limit it to
// their values.
func (k *KeptValues) Remove(rule, target string, holder int64) error {
	kept := &k.p.keptValues
	switch {
	case target == "":
		return k.p.c.Exec("DELETE FROM kept WHERE rule = (SELECT id FROM name WHERE text = ?)", rule)
	case holder == 0:
		kept.removeAll(ruleTarget{rule, target})
	default:
		kept.remove(ruleTarget{rule, target}, keptValue{holder: holder})
	}
	return k.p.countAdded(kept.rows, len(target))
}

// CopyFrom copies the kept values of a rule from another generation, in place of those that are here.
func (k *KeptValues) CopyFrom(from *Snapshot, rule string) error {
	if err := k.Remove(rule, "", 0); err != nil {
		return err
	}
	return from.c.Query("SELECT target, holder, value FROM kept WHERE rule = (SELECT id FROM name WHERE text = ?) ORDER BY target, holder", func(r driver.Row) error {
		return k.Add(rule, r.Text(0), r.Int(1), r.Bytes(2))
	}, rule)
}

// CountKeptValues returns the number of kept values of a rule.
func (s *Snapshot) CountKeptValues(rule string) (n int64, err error) {
	_, err = s.c.QueryRow("SELECT count(*) FROM kept WHERE rule = (SELECT id FROM name WHERE text = ?)", func(r driver.Row) { n = r.Int(0) }, rule)
	return n, err
}

// KeptValue returns the value that stayed on a document, or nil where none did.
func (s *Snapshot) KeptValue(rule, target string, holder int64) (value []byte, err error) {
	_, err = s.c.QueryRow(keptValueSQL,
		func(r driver.Row) { value = r.Bytes(0) }, rule, target, holder)
	return value, err
}

// keptValueSQL reads a value that stayed on a document.
const keptValueSQL = "SELECT value FROM kept WHERE rule = (SELECT id FROM name WHERE text = ?) AND target = ? AND holder = ?"
