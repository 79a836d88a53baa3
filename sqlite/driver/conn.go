package driver

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// Conn is one SQLite connection with its prepared statements, for one goroutine at a time. It
// bypasses database/sql, whose pool, locks and conversions cost more than most statements of a fold.
type Conn struct {
	Rows    int // that queries returned; callers add those that a count went over
	Written int // statements that wrote, until it is set to 0; callers add those that one statement saved

	raw      *sqlite3.SQLiteConn
	stmts    map[string]*stmt
	watch    watch
	ctx      context.Context // ends queries; nil for none
	deferred *deferral       // of the transaction that defers what it writes; nil for none
	spare    *deferral       // used again by every transaction; nil before the first
	reading  int             // queries whose rows are being read
	runner   runner
	pool     *pool // to which it goes back; nil for none
	own      bool  // see Own
}

// stmt is a prepared statement with the row that its queries read into.
type stmt struct {
	*sqlite3.SQLiteStmt
	row     Row
	writes  bool
	watched tables
}

// Mode says how a connection opens its file.
type Mode string

// The modes of a connection.
const (
	ReadOnly  Mode = "ro"
	ReadWrite Mode = "rw"
	Create    Mode = "rwc" // reads and writes, and makes a file that is not there
)

// dsn returns the name under which the driver opens a file.
func dsn(path string, mode Mode) string {
	return "file:" + url.PathEscape(path) + "?mode=" + string(mode) + "&_mutex=no"
}

// Open opens a connection and sets pragmas on it. The caller closes it. Errors are Unavailable or
// Internal where they are of the file.
func Open(path string, mode Mode, pragmas ...string) (*Conn, error) {
	c, err := (&sqlite3.SQLiteDriver{}).Open(dsn(path, mode))
	if err != nil {
		return nil, Translate(err)
	}
	out := &Conn{raw: c.(*sqlite3.SQLiteConn), stmts: map[string]*stmt{}}
	if err := out.Pragmas(pragmas...); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// Close closes the statements and the connection.
func (c *Conn) Close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// Pragmas sets several pragmas, one after the other. The error is translated.
func (c *Conn) Pragmas(list ...string) error {
	for _, p := range list {
		if _, err := c.raw.Exec("PRAGMA "+p, nil); err != nil {
			return Translate(fmt.Errorf("PRAGMA %s: %w", p, err))
		}
	}
	return nil
}

// EndWith makes every statement end with ctx's error once ctx has ended, until restore is called.
func (c *Conn) EndWith(ctx context.Context) (restore func()) {
	before := c.ctx
	c.ctx = ctx
	return func() { c.ctx = before }
}

// prepare returns the statement for a query, which it compiles once for each connection.
func (c *Conn) prepare(query string) (*stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	if err := c.Settle(); err != nil {
		return nil, err
	}
	c.watch.compiled = tables{}
	p, err := c.raw.Prepare(comparedTerms(query))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	s := &stmt{SQLiteStmt: p.(*sqlite3.SQLiteStmt), watched: c.watch.compiled}
	s.writes = !s.Readonly()
	c.stmts[query] = s
	return s, nil
}

// comparedTerms returns a statement whose comparisons with an argument are with a term of it. SQLite plans by the value of a bare argument there, and so
// compiles most statements with an ORDER BY anew whenever a text or a blob is bound. The value of a term it does not look at, and its type stays.
func comparedTerms(query string) string { return strings.ReplaceAll(query, " = ?", " = +?") }

// Settle runs the statements that the connection has deferred. The error is of the first that failed.
func (c *Conn) Settle() error {
	if c.deferred == nil {
		return nil
	}
	return c.deferred.settle()
}

// Exec runs a statement that returns no rows. Arguments are int64, string, []byte for a blob, what Text returns, or nil; they
// may be changed once Exec has returned. It asks FailWrite before every statement that writes. Within Update a
// statement may be deferred: it is run later, and its error returned later, at the transaction's end at the latest.
func (c *Conn) Exec(query string, args ...Value) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	if c.ctx != nil && c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	if err := c.watch.notify(s); err != nil {
		return err
	}
	if s.writes {
		c.Written++
	}
	if c.deferred != nil {
		return c.deferred.exec(s, args, c.reading > 0) // a query that is being read uses the connection
	}
	return c.runner.run(s, args)
}

// runner runs statements of a connection, in one goroutine.
type runner struct {
	// failWrite is nil for none. It is called before every statement that writes; an error of it is returned in place of SQLite's.
	failWrite func() error
	named     namedValues
}

// run runs a statement that returns no rows. The error is translated.
func (r *runner) run(s *stmt, args []Value) error {
	if s.writes && r.failWrite != nil {
		if err := r.failWrite(); err != nil {
			return err
		}
	}
	_, err := s.ExecContext(context.Background(), r.named.of(args))
	return Translate(err)
}

// namedValues are the arguments of a statement as the driver wants them.
type namedValues []driver.NamedValue

// of returns args, valid until the next call: a statement copies them when it starts.
func (n *namedValues) of(args []Value) []driver.NamedValue {
	*n = (*n)[:0]
	for i, v := range args {
		if b, ok := v.(borrowedText); ok {
			v = string(b)
		}
		*n = append(*n, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return *n
}

// ErrStop is returned by a function given to Query to end the query without an error.
var ErrStop = errors.New("stop")

// Query calls fn for each row of a result, until fn returns an error, which Query returns. The row is
// overwritten after fn returns. fn must not run the same query on this connection.
func (c *Conn) Query(query string, fn func(r Row) error, args ...Value) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	if err := c.watch.notify(s); err != nil {
		return err
	}
	if err := c.Settle(); err != nil {
		return err
	}
	return c.read(s, fn, args)
}

// QueryAhead does what Query does, ahead of the statements that the connection has deferred, and without the function of Watch. The
// caller knows that these write none of the rows that it asks for. fn must not use the connection.
func (c *Conn) QueryAhead(query string, fn func(r Row) error, args ...Value) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	if c.deferred == nil {
		return c.read(s, fn, args)
	}
	t := &c.deferred.turn
	t.take()
	defer t.give()
	if t.failed != nil {
		return t.failed
	}
	return c.read(s, fn, args)
}

// QueryRowAhead is QueryRow by QueryAhead.
func (c *Conn) QueryRowAhead(query string, fn func(r Row), args ...Value) (found bool, err error) {
	err = c.QueryAhead(query, func(r Row) error {
		found = true
		fn(r)
		return ErrStop
	}, args...)
	return found, err
}

// SettleWrites runs the statements that the connection has deferred if one of them writes any of the tables.
func (c *Conn) SettleWrites(t Tables) error {
	if c.deferred == nil || c.deferred.written&t == 0 {
		return nil
	}
	return c.Settle()
}

// read starts a query and calls fn for each row.
func (c *Conn) read(s *stmt, fn func(r Row) error, args []Value) error {
	rows, err := c.start(s, args)
	if err != nil {
		return Translate(err)
	}
	c.reading++
	defer func() { c.reading-- }()
	if s.row == nil {
		s.row = make(Row, len(rows.Columns()))
	}
	for {
		if err := rows.Next(s.row); err != nil {
			if !errors.Is(err, io.EOF) {
				return errors.Join(Translate(err), rows.Close())
			}
			return rows.Close()
		}
		c.Rows++
		if err := fn(s.row); err != nil {
			if errors.Is(err, ErrStop) {
				err = nil
			}
			return errors.Join(err, rows.Close())
		}
	}
}

// start starts a query. If the connection has a context, the query ends with it.
func (c *Conn) start(s *stmt, args []Value) (driver.Rows, error) {
	ctx := c.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, c.runner.named.of(args))
}

// QueryRow calls fn for the first row of a result and reports whether there was one.
func (c *Conn) QueryRow(query string, fn func(r Row), args ...Value) (found bool, err error) {
	err = c.Query(query, func(r Row) error {
		found = true
		fn(r)
		return ErrStop
	}, args...)
	return found, err
}

// Has reports whether a result has a row.
func (c *Conn) Has(query string, args ...Value) (bool, error) {
	return c.QueryRow(query, func(Row) {}, args...)
}
