package sqlite

import "github.com/fanfold/fanfold"

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
	if err := tx.writeHot(); err != nil {
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

// ClaimedAt records the sequence of a claim event.
func (tx *Tx) ClaimedAt(collection, path, value string, seq uint64) error {
	return tx.c.exec("INSERT INTO claim (collection, path, value, seq) VALUES (?, ?, ?, ?) ON CONFLICT (collection, path, value) DO UPDATE SET seq = excluded.seq",
		collection, path, value, int64(seq))
}

// SetClaim records that a document has a value.
func (tx *Tx) SetClaim(collection, path, value, holder string) error {
	return tx.c.exec("INSERT INTO claim (collection, path, value, holder, seq) VALUES (?, ?, ?, ?, 0) ON CONFLICT (collection, path, value) DO UPDATE SET holder = excluded.holder",
		collection, path, value, holder)
}

// FreeClaim records that a document no longer has a value, unless another one has it by now.
func (tx *Tx) FreeClaim(collection, path, value, holder string) error {
	return tx.c.exec("UPDATE claim SET holder = NULL WHERE collection = ? AND path = ? AND value = ? AND holder = ?", collection, path, value, holder)
}

// FreeClaims frees every value of a member.
func (tx *Tx) FreeClaims(collection, path string) error {
	return tx.c.exec("UPDATE claim SET holder = NULL WHERE collection = ? AND path = ?", collection, path)
}

// ForgetClaims forgets who has the values of a member that is no longer unique.
func (tx *Tx) ForgetClaims(collection, path string) error {
	if err := tx.c.exec("DELETE FROM claim WHERE collection = ? AND path = ? AND seq = 0", collection, path); err != nil {
		return err
	}
	return tx.FreeClaims(collection, path)
}

// AddClaim gives a document a value that nobody has, without an event.
func (tx *Tx) AddClaim(collection, path, value, holder string) error {
	return tx.c.exec("INSERT INTO claim (collection, path, value, holder, seq) VALUES (?, ?, ?, ?, 0) ON CONFLICT (collection, path, value) DO UPDATE SET holder = coalesce(holder, excluded.holder)",
		collection, path, value, holder)
}

// Claim returns who has a unique value, "" for nobody, and the sequence of the last event about it.
func (s *Snapshot) Claim(collection, path, value string) (holder string, seq uint64, err error) {
	_, err = s.c.first("SELECT holder, seq FROM claim WHERE collection = ? AND path = ? AND value = ?", func(r []sqlValue) {
		holder, seq = textOf(r[0]), uint64(intOf(r[1]))
	}, collection, path, value)
	return holder, seq, err
}

// Tombstone returns the sequence of the delete of a document that is not there, 0 for none.
func (s *Snapshot) Tombstone(key fanfold.Key) (revision fanfold.Revision, err error) {
	_, err = s.c.first("SELECT revision FROM tombstone WHERE collection = ? AND id = ?", func(r []sqlValue) { revision = fanfold.Revision(intOf(r[0])) }, key.Collection, key.ID)
	return revision, err
}

// ForgetEntries drops everything that a rule took from documents.
func (tx *Tx) ForgetEntries(rule string) error {
	if err := tx.c.exec("DELETE FROM entry WHERE rule = ?", rule); err != nil {
		return err
	}
	return tx.c.exec("DELETE FROM total WHERE rule = ?", rule)
}
