package sqlite

import "errors"

// SaveBefore keeps a document's embedded view until ClearBefore, for the change row that is written
// when the event is folded to the end. A view that is kept already stays as it is.
func (tx *Tx) SaveBefore(r *Row) error {
	if tx.over != nil {
		tx.over.saveBefore(r)
		return nil
	}
	tx.savedBefore++
	return tx.c.exec("INSERT OR IGNORE INTO temp.before (number, body) VALUES (?, ?)", r.Number, textValue(r.Body))
}

// EachBefore calls fn with the numbers behind after and the embedded views that SaveBefore kept, in
// order of number: limit of them at most, and fewer where they are large.
func (tx *Tx) EachBefore(after int64, limit int, fn func(number int64, body []byte) error) error {
	if tx.over != nil {
		return tx.over.eachBefore(after, fn)
	}
	if tx.savedBefore == 0 {
		return nil
	}
	size := 0
	err := tx.c.query("SELECT number, body FROM temp.before WHERE number > ? ORDER BY number LIMIT ?", func(r []sqlValue) error {
		body := bytesOf(r[1])
		if err := fn(intOf(r[0]), body); err != nil {
			return err
		}
		if size += len(body); size > maxReadAheadBytes {
			return errStopRows
		}
		return nil
	}, after, int64(limit))
	if errors.Is(err, errStopRows) {
		return nil
	}
	return err
}

// ClearBefore removes everything that SaveBefore kept.
func (tx *Tx) ClearBefore() error {
	if tx.over != nil {
		clear(tx.over.before)
		return nil
	}
	if tx.savedBefore == 0 {
		return nil
	}
	tx.savedBefore = 0
	return tx.c.exec("DELETE FROM temp.before")
}
