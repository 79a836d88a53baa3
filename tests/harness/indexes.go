package harness

import (
	"database/sql/driver"
	"errors"
	"io"
	"net/url"

	"github.com/mattn/go-sqlite3"

	"github.com/fanfold/fanfold/sqlite"
)

// IndexOrder returns the ids of the documents that an index has entries of, in order. A document may be there several times.
func IndexOrder(t interface{ Fatal(args ...any) }, s *Store, collection, name string) []string {
	s.CatchUp()
	var path string
	err := s.Node.Store.Use(func(db *sqlite.DB) error { path = db.Path(); return nil })
	if err == nil {
		var ids []string
		if ids, err = IndexOrderOf(path, collection, name); err == nil {
			return ids
		}
	}
	t.Fatal(err)
	return nil
}

// IndexOrderOf does what IndexOrder does, from a read model's file.
func IndexOrderOf(path, collection, name string) (ids []string, err error) {
	c, err := (&sqlite3.SQLiteDriver{}).Open("file:" + url.PathEscape(path) + "?mode=ro")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	rows, err := c.(*sqlite3.SQLiteConn).Query(`SELECT d.id FROM declared_index x JOIN index_entry e ON e.idx = x.id
		JOIN document d ON d.number = CASE WHEN e.tie < 0 THEN ~e.tie ELSE e.tie END WHERE x.collection = ? AND x.name = ? ORDER BY e.key, e.tie`, //nolint:staticcheck // the plain driver, without a pool
		[]driver.Value{collection, name})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		dest := make([]driver.Value, 1)
		if err := rows.Next(dest); errors.Is(err, io.EOF) {
			return ids, nil
		} else if err != nil {
			return nil, err
		}
		ids = append(ids, dest[0].(string))
	}
}
