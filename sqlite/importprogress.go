package sqlite

import (
	"bytes"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

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
