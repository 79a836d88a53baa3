// Package driver reads and writes one SQLite file. It has one connection that writes, a pool that reads, statements that run
// beside the program, and SQLite's WAL, which is moved into the file beside the writer. It knows no tables.
package driver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the settings of a File. The zero value works.
type Options struct {
	FailWrite   func() error // called before every statement that writes; an error of it is returned in place of SQLite's
	Unprotected bool         // nothing protects the file from a crash or a rollback until OpenReaders: after either it is discarded
}

// File is one SQLite file. Writer and the methods that write are for one goroutine at a time, reads are for any number.
type File struct {
	Writer *Conn // the only connection that writes
	WAL    WAL   // of use once OpenReaders was called

	path    string
	opt     Options
	readers pool
	lanes   pool // see WithLane
}

// pool has the connections that read and are not in use.
type pool struct {
	free chan *Conn
	open func() (*Conn, error)
	size atomic.Int64 // how many there are, in use or not
	mu   sync.Mutex
	own  int64 // of them, those that read for long: see Conn.Own
}

// mostOwn is how many connections of a pool are their readers' own at a time.
const mostOwn = 32

// readersPerCPU is more than 1 so that reads overlap where SQLite waits for the disk.
const readersPerCPU = 2

// waitLong is how long the writer and readers wait for a lock.
const waitLong = "busy_timeout=10000"

// OpenFile opens or makes the file at path, with its writing connection only. The caller closes it.
func OpenFile(path string, opt Options) (*File, error) {
	f := newFile(path, opt)
	var pragmas []string
	if opt.Unprotected {
		pragmas = []string{"synchronous=OFF", "journal_mode=OFF"}
	}
	if err := f.openWriter(pragmas...); err != nil {
		return nil, err
	}
	return f, nil
}

// newFile returns a file without connections.
func newFile(path string, opt Options) *File {
	return &File{path: path, opt: opt, readers: pool{free: make(chan *Conn, mostOwn+readersPerCPU*max(2, runtime.GOMAXPROCS(0)))},
		lanes: pool{free: make(chan *Conn, mostOwn+Lanes)}}
}

// Lanes is how many connections a file has for WithLane, one for each lane of a store.
const Lanes = 3

// openWriter opens the writing connection and sets pragmas on it.
func (f *File) openWriter(pragmas ...string) error {
	c, err := Open(f.path, Create, append(pragmas, waitLong, "temp_store=FILE", "cache_size=-32768")...)
	if err != nil {
		return err
	}
	c.runner.failWrite = f.opt.FailWrite
	f.Writer, f.WAL.writer = c, c
	return nil
}

// ReopenWriter replaces the writing connection by a new one, which gives back the space of its
// temporary tables.
func (f *File) ReopenWriter() error {
	old := f.Writer
	if err := f.openWriter(); err != nil {
		return err
	}
	return old.Close()
}

// SyncToDisk brings a file that is Unprotected to the disk, and returns when it is there. SQLite itself does it, by a
// checkpoint of a small write. Closing a file descriptor of our own would take away all locks that this process has
// on the file (SQLite documentation, How To Corrupt, 2.2). The write says whose file it is
// (https://www.sqlite.org/pragma.html#pragma_application_id).
func (f *File) SyncToDisk() error {
	return f.Writer.Pragmas("journal_mode=WAL", "synchronous=FULL", "application_id=0x46616e66", "main.wal_checkpoint(TRUNCATE)")
}

// Unprotect makes a file Unprotected again.
func (f *File) Unprotect() error { return f.Writer.Pragmas("journal_mode=OFF", "synchronous=OFF") }

// OpenReaders opens the file to readers, which map up to cache bytes of it into memory. From here on a power loss takes the
// last transactions at most, and never consistency: that is what synchronous=NORMAL gives in WAL mode (SQLite
// documentation, PRAGMA synchronous).
func (f *File) OpenReaders(cache int64) error {
	if err := f.Writer.Pragmas("journal_mode=WAL", "synchronous=NORMAL", "wal_autocheckpoint=0", "journal_size_limit="+strconv.Itoa(maxReusedWAL)); err != nil {
		return err
	}
	if err := f.WAL.open(f.path); err != nil {
		return err
	}
	return f.openReaders(ReadWrite, cache)
}

// OpenToRead opens a file that Seal has closed to readers alone, as OpenReaders does. It writes nothing. The caller closes it.
func OpenToRead(path string, cache int64) (*File, error) {
	f := newFile(path, Options{})
	if err := f.openReaders(ReadOnly, cache); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Seal makes a file that is closed one that can be read where nothing can be written: its last bytes are in the file itself.
func Seal(path string) error {
	c, err := Open(path, ReadWrite, "synchronous=FULL", "journal_mode=DELETE")
	if err != nil {
		return err
	}
	return c.Close()
}

// openReaders opens the connections that read.
func (f *File) openReaders(mode Mode, cache int64) error {
	mapping := "mmap_size=" + strconv.FormatInt(cache, 10)
	for _, p := range []*pool{&f.readers, &f.lanes} {
		p.open = func() (*Conn, error) {
			return Open(f.path, mode, "query_only=ON", "cache_size=-4096", waitLong, mapping)
		}
		if err := p.fill(); err != nil {
			return err
		}
	}
	return nil
}

// OpenSQL opens the file at path for a tool that needs database/sql. The caller closes it.
func OpenSQL(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", dsn(path, Create)+"&_busy_timeout=10000")
	return db, Translate(err)
}

// Path returns the path of the file.
func (f *File) Path() string { return f.path }

// WithReader runs fn on a connection of the pool. It blocks while all of them are in use.
func (f *File) WithReader(fn func(c *Conn) error) error { return f.readers.with(fn) }

// WithLane runs fn on a connection that WithReader never uses, so that long work holds up no lookup. It blocks while all Lanes are in use.
func (f *File) WithLane(fn func(c *Conn) error) error { return f.lanes.with(fn) }

// fill opens connections until there are enough that are nobody's own.
func (p *pool) fill() error {
	for ; p.size.Load()-p.own < int64(cap(p.free)-mostOwn); p.size.Add(1) {
		c, err := p.open()
		if err != nil {
			return err
		}
		c.pool = p
		p.free <- c
	}
	return nil
}

// with runs fn on a connection of the pool.
func (p *pool) with(fn func(c *Conn) error) error {
	c := <-p.free
	defer func() {
		if c.own {
			c.own, c.ctx = false, nil
			p.mu.Lock()
			p.own--
			p.mu.Unlock()
		}
		p.free <- c
	}()
	return fn(c)
}

// Own has a connection read for long, until ctx ends: its pool has another one in its place meanwhile. Beyond mostOwn it stays a part of the pool.
// The error is Unavailable.
func (c *Conn) Own(ctx context.Context) error {
	if c.pool == nil || c.own {
		return nil
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if c.pool.own < mostOwn {
		c.pool.own++
		c.own, c.ctx = true, ctx
	}
	return c.pool.fill()
}

// Update runs fn in one write transaction, as Conn.Update does. No transaction follows a sync that failed.
func (f *File) Update(fn func() error) error {
	if err := f.WAL.failure(); err != nil {
		return err
	}
	return f.Writer.Update(fn)
}

// Close waits for running reads, 30 seconds for each at most, and closes every connection.
func (f *File) Close() error {
	var errs []error
	for _, p := range []*pool{&f.readers, &f.lanes} {
		for closed := int64(0); closed < p.size.Load(); closed++ {
			select {
			case c := <-p.free:
				errs = append(errs, c.Close())
			case <-time.After(30 * time.Second):
				return fmt.Errorf("a reader of %s did not end", f.path)
			}
		}
	}
	return errors.Join(append(errs, f.WAL.close())...)
}

// Remove deletes a database file and those that SQLite keeps beside it. A file that is not
// there is no error.
func Remove(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
