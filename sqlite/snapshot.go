package sqlite

import (
	"context"
	"encoding/json"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Snapshot shows one consistent prefix of the log. It is valid only within the call that it was
// given to, such as DB.Read.
type Snapshot struct {
	sequenceReader

	c          *driver.Conn
	store      *Store // that Swap leaves as it is meanwhile; nil for none
	Checkpoint Checkpoint
	model      uint64      // what ModelSeq returns, where indexes is not nil
	indexes    *indexCache // of the file; nil for none
	rows       int         // that c had read before
	chains     chainReader
	horizon    storedHorizon // as Horizon has read it
	undone     int           // bytes of documents and patches that were read to undo changes
}

// RowsRead returns how many rows and links were read on the snapshot, those that a count went over included.
func (s *Snapshot) RowsRead() int { return s.c.Rows - s.rows }

// Read runs fn on one snapshot. It blocks while all readers are in use. fn should take less than a
// second, because a longer read keeps SQLite from reusing its WAL.
func (db *DB) Read(fn func(s *Snapshot) error) error {
	return db.file.WithReader(func(c *driver.Conn) error { return readSnapshot(c, &db.indexes, fn) })
}

// EndWith makes every query end with ctx's error once ctx has ended, until restore is called.
func (s *Snapshot) EndWith(ctx context.Context) (restore func()) {
	return s.c.EndWith(ctx)
}

// snapshotSQL reads the row for scanCheckpoint, of a file without a checkpoint, too, and the sequence of the model in force.
const snapshotSQL = "SELECT " + checkpointColumns + ", (SELECT max(seq) FROM model) FROM (SELECT 1) LEFT JOIN checkpoint ON id = 1"

// readSnapshot runs fn while the statement that reads the checkpoint has its row. SQLite keeps the snapshot of a statement for all
// that begin before it has ended, so neither BEGIN nor COMMIT is needed, which cost more than a lookup.
func readSnapshot(c *driver.Conn, indexes *indexCache, fn func(s *Snapshot) error) error {
	return c.Query(snapshotSQL, func(r driver.Row) error {
		s := &Snapshot{sequenceReader: sequenceReader{c}, c: c, rows: c.Rows, model: uint64(r.Int(8)), indexes: indexes}
		if r[0] != nil {
			s.Checkpoint = scanCheckpoint(r)
		}
		return fn(s)
	})
}

// Own has the snapshot read for long, until ctx ends: another connection takes its place in the pool, and Swap does not wait for it. It does
// nothing more where the snapshot is its own. The error is Unavailable.
func (s *Snapshot) Own(ctx context.Context) error {
	if err := s.c.Own(ctx); err != nil {
		return err
	}
	if s.store != nil {
		s.store.mu.RUnlock()
		s.store = nil
	}
	return nil
}

// Parts of the queries for documents. The checkpoint is a column of each row, so that one statement
// reads both from one snapshot.
const (
	docColumns       = "d.number, d.collection, d.id, d.revision, d.position, d.created, d.updated, "
	fromDocument     = " FROM document d "
	fromHolders      = " FROM link l JOIN document d ON d.number = l.holder "
	embeddedBody     = "d.body, NULL"
	referencedBody   = "CASE typeof(d.source) WHEN 'text' THEN d.source ELSE d.body END, " + referencedPlaces
	referencedPlaces = "CASE typeof(d.source) WHEN 'blob' THEN d.source END"
	checkpointAt     = ", (SELECT max(position, seq << 20) FROM checkpoint WHERE id = 1)"
	whereKey         = "WHERE d.collection = ? AND d.id = ?"
	getEmbeddedSQL   = "SELECT " + docColumns + embeddedBody + checkpointAt + fromDocument + whereKey
	getReferenceSQL  = "SELECT " + docColumns + referencedBody + checkpointAt + fromDocument + whereKey
)

// scanDocument returns the document in a row of docColumns, a body, and the places of derived members that are no part of
// the view.
func scanDocument(r driver.Row) *fanfold.Document {
	return &fanfold.Document{Number: r.Int(0), Key: fanfold.Key{Collection: r.Text(1), ID: r.Text(2)},
		Revision: fanfold.Revision(r.Int(3)), Position: fanfold.Position(r.Int(4)),
		Created: timeOf(r.Int(5)), Updated: timeOf(r.Int(6)), Body: ReferencedView{r[8]}.Text(r.Bytes(7))}
}

// Get returns a document, or nil where there is none, and the position of the prefix that was read,
// 0 where there is no document.
func (db *DB) Get(key fanfold.Key, view fanfold.View) (doc *fanfold.Document, at fanfold.Position, err error) {
	query := getEmbeddedSQL
	if view == fanfold.Referenced {
		query = getReferenceSQL
	}
	err = db.file.WithReader(func(c *driver.Conn) error {
		_, err := c.QueryRow(query, func(r driver.Row) {
			doc, at = scanDocument(r), fanfold.Position(r.Int(9))
		}, key.Collection, key.ID)
		return err
	})
	return doc, at, err
}

// At returns the position of the prefix that the snapshot shows.
func (s *Snapshot) At() fanfold.Position { return s.Checkpoint.At() }

// Get returns a document, or nil where there is none.
func (s *Snapshot) Get(key fanfold.Key, view fanfold.View) (doc *fanfold.Document, err error) {
	query := getEmbeddedSQL
	if view == fanfold.Referenced {
		query = getReferenceSQL
	}
	_, err = s.c.QueryRow(query, func(r driver.Row) { doc = scanDocument(r) }, key.Collection, key.ID)
	return doc, err
}

// selectView returns the start of a query for documents in one view, up to its tables.
func selectView(view fanfold.View) string {
	if view == fanfold.Referenced {
		return "SELECT " + docColumns + referencedBody
	}
	return "SELECT " + docColumns + embeddedBody
}

// GetWithin returns a document, or nil where there is none, and how many bytes its body has. A body of more than
// maxBytes is not read, and nil.
func (s *Snapshot) GetWithin(key fanfold.Key, view fanfold.View, maxBytes int) (doc *fanfold.Document, size int, err error) {
	if view == fanfold.Referenced {
		return s.getReferencedWithin(key, maxBytes)
	}
	_, err = s.c.QueryRow(getEmbeddedWithinSQL, func(r driver.Row) {
		doc, size = scanDocument(r), int(r.Int(9))
	}, int64(maxBytes), key.Collection, key.ID)
	return doc, size, err
}

// getReferencedWithin does what GetWithin does for the referenced view.
func (s *Snapshot) getReferencedWithin(key fanfold.Key, maxBytes int) (doc *fanfold.Document, size int, err error) {
	found, err := s.c.QueryRow(referencedLengthSQL, func(r driver.Row) {
		doc, size = scanDocument(r), ReferencedView{r[10]}.textLength(int(r.Int(9)))
	}, key.Collection, key.ID)
	if err != nil || !found || size > maxBytes {
		return doc, size, err
	}
	doc, err = s.Get(key, fanfold.Referenced)
	return doc, size, err
}

// The queries of GetWithin. The length of a column is known without reading it (SQLite documentation, octet_length).
const (
	getEmbeddedWithinSQL = "SELECT " + docColumns + "CASE WHEN octet_length(d.body) <= ?1 THEN d.body END, NULL, octet_length(d.body)" +
		fromDocument + "WHERE d.collection = ?2 AND d.id = ?3"
	referencedLengthSQL = "SELECT " + docColumns + "NULL, NULL, CASE typeof(d.source) WHEN 'text' THEN octet_length(d.source) ELSE octet_length(d.body) END, " + referencedPlaces +
		fromDocument + whereKey
)

// pageBytes bounds the bodies of one page of documents, in bytes, and exportBytes an export's bodies.
const (
	pageBytes   = 8 << 20
	exportBytes = 1 << 20
)

// documents returns the documents that a query finds: limit of them at most, and fewer where they have more than maxBytes.
// more reports whether others follow.
func (s *Snapshot) documents(limit, maxBytes int, query string, args ...driver.Value) (docs []*fanfold.Document, more bool, err error) {
	size := 0
	more, err = s.eachDocument(limit, func(doc *fanfold.Document) (bool, error) {
		if size > maxBytes {
			return false, nil
		}
		size += len(doc.Body)
		docs = append(docs, doc)
		return true, nil
	}, query, args...)
	return docs, more, err
}

// eachDocument calls fn with the documents that a query finds, limit of them at most, each read when its turn comes, until
// fn returns false or an error. more reports whether others follow, that for which fn returned false included.
func (s *Snapshot) eachDocument(limit int, fn func(doc *fanfold.Document) (bool, error), query string, args ...driver.Value) (more bool, err error) {
	n := 0
	err = s.c.Query(query+" LIMIT ? + 0", func(r driver.Row) error {
		taken := n < limit
		if taken {
			var err error
			if taken, err = fn(scanDocument(r)); err != nil {
				return err
			}
		}
		if !taken {
			more = true
			return driver.ErrStop
		}
		n++
		return nil
	}, append(args, int64(limit)+1)...)
	return more, err
}

// EachListed calls fn with documents of a collection whose ids come after the id after, in order of id. It stops at
// limit, or once fn returns false or an error. more reports whether others follow, that for which fn returned false
// included. fn may read by GetWithin.
func (s *Snapshot) EachListed(collection, after string, limit int, view fanfold.View, fn func(doc *fanfold.Document) (bool, error)) (more bool, err error) {
	return s.eachDocument(limit, fn, selectView(view)+fromDocument+"WHERE d.collection = ? AND d.id > ? ORDER BY d.id", collection, after)
}

// scannedNumbers is how many numbers ScanOf passes over at most, so that its snapshot does not last long where few documents
// are of the collections.
const scannedNumbers = 50_000

// ScanOf returns documents of several collections with numbers greater than after, with both views and in order of creation: limit of them at most, and fewer where they are large. It may
// pass over scannedNumbers of numbers only. last is the number that it has come to, and more tells whether there may be others after it.
func (s *Snapshot) ScanOf(collections []string, after int64, limit int) (rows []*Row, last int64, more bool, err error) {
	names, err := json.Marshal(collections)
	if err != nil {
		return nil, 0, false, err
	}
	last = after + scannedNumbers
	rows, full, err := s.scanRows("d.number > ? AND d.number <= ? AND +d.collection IN (SELECT value FROM json_each(?)) ORDER BY d.number LIMIT ? + 0",
		after, last, string(names), int64(limit))
	if n := len(rows); full || n == limit {
		return rows, rows[n-1].Number, true, err
	}
	return rows, last, last < int64(s.Checkpoint.Seq), err
}

// scanRows returns documents with both views that a condition holds for. full tells that it ended before the last one,
// because they are large.
func (s *Snapshot) scanRows(condition string, args ...driver.Value) (rows []*Row, full bool, err error) {
	size := 0
	err = s.c.Query(rowSQL+condition, func(r driver.Row) error {
		row := scanRow(r)
		rows = append(rows, row)
		if size += row.size(); size > pageBytes {
			full = true
			return driver.ErrStop
		}
		return nil
	}, args...)
	return rows, full, err
}

// Row returns the document with a key, with both views, or nil where there is none.
func (s *Snapshot) Row(key fanfold.Key) (row *Row, err error) {
	_, err = s.c.QueryRow(rowByKeySQL, func(r driver.Row) { row = scanRow(r) }, key.Collection, key.ID)
	return row, err
}

// NumberOf returns the number of a document, 0 where there is no document.
func (s *Snapshot) NumberOf(key fanfold.Key) (number int64, err error) {
	_, err = s.c.QueryRow("SELECT number FROM document WHERE collection = ? AND id = ?", func(r driver.Row) { number = r.Int(0) }, key.Collection, key.ID)
	return number, err
}

// RowByNumber returns the document with a number, with both views, or nil where there is none.
func (s *Snapshot) RowByNumber(number int64) (row *Row, err error) {
	_, err = s.c.QueryRow(rowByNumberSQL, func(r driver.Row) { row = scanRow(r) }, number)
	return row, err
}

// LogDigest holds the digest of all events up to Seq.
type LogDigest struct {
	Seq    uint64
	Digest fanfold.Digest
}

// LastLogDigest returns the last of the digests that were stored up to event seq, the zero value for none. Before all of them stands the horizon's.
func (s *Snapshot) LastLogDigest(seq uint64) (last LogDigest, err error) {
	if h, _, err := s.Horizon(); err != nil {
		return last, err
	} else if h.Seq <= seq {
		last = LogDigest{h.Seq, h.Digest}
	}
	_, err = s.c.QueryRow("SELECT seq, digest FROM log_digest WHERE seq > ? AND seq <= ? ORDER BY seq DESC LIMIT 1", func(r driver.Row) {
		last = LogDigest{uint64(r.Int(0)), digestOf(r.Blob(1))}
	}, int64(last.Seq), int64(seq))
	return last, err
}

// LogDigests returns the digests of the log that were stored later than event after, in order, limit of them at most.
func (s *Snapshot) LogDigests(after uint64, limit int) (digests []LogDigest, err error) {
	err = s.c.Query("SELECT seq, digest FROM log_digest WHERE seq > ? ORDER BY seq LIMIT ? + 0", func(r driver.Row) error {
		digests = append(digests, LogDigest{uint64(r.Int(0)), digestOf(r.Blob(1))})
		return nil
	}, int64(after), int64(limit))
	return digests, err
}

// Tombstone returns the sequence of the delete of a document, 0 where it was never deleted or is
// there again.
func (s *Snapshot) Tombstone(key fanfold.Key) (revision fanfold.Revision, err error) {
	_, err = s.c.QueryRow("SELECT revision FROM tombstone WHERE collection = ? AND id = ?", func(r driver.Row) { revision = fanfold.Revision(r.Int(0)) }, key.Collection, key.ID)
	return revision, err
}

// Lane is a way to read a store that has a connection and turns of its own. A read by it waits for others of the lane alone, and no
// other read waits for it.
type Lane struct {
	store *Store
	turn  chan struct{} // has an element while somebody reads
}

// Lanes are the lanes of a store, one for each kind of work that may take much longer than a lookup.
type Lanes struct {
	CatchUp Lane // pages of feeds whose consumers are far from the head
	Head    Lane // and of those near it
	Long    Lane // differences, exports and histories
}

// newLanes returns the lanes of a store.
func newLanes(s *Store) Lanes {
	lane := func() Lane { return Lane{s, make(chan struct{}, 1)} }
	return Lanes{CatchUp: lane(), Head: lane(), Long: lane()}
}

// Read runs fn on one snapshot, as Store.Read does. It blocks until it is this read's turn. Swap does not wait for it meanwhile.
func (l Lane) Read(fn func(snap *Snapshot) error) error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.store.Use(func(db *DB) error {
		return db.file.WithLane(func(c *driver.Conn) error { return readSnapshot(c, &db.indexes, fn) })
	})
}
