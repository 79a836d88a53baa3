package sqlite

import (
	"bytes"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// AddIdempotencyKey records a request under its key. An earlier request under the same key stays.
func (tx *Tx) AddIdempotencyKey(r fanfold.IdempotencyRecord, now time.Time) error {
	return tx.c.Exec("INSERT OR IGNORE INTO once (key, digest, seq, time) VALUES (?, ?, ?, ?)", r.Hash, r.Digest, int64(r.Seq), now.UnixNano())
}

// PruneIdempotencyKeys removes the requests from before t.
func (tx *Tx) PruneIdempotencyKeys(t time.Time) error {
	return tx.c.Exec("DELETE FROM once WHERE time < ?", t.UnixNano())
}

// IdempotencyKey returns the request that was made under a key, given by its hash, or nil where
// none is known.
func (s *Snapshot) IdempotencyKey(key string) (r *fanfold.IdempotencyRecord, err error) {
	_, err = s.c.QueryRow("SELECT digest, seq FROM once WHERE key = ?", func(row driver.Row) {
		r = &fanfold.IdempotencyRecord{IdempotencyKey: fanfold.IdempotencyKey{Hash: key, Digest: row.Text(0)}, Seq: uint64(row.Int(1))}
	}, key)
	return r, err
}

// SetImportProgress records how far an import has come: the body of its last event.
func (tx *Tx) SetImportProgress(id string, seq uint64, body []byte) error {
	return tx.c.Exec("INSERT INTO import_progress (id, seq, body) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, body = excluded.body", []byte(id), int64(seq), body)
}

// ImportProgress returns the body of an import's last event and its revision, 0 where there is none.
func (s *Snapshot) ImportProgress(id string) (body []byte, rev fanfold.Revision, err error) {
	_, err = s.c.QueryRow("SELECT body, seq FROM import_progress WHERE id = ?", func(r driver.Row) {
		body, rev = bytes.Clone(r.Blob(0)), fanfold.Revision(r.Int(1))
	}, []byte(id))
	return body, rev, err
}
