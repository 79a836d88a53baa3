package sqlite

import "github.com/fanfold/fanfold/sqlite/driver"

// Uniques are the unique values in a transaction, and who has them.
type Uniques struct{ p *pending }

// SetSequence records the sequence of the last claim event about a value.
func (u *Uniques) SetSequence(collection, path, value string, seq uint64) error {
	u.p.claimRow(collection, path, value).seq = seq
	return u.p.countAdded(len(u.p.claims), len(value))
}

// Set records that a document has a value, whoever had it before. holder is the document's id.
func (u *Uniques) Set(collection, path, value, holder string) error {
	u.p.claimRow(collection, path, value).holder = holder
	return u.p.countAdded(len(u.p.claims), len(value)+len(holder))
}

// Free records that a document no longer has a value. It changes nothing where another
// document has the value by now.
func (u *Uniques) Free(collection, path, value, holder string) error {
	return u.p.writeUnread("UPDATE claim SET holder = NULL WHERE collection = ? AND path = ? AND value = ? AND holder = ?", collection, path, value, holder)
}

// FreeAll frees every value of a member.
func (u *Uniques) FreeAll(collection, path string) error {
	return u.p.c.Exec("UPDATE claim SET holder = NULL WHERE collection = ? AND path = ?", collection, path)
}

// Forget removes the values of a member that is no longer unique. Values with an event of
// their own are freed instead, because the next event expects their sequence.
func (u *Uniques) Forget(collection, path string) error {
	if err := u.p.c.Exec("DELETE FROM claim WHERE collection = ? AND path = ? AND seq = 0", collection, path); err != nil {
		return err
	}
	return u.FreeAll(collection, path)
}

// Add gives a value that nobody has to a document, without an event. It changes nothing where
// a document has the value.
func (u *Uniques) Add(collection, path, value, holder string) error {
	return u.p.c.Exec("INSERT INTO claim (collection, path, value, holder, seq) VALUES (?, ?, ?, ?, 0) ON CONFLICT (collection, path, value) DO UPDATE SET holder = coalesce(holder, excluded.holder)",
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

// AddCandidate records that a document has a value of a member that is to be unique. Only a
// generation that Store.Copy made has such records.
func (u *Uniques) AddCandidate(collection, path, value string, holder int64) error {
	return u.p.c.Exec("INSERT OR IGNORE INTO temp.unique_candidate (collection, path, value, holder) VALUES (?, ?, ?, ?)", collection, path, value, holder)
}

// RemoveCandidate removes what AddCandidate recorded of a document and a value.
func (u *Uniques) RemoveCandidate(collection, path, value string, holder int64) error {
	return u.p.c.Exec("DELETE FROM temp.unique_candidate WHERE collection = ? AND path = ? AND value = ? AND holder = ?", collection, path, value, holder)
}

// ClaimCandidates gives each recorded value of a member to the first document that has it.
func (u *Uniques) ClaimCandidates(collection, path string) error {
	return u.p.c.Exec(`INSERT INTO claim (collection, path, value, holder, seq)
		SELECT ?1, ?2, h.value, d.id, 0 FROM (SELECT value, min(holder) AS first FROM temp.unique_candidate WHERE collection = ?1 AND path = ?2 GROUP BY value) h
		JOIN document d ON d.number = h.first WHERE true
		ON CONFLICT (collection, path, value) DO UPDATE SET holder = excluded.holder`, collection, path)
}

// SharedCandidates calls fn for values of a member that several documents have, with the
// numbers of the first and the last of them, for limit values at most.
func (u *Uniques) SharedCandidates(collection, path string, limit int, fn func(value string, first, last int64) error) error {
	return u.p.c.Query("SELECT value, min(holder), max(holder) FROM temp.unique_candidate WHERE collection = ? AND path = ? GROUP BY value HAVING count(*) > 1 LIMIT ? + 0",
		func(r driver.Row) error { return fn(r.Text(0), r.Int(1), r.Int(2)) }, collection, path, int64(limit))
}
