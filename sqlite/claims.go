package sqlite

import "github.com/fanfold/fanfold/sqlite/driver"

// SetClaimSequence records the sequence of the last claim event about a value.
func (tx *Tx) SetClaimSequence(collection, path, value string, seq uint64) error {
	tx.pending.claimRow(collection, path, value).seq = seq
	return tx.pending.countAdded(len(tx.pending.claims), len(value))
}

// SetClaim records that a document has a value, whoever had it before. holder is the document's id.
func (tx *Tx) SetClaim(collection, path, value, holder string) error {
	tx.pending.claimRow(collection, path, value).holder = holder
	return tx.pending.countAdded(len(tx.pending.claims), len(value)+len(holder))
}

// FreeClaim records that a document no longer has a value. It changes nothing where another
// document has the value by now.
func (tx *Tx) FreeClaim(collection, path, value, holder string) error {
	return tx.writeUnread("UPDATE claim SET holder = NULL WHERE collection = ? AND path = ? AND value = ? AND holder = ?", collection, path, value, holder)
}

// FreeClaims frees every value of a member.
func (tx *Tx) FreeClaims(collection, path string) error {
	return tx.c.Exec("UPDATE claim SET holder = NULL WHERE collection = ? AND path = ?", collection, path)
}

// ForgetClaims removes the values of a member that is no longer unique. Values with an event of
// their own are freed instead, because the next event expects their sequence.
func (tx *Tx) ForgetClaims(collection, path string) error {
	if err := tx.c.Exec("DELETE FROM claim WHERE collection = ? AND path = ? AND seq = 0", collection, path); err != nil {
		return err
	}
	return tx.FreeClaims(collection, path)
}

// AddClaim gives a value that nobody has to a document, without an event. It changes nothing where
// a document has the value.
func (tx *Tx) AddClaim(collection, path, value, holder string) error {
	return tx.c.Exec("INSERT INTO claim (collection, path, value, holder, seq) VALUES (?, ?, ?, ?, 0) ON CONFLICT (collection, path, value) DO UPDATE SET holder = coalesce(holder, excluded.holder)",
		collection, path, value, holder)
}

// Claim returns the id of the document that has a unique value, "" if it is free. It also returns the sequence of the
// last claim event about it, 0 if there was none.
func (s *Snapshot) Claim(collection, path, value string) (holder string, seq uint64, err error) {
	_, err = s.c.QueryRow("SELECT holder, seq FROM claim WHERE collection = ? AND path = ? AND value = ?", func(r driver.Row) {
		holder, seq = r.Text(0), uint64(r.Int(1))
	}, collection, path, value)
	return holder, seq, err
}

// AddUniqueCandidate records that a document has a value of a member that is to be unique. Only a
// generation that Store.Copy made has such records.
func (tx *Tx) AddUniqueCandidate(collection, path, value string, holder int64) error {
	return tx.c.Exec("INSERT OR IGNORE INTO temp.unique_candidate (collection, path, value, holder) VALUES (?, ?, ?, ?)", collection, path, value, holder)
}

// RemoveUniqueCandidate removes what AddUniqueCandidate recorded of a document and a value.
func (tx *Tx) RemoveUniqueCandidate(collection, path, value string, holder int64) error {
	return tx.c.Exec("DELETE FROM temp.unique_candidate WHERE collection = ? AND path = ? AND value = ? AND holder = ?", collection, path, value, holder)
}

// ClaimUniqueCandidates gives each recorded value of a member to the first document that has it.
func (tx *Tx) ClaimUniqueCandidates(collection, path string) error {
	return tx.c.Exec(`INSERT INTO claim (collection, path, value, holder, seq)
		SELECT ?1, ?2, h.value, d.id, 0 FROM (SELECT value, min(holder) AS first FROM temp.unique_candidate WHERE collection = ?1 AND path = ?2 GROUP BY value) h
		JOIN document d ON d.number = h.first WHERE true
		ON CONFLICT (collection, path, value) DO UPDATE SET holder = excluded.holder`, collection, path)
}

// SharedUniqueCandidates calls fn for values of a member that several documents have, with the
// numbers of the first and the last of them, for limit values at most.
func (tx *Tx) SharedUniqueCandidates(collection, path string, limit int, fn func(value string, first, last int64) error) error {
	return tx.c.Query("SELECT value, min(holder), max(holder) FROM temp.unique_candidate WHERE collection = ? AND path = ? GROUP BY value HAVING count(*) > 1 LIMIT ? + 0",
		func(r driver.Row) error { return fn(r.Text(0), r.Int(1), r.Int(2)) }, collection, path, int64(limit))
}
