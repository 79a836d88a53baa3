package bench

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold/sqlite"
)

// Get compares GET of an embedded book through the API at addr with a bare Echo handler that reads one SQLite row of
// the same file, over conns connections. books is how many there are.
func Get(ctx context.Context, store *sqlite.Store, addr string, conns, books int) (r Result, err error) {
	path, err := CurrentFile(store)
	if err != nil {
		return r, err
	}
	bare, stop, err := serveRows(path, 16, "SELECT body FROM document WHERE collection = ? AND id = ?", "/v1/:collection/:id", func(stmt *sql.Stmt, c echo.Context) error {
		var body []byte
		if err := stmt.QueryRow(c.Param("collection"), c.Param("id")).Scan(&body); err != nil {
			return err
		}
		return c.JSONBlob(http.StatusOK, body)
	})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	var p99 []float64
	r, err = Pair{Name: fmt.Sprintf("GET of an embedded book, %d connections", conns), Unit: "requests/s", Limit: "a bare Echo handler that reads one SQLite row",
		Ours: func(int) (float64, error) {
			rate, lats, err := Send(ctx, addr, conns, Books(books))
			p99 = append(p99, percentile(lats, 99))
			return rate, err
		}, Plain: Rate(ctx, bare, conns, Books(books))}.Run()
	if err == nil {
		r.Notes[0] += fmt.Sprintf("; our p99 %.2f ms", median(p99[1:]))
	}
	return r, err
}

// PlainPages serves the page that a statement gives at /page, as serveRows does.
func PlainPages(path, statement string) (addr string, stop func() error, err error) {
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
	db, err := OpenPlain(path)
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
