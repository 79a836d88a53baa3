package main

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// handWritten writes every row of the read model in dir into a new file of the same schema, a
// thousand documents a transaction. It returns how many of count it wrote a second.
func handWritten(dir string, count int) (rate float64, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "readmodel", "*.db"))
	if err != nil || len(files) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d read models in %s", len(files), dir))
	}
	from, err := openPlain(files[0])
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to := filepath.Join(dir, "limit.db")
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(to + suffix) // there may be none
		}
	}()
	// In the order in which documents are created: a loop cannot sort links that it has yet to see.
	tables := []table{{name: "document", order: "number"},
		{name: "link", order: "holder"}, {name: "change", order: "position"}}
	for i := range tables {
		if err := tables[i].read(from); err != nil {
			return 0, err
		}
	}
	took, err := writeAll(from, to, tables)
	return float64(count) / took.Seconds(), err
}

// table has the rows of a table in an order.
type table struct {
	name, order string
	rows        [][]any
}

// read reads all rows.
func (t *table) read(db *sql.DB) (err error) {
	rows, err := db.Query("SELECT * FROM " + t.name + " ORDER BY " + t.order)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	cols, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		row, ptr := make([]any, len(cols)), make([]any, len(cols))
		for i := range row {
			ptr[i] = &row[i]
		}
		if err := rows.Scan(ptr...); err != nil {
			return err
		}
		t.rows = append(t.rows, row)
	}
	return nil
}

// writeAll writes the tables, first the documents, to a new file with the schema of from, and returns how long that
// took.
func writeAll(from *sql.DB, path string, tables []table) (took time.Duration, err error) {
	// The settings of our own replay: nothing is synced until the file is finished.
	db, err := sql.Open("sqlite3", "file:"+url.PathEscape(path)+"?_journal_mode=OFF&_synchronous=OFF&_cache_size=-32768")
	if err != nil {
		return 0, err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := copySchema(from, db); err != nil {
		return 0, err
	}
	began := time.Now()
	const batch = 1000 // documents
	documents := len(tables[0].rows)
	for start := 0; start < documents; start += batch {
		tx, err := db.Begin()
		if err != nil {
			return 0, err
		}
		for _, t := range tables {
			n := len(t.rows)
			part := t.rows[n*start/documents : n*min(start+batch, documents)/documents]
			if err := insert(tx, t.name, part); err != nil {
				return 0, errors.Join(err, tx.Rollback())
			}
		}
		if err := tx.Commit(); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// copySchema creates the tables and indexes of one file in another. Triggers tell of deletes; a loop of inserts has none.
func copySchema(from, to *sql.DB) (err error) {
	rows, err := from.Query(`SELECT sql FROM sqlite_schema
WHERE type IN ('table', 'index') AND sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY type DESC`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if _, err := to.Exec(text); err != nil {
			return err
		}
	}
	return nil
}

// insert inserts rows into a table.
func insert(tx *sql.Tx, table string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	marks := bytes.Repeat([]byte(",?"), len(rows[0]))[1:]
	stmt, err := tx.Prepare("INSERT INTO " + table + " VALUES (" + string(marks) + ")")
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := stmt.Exec(row...); err != nil {
			return errors.Join(err, stmt.Close())
		}
	}
	return stmt.Close()
}
