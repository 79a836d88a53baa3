package driver

import (
	"slices"

	"github.com/mattn/go-sqlite3"
)

// Tables is a set of the tables that a connection watches: the bit 1<<i stands for the i-th.
type Tables uint16

// tables are the watched tables that a statement reads and writes. SQLite names them when it compiles the statement.
type tables struct{ reads, writes Tables }

// watch calls a function before statements about some tables.
type watch struct {
	names    []string
	before   func(read, written Tables) error // nil for none
	compiled tables                           // of the statement that is being compiled
}

// Watch makes the connection call before, ahead of each statement that reads or writes any of the tables, up to sixteen. If before
// returns an error, the statement is not run. Temporary tables are no tables of the file. Watch is called once for a connection.
func (c *Conn) Watch(names []string, before func(read, written Tables) error) {
	c.watch = watch{names: names, before: before}
	c.raw.RegisterAuthorizer(c.watch.noteAccess)
}

// noteAccess is what SQLite calls for each access of a statement that it compiles.
func (w *watch) noteAccess(action int, table, _, schema string) int {
	i := slices.Index(w.names, table)
	if i < 0 || schema == "temp" { // it names no schema where no column is read
		return sqlite3.SQLITE_OK
	}
	switch action {
	case sqlite3.SQLITE_READ:
		w.compiled.reads |= 1 << i
	case sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE:
		w.compiled.writes |= 1 << i
	}
	return sqlite3.SQLITE_OK
}

// notify calls before where a statement is about watched tables.
func (w *watch) notify(s *stmt) error {
	if w.before == nil || s.watched == (tables{}) {
		return nil
	}
	return w.before(s.watched.reads, s.watched.writes)
}

// Unwatched calls fn, whose statements the function of Watch is not told of.
func (c *Conn) Unwatched(fn func() error) error {
	defer func(before func(read, written Tables) error) { c.watch.before = before }(c.watch.before)
	c.watch.before = nil
	return fn()
}
