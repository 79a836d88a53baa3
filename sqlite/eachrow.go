package sqlite

import (
	"encoding/json"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// walkShare decides how EachRow finds the documents of some collections. If they hold one in walkShare of all documents,
// it goes over the table, whose rows are in order of creation; fewer it finds by the index.
const walkShare = 8

// rowsAtOnce is how many rows EachRow reads at a time.
const rowsAtOnce = 512

// EachRow calls fn with the documents of some collections, of all where the list is nil, with both views and in order of
// creation. Its work depends only on the size of these collections. fn may read, and may call EachRow. The error is
// fn's, or the read model's.
func (s *Scanner) EachRow(collections []string, fn func(row *Row) error) error {
	if collections == nil {
		return s.eachPage(fn, func(after int64) ([]*Row, bool, error) {
			return s.scanRows("d.number > ? ORDER BY d.number LIMIT ? + 0", after, int64(rowsAtOnce))
		})
	}
	names, err := json.Marshal(collections)
	if err != nil {
		return err
	}
	theirs, all, err := s.countDocuments(string(names))
	if err != nil {
		return err
	}
	if theirs*walkShare >= all {
		return s.eachPage(fn, func(after int64) ([]*Row, bool, error) {
			return s.scanRows("d.number > ? AND +d.collection IN (SELECT value FROM json_each(?)) ORDER BY d.number LIMIT ? + 0", after, string(names), int64(rowsAtOnce))
		})
	}
	s.scans++
	scan := int64(s.scans)
	if err := s.c.Exec(listNumbersSQL, scan, string(names)); err != nil {
		return err
	}
	if err := s.eachPage(fn, func(after int64) ([]*Row, bool, error) {
		return s.scanRows(listedRowsSQL, scan, after, int64(rowsAtOnce))
	}); err != nil {
		return err
	}
	return s.c.Exec("DELETE FROM temp.scan WHERE scan = ?", scan)
}

// The queries by which EachRow lists the numbers of documents, and reads the next ones of these.
const (
	listNumbersSQL = "INSERT INTO temp.scan (scan, number) SELECT ?1, number FROM document INDEXED BY document_key WHERE collection IN (SELECT value FROM json_each(?2)) ORDER BY number"
	listedRowsSQL  = "d.number IN (SELECT number FROM temp.scan WHERE scan = ? AND number > ? ORDER BY number LIMIT ? + 0) ORDER BY d.number"
)

// eachPage calls fn with the rows that read returns after a number, until there are none.
func (s *Scanner) eachPage(fn func(row *Row) error, read func(after int64) ([]*Row, bool, error)) error {
	for after := int64(0); ; {
		rows, _, err := read(after)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if err := fn(row); err != nil {
				return err
			}
			after = row.Number
		}
	}
}

// countDocuments returns how many documents the collections of a JSON list hold, and how many there are in all, as the fold has
// counted them.
func (s *Snapshot) countDocuments(names string) (theirs, all int64, err error) {
	_, err = s.c.QueryRow("SELECT coalesce(sum(documents) FILTER (WHERE name IN (SELECT value FROM json_each(?))), 0), coalesce(sum(documents), 0) FROM collection",
		func(r driver.Row) { theirs, all = r.Int(0), r.Int(1) }, names)
	return theirs, all, err
}

// Count returns how many documents some collections hold, all of them where the list is nil, as the fold has counted them.
func (s *Snapshot) Count(collections []string) (int64, error) {
	names, err := json.Marshal(collections)
	if err != nil {
		return 0, err
	}
	theirs, all, err := s.countDocuments(string(names))
	if collections == nil {
		return all, err
	}
	return theirs, err
}

// CountCollections returns how many documents each collection holds, as the fold has counted them. It has none that holds
// nothing.
func (s *Snapshot) CountCollections() (map[string]int64, error) {
	counts := map[string]int64{}
	return counts, s.c.Query("SELECT name, documents FROM collection WHERE documents > 0", func(r driver.Row) error {
		counts[r.Text(0)] = r.Int(1)
		return nil
	})
}
