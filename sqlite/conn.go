package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"unsafe"

	"github.com/mattn/go-sqlite3"

	"github.com/fanfold/fanfold"
)

// conn is one SQLite connection with its prepared statements, for one goroutine at a time. It
// bypasses database/sql, whose pool, locks and conversions cost more than most of our statements.
type conn struct {
	raw      *sqlite3.SQLiteConn
	stmts    map[string]*stmt
	writes   int                                      // statements that wrote, since CheckpointWAL last looked
	rows     int                                      // that queries returned, and links that were counted
	before   func(tables tableSet, writes bool) error // called before statements about tables of which rows are kept back; nil for none
	ctx      context.Context                          // ends queries; nil for none
	deferred *deferral                                // of the transaction that defers what it writes; nil for none
	reading  int                                      // queries of which rows are being read
	runner   runner
}

// stmt is a prepared statement with the row that its queries read into.
type stmt struct {
	*sqlite3.SQLiteStmt
	row    []driver.Value
	writes bool
	tables tableSet // that it may be about, of those of which rows are kept back
}

// openConn opens a connection and sets pragmas on it. The caller closes it. Errors are SQLite's
// own, not translated.
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

// close closes the statements and the connection.
func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// prepare returns the statement for a query, which it compiles once for each connection.
func (c *conn) prepare(query string) (*stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	if err := c.settle(); err != nil {
		return nil, err
	}
	p, err := c.raw.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	s := &stmt{SQLiteStmt: p.(*sqlite3.SQLiteStmt)}
	s.writes, s.tables = !s.Readonly(), tablesIn(query)
	c.stmts[query] = s
	return s, nil
}

// settle runs the statements that the connection has deferred. The error is of the first that failed.
func (c *conn) settle() error {
	if c.deferred == nil {
		return nil
	}
	return c.deferred.settle()
}

// exec runs a statement that returns no rows. Arguments are int64, string, []byte for a blob, borrowedText, or nil; they
// may be changed once exec has returned. It asks failWrite before every statement that writes. In a transaction a
// statement may be deferred: it is run later, and its error returned later, at the transaction's end at the latest.
func (c *conn) exec(query string, args ...driver.Value) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	if c.ctx != nil && c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	if c.before != nil && s.tables != 0 {
		if err := c.before(s.tables, s.writes); err != nil {
			return err
		}
	}
	if s.writes {
		c.writes++
	}
	if c.deferred != nil {
		return c.deferred.exec(s, args, c.reading > 0) // a query that is being read uses the connection
	}
	return c.runner.run(s, args)
}

// runner runs statements of a connection, in one goroutine.
type runner struct {
	// failWrite is for tests and for nodes that stop, and otherwise nil. It is called before every statement that writes; an
	// error of it is returned in place of SQLite's.
	failWrite func() error
	named     namedValues
}

// run runs a statement that returns no rows. The error is translated.
func (r *runner) run(s *stmt, args []driver.Value) error {
	if s.writes && r.failWrite != nil {
		if err := r.failWrite(); err != nil {
			return err
		}
	}
	_, err := s.ExecContext(context.Background(), r.named.of(args))
	return translateError(err)
}

// namedValues are the arguments of a statement as the driver wants them.
type namedValues []driver.NamedValue

// of returns args, valid until the next call: a statement copies them when it starts.
func (n *namedValues) of(args []driver.Value) []driver.NamedValue {
	*n = (*n)[:0]
	for i, v := range args {
		if b, ok := v.(borrowedText); ok {
			v = string(b)
		}
		*n = append(*n, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return *n
}

// query calls fn for each row of a result, and returns the first error of fn. The row is
// overwritten after fn returns. fn must not run the same query on this connection.
func (c *conn) query(query string, fn func(row []driver.Value) error, args ...driver.Value) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	if c.before != nil && s.tables != 0 {
		if err := c.before(s.tables, s.writes); err != nil {
			return err
		}
	}
	if err := c.settle(); err != nil {
		return err
	}
	rows, err := c.start(s, args)
	if err != nil {
		return translateError(err)
	}
	c.reading++
	defer func() { c.reading-- }()
	if s.row == nil {
		s.row = make([]driver.Value, len(rows.Columns()))
	}
	for {
		if err := rows.Next(s.row); err != nil {
			if !errors.Is(err, io.EOF) {
				return errors.Join(translateError(err), rows.Close())
			}
			return rows.Close()
		}
		c.rows++
		if err := fn(s.row); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
}

// start starts a query. Where the connection has a context, the query ends with it.
func (c *conn) start(s *stmt, args []driver.Value) (driver.Rows, error) {
	ctx := c.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, c.runner.named.of(args))
}

// errStopRows is returned by a function given to query to end the query without an error. query
// returns it, and its caller drops it.
var errStopRows = errors.New("stop")

// queryRow calls fn for the first row of a result and reports whether there was one.
func (c *conn) queryRow(query string, fn func(row []driver.Value), args ...driver.Value) (bool, error) {
	found := false
	err := c.query(query, func(row []driver.Value) error {
		found = true
		fn(row)
		return errStopRows
	}, args...)
	if errors.Is(err, errStopRows) {
		err = nil
	}
	return found, err
}

// translateError returns SQLite's error as an Unavailable or Internal one that says what to do,
// chosen by its code. Other errors, and nil, are returned as they are.
func translateError(err error) error {
	if err == nil {
		return nil
	}
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

// isCorrupt reports whether err says that a file is not a database, or is damaged.
func isCorrupt(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB)
}

// borrowedText is a text to bind whose memory belongs to somebody who may use it again.
type borrowedText string

// textValue returns bytes as a text value to bind, NULL for nil. It does not copy: SQLite and what defers a statement do.
func textValue(b []byte) driver.Value {
	if b == nil {
		return nil
	}
	return borrowedText(unsafe.String(unsafe.SliceData(b), len(b)))
}

// bytesOf returns a text value as bytes, nil for NULL. It does not copy, so nobody may write into
// them.
func bytesOf(v driver.Value) []byte {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// blobOf returns a blob, nil for NULL.
func blobOf(v driver.Value) []byte { b, _ := v.([]byte); return b }

// intOf returns an integer, 0 for NULL.
func intOf(v driver.Value) int64 { i, _ := v.(int64); return i }

// textOf returns a text, "" for NULL.
func textOf(v driver.Value) string { s, _ := v.(string); return s }
