package sqlite

// What a rule takes from the documents that refer to a target.

// AddEntry enters a document into a rule's order on target.
func (tx *Tx) AddEntry(rule, target string, sort []byte, id string, holder int64) error {
	return tx.c.exec("INSERT INTO entry (rule, target, sort, id, holder) VALUES (?, ?, ?, ?, ?)", rule, target, sort, id, holder)
}

// RemoveEntry takes it out again.
func (tx *Tx) RemoveEntry(rule, target string, sort []byte, id string) error {
	return tx.c.exec("DELETE FROM entry WHERE rule = ? AND target = ? AND sort = ? AND id = ?", rule, target, sort, id)
}

// FirstEntry is the least sort key of a rule on target, or nil.
func (tx *Tx) FirstEntry(rule, target string) (sort []byte, err error) {
	_, err = tx.c.first("SELECT sort FROM entry WHERE rule = ? AND target = ? ORDER BY sort LIMIT 1", func(r []sqlValue) { sort = blobOf(r[0]) }, rule, target)
	return sort, err
}

// LastEntry is the greatest sort key of a rule on target, or nil.
func (tx *Tx) LastEntry(rule, target string) (sort []byte, err error) {
	_, err = tx.c.first("SELECT sort FROM entry WHERE rule = ? AND target = ? ORDER BY sort DESC LIMIT 1", func(r []sqlValue) { sort = blobOf(r[0]) }, rule, target)
	return sort, err
}

// LastBodies are the embedded views of the limit last documents in a rule's order on target, the
// last one first.
func (tx *Tx) LastBodies(rule, target string, limit int) ([][]byte, error) {
	return tx.bodies("SELECT d.body FROM entry e JOIN document d ON d.number = e.holder WHERE e.rule = ? AND e.target = ? ORDER BY e.sort DESC, e.id DESC LIMIT ?", rule, target, int64(limit))
}

// NewestBodies are the embedded views of the limit newest documents that refer to target, the
// newest first.
func (tx *Tx) NewestBodies(relation, target string, limit int) ([][]byte, error) {
	return tx.bodies("SELECT d.body FROM link l JOIN document d ON d.number = l.holder WHERE l.relation = ? AND l.target = ? ORDER BY l.holder DESC LIMIT ?", relation, target, int64(limit))
}

func (tx *Tx) bodies(query string, args ...sqlValue) (bodies [][]byte, err error) {
	if err := tx.flushCache(); err != nil {
		return nil, err
	}
	err = tx.c.query(query, func(r []sqlValue) error {
		bodies = append(bodies, bytesOf(r[0]))
		return nil
	}, args...)
	return bodies, err
}

// Total is what a rule's documents on target add up to; "" where there is none.
func (tx *Tx) Total(rule, target string) (count int64, sum string, err error) {
	_, err = tx.c.first("SELECT count, sum FROM total WHERE rule = ? AND target = ?", func(r []sqlValue) { count, sum = intOf(r[0]), textOf(r[1]) }, rule, target)
	return count, sum, err
}

// SetTotal records what they add up to; count 0 for none.
func (tx *Tx) SetTotal(rule, target string, count int64, sum string) error {
	if count == 0 {
		return tx.c.exec("DELETE FROM total WHERE rule = ? AND target = ?", rule, target)
	}
	return tx.c.exec("INSERT INTO total (rule, target, count, sum) VALUES (?, ?, ?, ?) ON CONFLICT (rule, target) DO UPDATE SET count = excluded.count, sum = excluded.sum", rule, target, count, sum)
}

// ForgetEntries drops everything that a rule took from documents.
func (tx *Tx) ForgetEntries(rule string) error {
	if err := tx.c.exec("DELETE FROM entry WHERE rule = ?", rule); err != nil {
		return err
	}
	return tx.c.exec("DELETE FROM total WHERE rule = ?", rule)
}
