package sqlite

// KeepOnHolders records the value that stays on every document that refers to target and has none of it yet.
func (tx *Tx) KeepOnHolders(rule, relation, target string, value []byte) error {
	if tx.over != nil {
		return tx.over.keepOnHolders(rule, relation, target, value)
	}
	return tx.c.exec("INSERT OR IGNORE INTO kept (rule, target, holder, value) SELECT ?, target, holder, ? FROM link WHERE relation = ? AND target = ?",
		rule, textValue(value), relation, target)
}

// KeepOnHolder records the value that stays on one document that refers to target.
func (tx *Tx) KeepOnHolder(rule, target string, holder int64, value []byte) error {
	if tx.over != nil {
		tx.over.setKept(rule, target, holder, value)
		return nil
	}
	tx.unwritten.kept = append(tx.unwritten.kept, keptRow{rule, target, holder, string(value)})
	return tx.keepBack(len(tx.unwritten.kept), len(target)+len(value))
}

// Kept returns the value that stayed on a document, or nil where none did.
func (tx *Tx) Kept(rule, target string, holder int64) (value []byte, err error) {
	if tx.over != nil {
		return tx.over.keptValue(rule, target, holder)
	}
	_, err = tx.c.queryRow("SELECT value FROM kept WHERE rule = ? AND target = ? AND holder = ?",
		func(r []sqlValue) { value = bytesOf(r[0]) }, rule, target, holder)
	return value, err
}

// ForgetKept removes kept values of a rule: those of one target where target is not "", and of one
// holder of it where holder is not 0.
func (tx *Tx) ForgetKept(rule, target string, holder int64) error {
	if tx.over != nil && target != "" {
		tx.over.forgetKept(rule, target, holder)
		return nil
	}
	switch {
	case target == "":
		return tx.c.exec("DELETE FROM kept WHERE rule = ?", rule)
	case holder == 0:
		return tx.c.exec("DELETE FROM kept WHERE rule = ? AND target = ?", rule, target)
	default:
		return tx.c.exec("DELETE FROM kept WHERE rule = ? AND target = ? AND holder = ?", rule, target, holder)
	}
}

// CopyKept copies the kept values of a rule from another generation, in place of those that are here.
func (tx *Tx) CopyKept(from *Snapshot, rule string) error {
	if err := tx.ForgetKept(rule, "", 0); err != nil {
		return err
	}
	return from.c.query("SELECT target, holder, value FROM kept WHERE rule = ? ORDER BY target, holder", func(r []sqlValue) error {
		return tx.KeepOnHolder(rule, textOf(r[0]), intOf(r[1]), bytesOf(r[2]))
	}, rule)
}

// CountKept returns the number of kept values of a rule.
func (s *Snapshot) CountKept(rule string) (n int64, err error) {
	_, err = s.c.queryRow("SELECT count(*) FROM kept WHERE rule = ?", func(r []sqlValue) { n = intOf(r[0]) }, rule)
	return n, err
}

// Kept returns the value that stayed on a document, or nil where none did.
func (s *Snapshot) Kept(rule, target string, holder int64) (value []byte, err error) {
	_, err = s.c.queryRow("SELECT value FROM kept WHERE rule = ? AND target = ? AND holder = ?",
		func(r []sqlValue) { value = bytesOf(r[0]) }, rule, target, holder)
	return value, err
}
