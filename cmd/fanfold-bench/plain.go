package main

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	_ "github.com/mattn/go-sqlite3" // the driver under database/sql

	"github.com/fanfold/fanfold/sqlite"
)

// currentFile returns the path of the read model that is served.
func currentFile(store *sqlite.Store) (path string, err error) {
	err = store.Use(func(db *sqlite.DB) error { path = db.Path(); return nil })
	return path, err
}

// openPlain opens an SQLite file with settings like our own; the caller closes it.
func openPlain(path string) (*sql.DB, error) {
	return sql.Open("sqlite3", "file:"+url.PathEscape(path)+"?_journal_mode=WAL&_synchronous=NORMAL&_cache_size=-32768")
}

// withPlain calls fn with the read model that is served, as a plain SQLite file.
func withPlain(store *sqlite.Store, fn func(db *sql.DB) error) error {
	path, err := currentFile(store)
	if err != nil {
		return err
	}
	db, err := openPlain(path)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close())
}

// rename is a rename that reaches a copy of the name in every book.
type rename struct {
	name   string // the result's
	path   string // of the copy in a book, as SQLite's JSON functions take it
	where  string // which books these are, as SQL; "" for all
	copies int
	write  func(name string) error // renames, and returns once all copies are right
}

// rename compares a rename, feed rows included, with one UPDATE by json_set. The UPDATE sets the same member of the
// same rows on a copy of the store's file.
func (b *bench) rename(ctx context.Context, store *sqlite.Store, r rename) error {
	plain := filepath.Join(b.dir, "limit.db")
	err := withPlain(store, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "VACUUM INTO ?", plain)
		return err
	})
	if err != nil {
		return err
	}
	return b.pair(pair{name: r.name, unit: "copies/s", limit: "one UPDATE ... json_set over the same rows, without feed rows", rounds: 4,
		ours:  perSecond(r.copies, func(round int) error { return r.write(fmt.Sprintf("Bob%d", round)) }),
		plain: func(round int) (float64, error) { return r.update(plain, fmt.Sprintf("Bob%d Author", round)) }})
}

// update sets the name in every book of a file, and returns how many it set a second.
func (r rename) update(file, name string) (rate float64, err error) {
	db, err := openPlain(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return perSecond(r.copies, func(int) error {
		res, err := db.Exec("UPDATE document SET body = json_set(body, ?, ?) WHERE collection = 'books' AND "+cmp.Or(r.where, "true"), r.path, name)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != int64(r.copies) {
			return errors.Join(err, fmt.Errorf("%d rows updated", n))
		}
		return nil
	})(0)
}

// servePages serves the page that a statement gives at /page, as serveRows does.
func servePages(path, statement string) (addr string, stop func() error, err error) {
	return serveRows(path, 64, statement, "/page", func(stmt *sql.Stmt, c echo.Context) (err error) {
		rows, err := stmt.Query()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		text := bytes.NewBufferString(`{"items":[`)
		for n := 0; rows.Next(); n++ {
			var body sql.RawBytes
			if err := rows.Scan(&body); err != nil {
				return err
			}
			if n > 0 {
				text.WriteByte(',')
			}
			text.Write(body)
		}
		text.WriteString("]}")
		return errors.Join(rows.Err(), c.JSONBlob(http.StatusOK, text.Bytes()))
	})
}

// serveRows answers a route by a statement over the file at path, as plainly as Echo, database/sql and the driver allow, until stop is
// called. It has so many idle connections to the file.
func serveRows(path string, idle int, statement, route string, handle func(stmt *sql.Stmt, c echo.Context) error) (addr string, stop func() error, err error) {
	db, err := openPlain(path)
	if err != nil {
		return "", nil, err
	}
	db.SetMaxIdleConns(idle)
	stmt, err := db.Prepare(statement)
	if err != nil {
		return "", nil, errors.Join(err, db.Close())
	}
	e := echo.New()
	e.GET(route, func(c echo.Context) error { return handle(stmt, c) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, errors.Join(err, stmt.Close(), db.Close())
	}
	srv := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	return l.Addr().String(), func() error {
		err := srv.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return errors.Join(err, stmt.Close(), db.Close())
	}, nil
}

// readAll reads all rows of a statement.
func readAll(ctx context.Context, db *sql.DB, statement string) (err error) {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	row := make([]any, len(columns))
	for i := range row {
		row[i] = new(sql.RawBytes)
	}
	for rows.Next() {
		if err := rows.Scan(row...); err != nil {
			return err
		}
	}
	return nil
}

// bareIndex reads the bodies of all books from a file, makes keys of them, sorts these and stores them in a new table of a new file.
func bareIndex(ctx context.Context, from *sql.DB, to string, key func(body []byte) []byte) (err error) {
	out, err := openPlain(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	type entry struct {
		key    []byte
		number int64
	}
	var all []entry
	rows, err := from.QueryContext(ctx, "SELECT number, body FROM document WHERE collection = 'books'")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e entry
		var body sql.RawBytes
		if err := rows.Scan(&e.number, &body); err != nil {
			return err
		}
		e.key = key(body)
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	_, err = out.ExecContext(ctx, "CREATE TABLE entry (idx INTEGER, key BLOB, tie INTEGER, PRIMARY KEY (idx, key, tie)) WITHOUT ROWID")
	if err = errors.Join(err, rows.Err()); err != nil {
		return err
	}
	tx, err := out.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	entries := make([][]any, len(all))
	for i, e := range all {
		entries[i] = []any{1, e.key, e.number}
	}
	return errors.Join(insert(tx, "entry", entries), tx.Commit())
}
