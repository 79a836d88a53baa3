package sqlite

import (
	"encoding/json"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// StoredErasure is an erase event as the read model knows it.
type StoredErasure struct {
	Seq       uint64
	Of        uint64 // the first erase event of the same erasure, which may be itself
	Documents int64  // that it names
	Events    int64  // messages that it lists
	Time      time.Time
	Actor     string
	Position  fanfold.Position // where it came into force; 0 before that
}

// SetAsOf says with which lists of the log the rows are made. It is called on a generation that Build made, before
// anything is folded.
func (db *DB) SetAsOf(asOf fanfold.AsOf) error {
	return db.Update(func(tx *Tx) error {
		tx.checkpoint.AsOf = asOf
		return nil
	})
}

// AddErasure records an erase event.
func (tx *Tx) AddErasure(seq uint64, now time.Time, actor string, e *fanfold.Erasure) error {
	of := e.Of
	if of == 0 {
		of = seq
	}
	if err := tx.c.Exec("INSERT INTO erasure (seq, of, documents, events, time, actor) VALUES (?, ?, ?, ?, ?, ?)",
		int64(seq), int64(of), int64(len(e.Documents)), int64(e.Events()), now.UnixNano(), nullableText(actor)); err != nil {
		return err
	}
	for _, d := range e.Documents {
		var members driver.Value
		if d.Members != nil {
			text, err := json.Marshal(d.Members)
			if err != nil {
				return err
			}
			members = string(text)
		}
		if err := tx.c.Exec("INSERT INTO erased_document (erasure, collection, id, members) VALUES (?, ?, ?, ?)", int64(seq), d.Collection, d.ID, members); err != nil {
			return err
		}
	}
	return nil
}

// PendingErasures returns the erase events up to one that are not in force, in order.
func (tx *Tx) PendingErasures(upTo fanfold.AsOf) (list []uint64, err error) {
	err = tx.c.Query("SELECT seq FROM erasure WHERE seq <= ? AND position IS NULL ORDER BY seq", func(r driver.Row) error {
		list = append(list, uint64(r.Int(0)))
		return nil
	}, int64(upTo))
	return list, err
}

// ErasedDocuments returns the documents that an erase event names, in order of their keys.
func (tx *Tx) ErasedDocuments(erasure uint64) (list []fanfold.ErasedDocument, err error) {
	err = tx.c.Query("SELECT collection, id, members FROM erased_document WHERE erasure = ? ORDER BY collection, id", func(r driver.Row) error {
		d, err := scanErasedDocument(r)
		list = append(list, d)
		return err
	}, int64(erasure))
	return list, err
}

// scanErasedDocument returns the document in a row of collection, id and members.
func scanErasedDocument(r driver.Row) (d fanfold.ErasedDocument, err error) {
	d.Key = fanfold.Key{Collection: r.Text(0), ID: r.Text(1)}
	if members := r.Bytes(2); members != nil {
		err = json.Unmarshal(members, &d.Members)
	}
	return d, err
}

// SetErasurePosition records where an erase event came into force.
func (tx *Tx) SetErasurePosition(erasure uint64, at fanfold.Position) error {
	return tx.c.Exec("UPDATE erasure SET position = ? WHERE seq = ?", int64(at), int64(erasure))
}

// Erase records that a deleted document is erased, as an erase event says, by a change that add writes. It does nothing, and erased is false, if
// nothing was deleted.
func (tx *Tx) Erase(erasure uint64, ch *fanfold.Change, add func(ch *fanfold.Change) error) (erased bool, err error) {
	key := ch.Key
	if _, err = tx.c.QueryRow("SELECT revision, position FROM tombstone WHERE collection = ? AND id = ? AND position > 0", func(r driver.Row) {
		ch.Revision, ch.Prior = fanfold.Revision(r.Int(0)), fanfold.Position(r.Int(1))
	}, key.Collection, key.ID); err != nil || ch.Prior == 0 {
		return false, err
	}
	if err = add(ch); err != nil {
		return false, err
	}
	if err = tx.c.Exec("UPDATE erased_document SET position = ? WHERE erasure = ? AND collection = ? AND id = ?", int64(ch.Position), int64(erasure), key.Collection, key.ID); err != nil {
		return false, err
	}
	return true, tx.Documents.Tombstone(key, ch.Revision, ch.Position)
}

// erasureColumns are the columns that scanErasure reads.
const erasureColumns = "seq, of, documents, events, time, actor, position"

// scanErasure returns the erase event in a row of erasureColumns.
func scanErasure(r driver.Row) StoredErasure {
	return StoredErasure{uint64(r.Int(0)), uint64(r.Int(1)), r.Int(2), r.Int(3), timeOf(r.Int(4)), r.Text(5), fanfold.Position(r.Int(6))}
}

// Erasures are the erase events that a snapshot shows.
type Erasures struct{ c *driver.Conn }

// Erasures returns the erase events that the snapshot shows.
func (s *Snapshot) Erasures() Erasures { return Erasures{s.c} }

// All returns the erase events, in order.
func (er Erasures) All() (list []StoredErasure, err error) {
	err = er.c.Query("SELECT "+erasureColumns+" FROM erasure ORDER BY seq", func(r driver.Row) error {
		list = append(list, scanErasure(r))
		return nil
	})
	return list, err
}

// Get returns an erase event, nil where there is none at seq.
func (er Erasures) Get(seq uint64) (e *StoredErasure, err error) {
	_, err = er.c.QueryRow("SELECT "+erasureColumns+" FROM erasure WHERE seq = ?", func(r driver.Row) {
		stored := scanErasure(r)
		e = &stored
	}, int64(seq))
	return e, err
}

// EachDocument calls fn with each document that an erase event names, in order of the events.
func (er Erasures) EachDocument(fn func(erasure uint64, d fanfold.ErasedDocument) error) error {
	return er.c.Query("SELECT collection, id, members, erasure FROM erased_document ORDER BY erasure, collection, id", func(r driver.Row) error {
		d, err := scanErasedDocument(r)
		if err != nil {
			return err
		}
		return fn(uint64(r.Int(3)), d)
	})
}

// EachDocumentAt calls fn with each document that one erase event names.
func (er Erasures) EachDocumentAt(erasure uint64, fn func(key fanfold.Key) error) error {
	return er.c.Query("SELECT collection, id FROM erased_document WHERE erasure = ? ORDER BY collection, id", func(r driver.Row) error {
		return fn(fanfold.Key{Collection: r.Text(0), ID: r.Text(1)})
	}, int64(erasure))
}

// CountDocuments returns how many documents an erase event names.
func (er Erasures) CountDocuments(erasure uint64) (n int, err error) {
	_, err = er.c.QueryRow("SELECT count(*) FROM erased_document WHERE erasure = ?", func(r driver.Row) { n = int(r.Int(0)) }, int64(erasure))
	return n, err
}

// Names reports whether an erase event names a document.
func (er Erasures) Names(key fanfold.Key) (bool, error) {
	return er.c.Has("SELECT 1 FROM erased_document WHERE collection = ? AND id = ?", key.Collection, key.ID)
}

// members returns the members of a document from which erasures have taken something, "" for all of them.
func (er Erasures) members(key fanfold.Key) (names []string, err error) {
	return names, er.c.Query("SELECT collection, id, members FROM erased_document WHERE collection = ? AND id = ?", func(r driver.Row) error {
		d, err := scanErasedDocument(r)
		if d.Members == nil {
			names = append(names, "")
		}
		for _, pointer := range d.Members {
			names = append(names, jsondoc.PointerTokens(pointer)[0])
		}
		return err
	}, key.Collection, key.ID)
}

// ReplaceHorizon replaces the horizon's digests by a base's that takes the place of another one at the same event.
func (tx *Tx) ReplaceHorizon(h fanfold.Horizon) error {
	return tx.c.Exec("UPDATE horizon SET event = ?, digest = ? WHERE seq = ?", h.Event[:], h.Digest[:], int64(h.Seq))
}
