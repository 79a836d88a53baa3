package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fanfold/fanfold"
)

// Snapshot is one consistent prefix of the log; it is valid within DB.Read only.
type Snapshot struct {
	c          *conn
	Checkpoint Checkpoint
}

// reader takes a connection from the pool; it blocks while all are in use.
func (db *DB) reader(fn func(c *conn) error) error {
	c := <-db.readers
	defer func() { db.readers <- c }()
	return fn(c)
}

// Read runs fn on one snapshot. It should take less than a second: a longer one keeps SQLite
// from reusing its log.
func (db *DB) Read(fn func(s *Snapshot) error) error {
	return db.reader(func(c *conn) error { return snapshot(c, fn) })
}

func snapshot(c *conn, fn func(s *Snapshot) error) (err error) {
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.exec("ROLLBACK")) }()
	cp, err := readCheckpoint(c)
	if err != nil {
		return err
	}
	return fn(&Snapshot{c: c, Checkpoint: cp})
}

// The checkpoint stands in each row, so that one statement reads both from one snapshot.
const (
	docColumns      = "d.number, d.collection, d.id, d.revision, d.position, d.created, d.updated, "
	fromDocument    = " FROM document d "
	fromSource      = " FROM document d LEFT JOIN source s ON s.number = d.number "
	fromHolders     = "FROM link l JOIN document d ON d.number = l.holder"
	sourceBody      = "coalesce(s.body, d.body)"
	checkpointAt    = ", (SELECT max(position, seq << 20) FROM checkpoint WHERE id = 1)"
	getEmbeddedSQL  = "SELECT " + docColumns + "d.body" + checkpointAt + fromDocument + "WHERE d.collection = ? AND d.id = ?"
	getReferenceSQL = "SELECT " + docColumns + sourceBody + checkpointAt + fromSource + "WHERE d.collection = ? AND d.id = ?"
)

func documentOf(r []sqlValue) *fanfold.Document {
	return &fanfold.Document{Number: intOf(r[0]), Key: fanfold.Key{Collection: textOf(r[1]), ID: textOf(r[2])},
		Revision: fanfold.Revision(intOf(r[3])), Position: fanfold.Position(intOf(r[4])),
		Created: timeOf(r[5]), Updated: timeOf(r[6]), Body: bytesOf(r[7])}
}

// Get returns the document, nil where there is none, and the position of the prefix read, 0
// where there is no document.
func (db *DB) Get(key fanfold.Key, view fanfold.View) (doc *fanfold.Document, at fanfold.Position, err error) {
	query := getEmbeddedSQL
	if view == fanfold.Referenced {
		query = getReferenceSQL
	}
	err = db.reader(func(c *conn) error {
		_, err := c.first(query, func(r []sqlValue) {
			doc, at = documentOf(r), fanfold.Position(intOf(r[8]))
		}, key.Collection, key.ID)
		return err
	})
	return doc, at, err
}

// At is the position of the prefix the snapshot shows.
func (s *Snapshot) At() fanfold.Position { return s.Checkpoint.At() }

// Get returns the document, or nil where there is none.
func (s *Snapshot) Get(key fanfold.Key, view fanfold.View) (doc *fanfold.Document, err error) {
	query := getEmbeddedSQL
	if view == fanfold.Referenced {
		query = getReferenceSQL
	}
	_, err = s.c.first(query, func(r []sqlValue) { doc = documentOf(r) }, key.Collection, key.ID)
	return doc, err
}

// IdempotencyKey returns the request that was made under a key, nil where none is known.
func (s *Snapshot) IdempotencyKey(key string) (r *fanfold.IdempotencyRecord, err error) {
	_, err = s.c.first("SELECT digest, seq FROM once WHERE key = ?", func(row []sqlValue) {
		r = &fanfold.IdempotencyRecord{IdempotencyKey: fanfold.IdempotencyKey{Hash: key, Digest: textOf(row[0])}, Seq: uint64(intOf(row[1]))}
	}, key)
	return r, err
}

// selectView is the start of a query for documents in one view.
func selectView(view fanfold.View) (columns, from string) {
	if view == fanfold.Referenced {
		return "SELECT " + docColumns + sourceBody, fromSource
	}
	return "SELECT " + docColumns + "d.body", fromDocument
}

// pageBytes bounds the bodies of one page of documents.
const pageBytes = 8 << 20

// documents reads up to limit documents, fewer where they are large; more tells whether there
// are others behind them.
func (s *Snapshot) documents(limit int, query string, args ...sqlValue) (docs []*fanfold.Document, more bool, err error) {
	size := 0
	err = s.c.query(query+" LIMIT ?", func(r []sqlValue) error {
		if len(docs) == limit || size > pageBytes {
			more = true
			return errStop
		}
		doc := documentOf(r)
		size += len(doc.Body)
		docs = append(docs, doc)
		return nil
	}, append(args, int64(limit)+1)...)
	if errors.Is(err, errStop) {
		err = nil
	}
	return docs, more, err
}

// List returns up to limit documents of the collection whose ids come after one, by id; more
// tells whether there are others behind them.
func (s *Snapshot) List(collection, after string, limit int, view fanfold.View) (docs []*fanfold.Document, more bool, err error) {
	columns, from := selectView(view)
	return s.documents(limit, columns+from+"WHERE d.collection = ? AND d.id > ? ORDER BY d.id", collection, after)
}

// Holders returns up to limit documents that refer to target through the relation and arrived
// after one, in order of arrival; more tells whether there are others behind them.
func (s *Snapshot) Holders(relation, target string, after int64, limit int, view fanfold.View) (docs []*fanfold.Document, more bool, err error) {
	columns, from := selectView(view)
	return s.documents(limit, columns+strings.Replace(from, "FROM document d", fromHolders, 1)+
		"WHERE l.relation = ? AND l.target = ? AND l.holder > ? ORDER BY l.holder", relation, target, after)
}

// Page returns the documents that have the places of one of target's pages, in order, and how many pages there are.
// Pages have size places and count from 1 on; 0 is the last one. A page behind the last is empty.
func (s *Snapshot) Page(relation, target string, page int64, size int, view fanfold.View) (docs []*fanfold.Document, pages int64, err error) {
	count, places := int64(0), int64(size)
	if _, err := s.c.first("SELECT count FROM paged WHERE relation = ? AND target = ?", func(r []sqlValue) { count = intOf(r[0]) }, relation, target); err != nil {
		return nil, 0, err
	}
	pages = max(1, (count+places-1)/places)
	if page == 0 {
		page = pages
	}
	first := (page - 1) * places
	columns, from := selectView(view)
	err = s.c.query(columns+strings.Replace(from, "FROM document d", fromHolders, 1)+
		"WHERE l.relation = ? AND l.target = ? AND l.ordinal >= ? AND l.ordinal < ? ORDER BY l.ordinal", func(r []sqlValue) error {
		docs = append(docs, documentOf(r))
		return nil
	}, relation, target, first, first+places)
	return docs, pages, err
}

// Scan returns up to limit documents of the collection that arrived after one, in order of
// arrival, with both views.
func (s *Snapshot) Scan(collection string, after int64, limit int) (rows []*Row, err error) {
	err = s.c.query(rowSQL+"d.number > ? AND +d.collection = ? ORDER BY d.number LIMIT ?", func(r []sqlValue) error {
		rows = append(rows, rowOf(r))
		return nil
	}, after, collection, int64(limit))
	return rows, err
}

// Row returns the document with both views, or nil.
func (s *Snapshot) Row(key fanfold.Key) (row *Row, err error) {
	_, err = s.c.first(rowSQL+"d.collection = ? AND d.id = ?", func(r []sqlValue) { row = rowOf(r) }, key.Collection, key.ID)
	return row, err
}

// RowByNumber returns the document with both views, or nil.
func (s *Snapshot) RowByNumber(number int64) (row *Row, err error) {
	_, err = s.c.first(rowSQL+"d.number = ?", func(r []sqlValue) { row = rowOf(r) }, number)
	return row, err
}

// Collections returns the names of the collections that hold documents, with their counts.
func (s *Snapshot) Collections() (names []string, counts []int64, err error) {
	err = s.c.query("SELECT collection, count(*) FROM document GROUP BY collection ORDER BY collection", func(r []sqlValue) error {
		names, counts = append(names, textOf(r[0])), append(counts, intOf(r[1]))
		return nil
	})
	return names, counts, err
}

// Kept returns the value that stayed on the holder after its target's delete, or nil.
func (s *Snapshot) Kept(rule, target string, holder int64) (value []byte, err error) {
	_, err = s.c.first("SELECT value FROM kept WHERE rule = ? AND target = ? AND holder = ?",
		func(r []sqlValue) { value = bytesOf(r[0]) }, rule, target, holder)
	return value, err
}

// StoredModel is a model as the read model keeps it.
type StoredModel struct {
	Seq      uint64 // 0: none was applied
	Source   []byte
	Reserved fanfold.Reserved
	Last     uint64 // the last event about models; 0 for none
	Next     []byte // the model that Last announces; nil for none
}

// Model returns the model that applies, and the one that is to come.
func (s *Snapshot) Model() (m StoredModel, err error) {
	if _, err := s.c.first("SELECT seq, source FROM proposal WHERE id = 1", func(r []sqlValue) {
		m.Last, m.Next = uint64(intOf(r[0])), bytesOf(r[1])
	}); err != nil {
		return m, err
	}
	var reserved string
	found, err := s.c.first("SELECT seq, source, reserved FROM model ORDER BY seq DESC LIMIT 1", func(r []sqlValue) {
		m.Seq, m.Source, reserved = uint64(intOf(r[0])), bytesOf(r[1]), textOf(r[2])
	})
	if err != nil || !found {
		return m, err
	}
	if err := json.Unmarshal([]byte(reserved), &m.Reserved); err != nil {
		return m, fmt.Errorf("reserved paths of model %d: %w", m.Seq, err)
	}
	return m, nil
}

// CountHolders returns how many documents refer to target, limit at most.
func (s *Snapshot) CountHolders(relation, target string, limit int64) (n int64, err error) {
	_, err = s.c.first("SELECT count(*) FROM (SELECT 1 FROM link WHERE relation = ? AND target = ? LIMIT ?)", func(r []sqlValue) { n = intOf(r[0]) }, relation, target, limit)
	return n, err
}

// EachHolder calls fn with the documents that refer to target, in order of arrival. fn may read,
// and call EachHolder.
func (s *Snapshot) EachHolder(relation, target string, fn func(row *Row) error) error {
	const chunk = 256
	for after := int64(0); ; {
		var rows []*Row
		if err := s.c.query(strings.Replace(rowSQL, "FROM document d", fromHolders, 1)+"l.relation = ? AND l.target = ? AND l.holder > ? ORDER BY l.holder LIMIT ?", func(r []sqlValue) error {
			rows = append(rows, rowOf(r))
			return nil
		}, relation, target, after, int64(chunk)); err != nil {
			return err
		}
		for _, row := range rows {
			after = row.Number
			if err := fn(row); err != nil {
				return err
			}
		}
		if len(rows) < chunk {
			return nil
		}
	}
}

// Tombstone returns the sequence of the delete of a document that is not there, 0 for none.
func (s *Snapshot) Tombstone(key fanfold.Key) (revision fanfold.Revision, err error) {
	_, err = s.c.first("SELECT revision FROM tombstone WHERE collection = ? AND id = ?", func(r []sqlValue) { revision = fanfold.Revision(intOf(r[0])) }, key.Collection, key.ID)
	return revision, err
}
