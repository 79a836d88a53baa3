package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"unsafe"

	"github.com/mattn/go-sqlite3"

	"github.com/fanfold/fanfold"
)

// conn is one SQLite connection with its prepared statements. It bypasses database/sql, whose
// pool, locks and conversions cost more than most of our statements. One goroutine at a time.
type conn struct {
	raw   *sqlite3.SQLiteConn
	stmts map[string]*stmt
	wrote int // statements that wrote
	// fail is asked before every statement that writes; its error stands for SQLite's.
	fail func() error
}

type stmt struct {
	*sqlite3.SQLiteStmt
	row    []driver.Value
	writes bool
}

func openConn(dsn string, pragmas ...string) (*conn, error) {
	c, err := (&sqlite3.SQLiteDriver{}).Open(dsn)
	if err != nil {
		return nil, err
	}
	out := &conn{raw: c.(*sqlite3.SQLiteConn), stmts: map[string]*stmt{}}
	for _, p := range pragmas {
		if _, err := out.raw.Exec("PRAGMA "+p, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("PRAGMA %s: %w", p, err), out.close())
		}
	}
	return out, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

func (c *conn) prepare(query string) (*stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	p, err := c.raw.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	s := &stmt{SQLiteStmt: p.(*sqlite3.SQLiteStmt)}
	s.writes = !s.Readonly()
	c.stmts[query] = s
	return s, nil
}

// exec runs a statement. Arguments are int64, string, []byte for a blob, or nil.
func (c *conn) exec(query string, args ...driver.Value) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	if s.writes {
		c.wrote++
		if c.fail != nil {
			if err := c.fail(); err != nil {
				return err
			}
		}
	}
	if _, err := s.Exec(args); err != nil {
		return failure(err)
	}
	return nil
}

// query calls fn for each row; the row is overwritten afterwards. fn must not run the same
// query on this connection.
func (c *conn) query(query string, fn func(row []driver.Value) error, args ...driver.Value) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.Query(args)
	if err != nil {
		return failure(err)
	}
	if s.row == nil {
		s.row = make([]driver.Value, len(rows.Columns()))
	}
	for {
		if err := rows.Next(s.row); err != nil {
			if !errors.Is(err, io.EOF) {
				return errors.Join(failure(err), rows.Close())
			}
			return rows.Close()
		}
		if err := fn(s.row); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
}

// errStop ends a query early without an error.
var errStop = errors.New("stop")

// first calls fn for the first row only and tells whether there was one.
func (c *conn) first(query string, fn func(row []driver.Value), args ...driver.Value) (bool, error) {
	found := false
	err := c.query(query, func(row []driver.Value) error {
		found = true
		fn(row)
		return errStop
	}, args...)
	if errors.Is(err, errStop) {
		err = nil
	}
	return found, err
}

// failure translates SQLite's errors, by their codes.
func failure(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrFull:
		return fanfold.Wrap(err, fanfold.Unavailable, "the disk that holds the read model is full: free some space")
	case sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrPerm:
		return fanfold.Wrap(err, fanfold.Unavailable, "the read model's files cannot be written: check their permissions")
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return fanfold.Wrap(err, fanfold.Internal, "the read model's file is damaged: run fanfold replay, which builds it anew from the log")
	case sqlite3.ErrIoErr:
		return fanfold.Wrap(err, fanfold.Unavailable, "the disk that holds the read model fails: %s", strings.TrimSpace(e.Error()))
	}
	return err
}

// damaged tells whether err says that a file is not, or no longer, a database.
func damaged(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB)
}

// text and bytes convert without copying. SQLite copies what is bound to it, and nothing here
// writes into bytes it was given.
func text(b []byte) driver.Value {
	if b == nil {
		return nil
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}

func bytesOf(v driver.Value) []byte {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

func blobOf(v driver.Value) []byte { b, _ := v.([]byte); return b }

func intOf(v driver.Value) int64 { i, _ := v.(int64); return i }

func textOf(v driver.Value) string { s, _ := v.(string); return s }
