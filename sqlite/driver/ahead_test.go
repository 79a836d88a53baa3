package driver

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/suite"
)

// openAhead opens a file with tables a and b, which the connection watches.
func openAhead(t *testing.T) *Conn {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "f.db"), Create)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	c.Watch([]string{"a", "b"}, func(Tables, Tables) error { return nil })
	if err := errors.Join(c.Exec("CREATE TABLE a (n INTEGER PRIMARY KEY)"), c.Exec("CREATE TABLE b (n INTEGER PRIMARY KEY)"), c.Exec("INSERT INTO b VALUES (7)")); err != nil {
		t.Fatal(err)
	}
	return c
}

// count returns how many rows a table has, by a query that waits for nothing.
func count(c *Conn, table string) (n int64, err error) {
	_, err = c.QueryRowAhead("SELECT count(*) FROM "+table, func(r Row) { n = r.Int(0) })
	return n, err
}

// TestQueryAhead: a query runs between deferred statements, and SettleWrites waits for those that write a table alone.
func TestQueryAhead(t *testing.T) {
	suite.Concurrent(t)
	c := openAhead(t)
	for _, table := range []string{"a", "b"} { // compiled before anything is deferred
		if _, err := count(c, table); err != nil {
			t.Fatal(err)
		}
	}
	const rows = 10 * maxDeferredStatements
	err := c.Update(func() error {
		for i := range int64(rows + 1) {
			if err := c.Exec("INSERT INTO a VALUES (?)", i); err != nil {
				return err
			}
			if n, err := count(c, "b"); err != nil || n != 1 {
				t.Fatalf("%d rows of b, %v", n, err)
			}
		}
		if err := c.SettleWrites(1 << 1); err != nil {
			return err
		}
		if n, err := count(c, "a"); err != nil || n > rows {
			t.Errorf("%d of %d rows are there before the last statement has run, %v", n, rows+1, err)
		}
		if err := c.SettleWrites(1 << 0); err != nil {
			return err
		}
		if n, err := count(c, "a"); err != nil || n != rows+1 {
			t.Errorf("%d of %d rows are there, %v", n, rows+1, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestQueryAheadOfFailure: after a deferred statement that failed the transaction ends with its error, whatever its function read and
// returned.
func TestQueryAheadOfFailure(t *testing.T) {
	c := openAhead(t)
	if _, err := count(c, "b"); err != nil {
		t.Fatal(err)
	}
	err := c.Update(func() error {
		for range 2 * maxDeferredStatements {
			if err := c.Exec("INSERT INTO b VALUES (7)"); err != nil {
				return err
			}
		}
		for {
			if _, err := count(c, "b"); err != nil {
				return errors.New("the fold cannot go on")
			}
		}
	})
	if err == nil || !strings.Contains(err.Error(), "UNIQUE") {
		t.Errorf("the transaction ends with %v", err)
	}
	if n, err := count(c, "b"); err != nil || n != 1 {
		t.Errorf("%d rows of b are left, %v", n, err)
	}
}
