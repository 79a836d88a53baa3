package sqlite

// KeepOnHolders records the value that stays on every document that refers to target.
func (tx *Tx) KeepOnHolders(rule, relation, target string, value []byte) error {
	if tx.over != nil {
		return tx.over.keepOnHolders(rule, relation, target, value)
	}
	return tx.c.exec("INSERT INTO kept (rule, target, holder, value) SELECT ?, target, holder, ? FROM link WHERE relation = ? AND target = ?",
		rule, textValue(value), relation, target)
}

// KeepOnHolder records the value that stays on one document that refers to target.
func (tx *Tx) KeepOnHolder(rule, target string, holder int64, value []byte) error {
	if tx.over != nil {
		tx.over.setKept(rule, target, holder, value)
		return nil
	}
	return tx.c.exec("INSERT OR REPLACE INTO kept (rule, target, holder, value) VALUES (?, ?, ?, ?)", rule, target, holder, textValue(value))
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

// KeptRules returns the names of the rules that have kept values.
func (tx *Tx) KeptRules() (rules []string, err error) {
	err = tx.c.query("SELECT DISTINCT rule FROM kept", func(r []sqlValue) error {
		rules = append(rules, textOf(r[0]))
		return nil
	})
	return rules, err
}

// Kept returns the value that stayed on a document, or nil where none did.
func (s *Snapshot) Kept(rule, target string, holder int64) (value []byte, err error) {
	_, err = s.c.queryRow("SELECT value FROM kept WHERE rule = ? AND target = ? AND holder = ?",
		func(r []sqlValue) { value = bytesOf(r[0]) }, rule, target, holder)
	return value, err
}
