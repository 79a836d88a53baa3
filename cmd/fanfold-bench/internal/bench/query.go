package bench

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// PlainSeconds returns how many seconds a statement takes that reads all its rows from a file.
func PlainSeconds(ctx context.Context, db *sql.DB, statement string, args ...any) (seconds float64, err error) {
	began := time.Now()
	rows, err := db.QueryContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	row := make([]any, len(columns))
	for i := range row {
		row[i] = new(sql.RawBytes)
	}
	for rows.Next() {
		if err := rows.Scan(row...); err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds(), rows.Err()
}

// BareIndex reads the bodies of all books from a file, makes keys of them, sorts these and stores them in a new table of a new file. It
// returns how many seconds that took.
func BareIndex(ctx context.Context, from, to string, key func(body []byte) ([]byte, error)) (seconds float64, err error) {
	db, err := OpenPlain(from)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	out, err := OpenPlain(to)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	began := time.Now()
	type entry struct {
		key    []byte
		number int64
	}
	var all []entry
	rows, err := db.QueryContext(ctx, "SELECT number, body FROM document WHERE collection = 'books'")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e entry
		var body sql.RawBytes
		if err := rows.Scan(&e.number, &body); err != nil {
			return 0, err
		}
		if e.key, err = key(body); err != nil {
			return 0, err
		}
		all = append(all, e)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	if _, err := out.ExecContext(ctx, "CREATE TABLE entry (idx INTEGER, key BLOB, tie INTEGER, PRIMARY KEY (idx, key, tie)) WITHOUT ROWID"); err != nil {
		return 0, err
	}
	tx, err := out.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	stmt, err := tx.PrepareContext(ctx, "INSERT INTO entry VALUES (1, ?, ?)")
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		if _, err := stmt.ExecContext(ctx, e.key, e.number); err != nil {
			return 0, err
		}
	}
	err = errors.Join(stmt.Close(), tx.Commit())
	return time.Since(began).Seconds(), err
}
