// Package sqlcopy writes the documents of an export as a SQLite file, for SQL, reports and notebooks: a table a collection, and one a relation.
package sqlcopy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// About is what a copy says of itself.
type About struct {
	Position, Store, Program string
	Taken                    time.Time
	Model                    []byte   // of an export without one, such as one of some collections; nil for none
	Collections              []string // which such an export has; nil for all
}

// Counts tells what a copy has.
type Counts struct {
	Documents, Collections, Relations int64
	Columnless                        int64 // documents with members that are no columns
}

// Bounds of what a copy holds at a time, and of its tables.
const (
	sampleDocs  = 1000     // of one collection
	sampleBytes = 16 << 20 // of all collections together
	maxColumns  = 500      // of one table; more members stand in body alone
	maxName     = 200      // bytes of a name
	maxLine     = 64 << 20 // bytes of a line of an export
	cacheKiB    = 32 << 10
)

// The tables that every copy has.
const (
	tableCopy      = "fanfold_copy"
	tableColumns   = "fanfold_columns"
	tableRelations = "fanfold_relations"
)

// Write writes the lines of an export into a new file at path, which nothing protects from a crash until it returns. It blocks until all is
// written. Errors are ctx's, of the lines and of the file. After one the file is to be removed.
func Write(ctx context.Context, path string, lines io.Reader, about About) (_ Counts, err error) {
	conn, err := driver.Open(path, driver.Create, "journal_mode=OFF", "synchronous=OFF", "temp_store=FILE", "locking_mode=EXCLUSIVE", fmt.Sprintf("cache_size=-%d", cacheKiB))
	if err != nil {
		return Counts{}, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	c := &copier{conn: conn, names: names{}, tables: map[string]*table{}}
	for _, own := range []string{tableCopy, tableColumns, tableRelations} {
		c.names.take(own)
	}
	if about.Model != nil {
		if err := c.setModel(about.Model); err != nil {
			return Counts{}, err
		}
	}
	if err := c.begin(); err != nil {
		return Counts{}, err
	}
	if err := c.readLines(ctx, lines); err != nil {
		return Counts{}, err
	}
	if err := c.end(about); err != nil {
		return Counts{}, err
	}
	return c.counts, nil
}

// copier writes one copy.
type copier struct {
	conn   *driver.Conn
	names  names // of tables and indexes
	tables map[string]*table
	order  []*table // as their collections came
	model  *model.Model
	held   int // bytes of documents that wait for the columns of their tables
	counts Counts
}

// begin makes the tables that every copy has.
func (c *copier) begin() error {
	return errors.Join(c.conn.Exec("BEGIN"),
		c.conn.Exec("CREATE TABLE "+tableCopy+" (position TEXT, store TEXT, taken TEXT, program TEXT, documents INTEGER)"),
		c.conn.Exec("CREATE TABLE "+tableColumns+" (\"table\" TEXT, \"column\" TEXT, collection TEXT, member TEXT)"),
		c.conn.Exec("CREATE TABLE "+tableRelations+" (\"table\" TEXT, collection TEXT, relation TEXT, path TEXT, target TEXT)"))
}

// setModel has the relations of a model copied.
func (c *copier) setModel(source []byte) error {
	m, err := modelfile.ParseAccepted(source)
	if err != nil {
		return err
	}
	c.model = m
	return nil
}

// readLines copies every line of an export.
func (c *copier) readLines(ctx context.Context, lines io.Reader) error {
	r := bufio.NewReaderSize(lines, 1<<20)
	var tree jsondoc.Tree
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return fmt.Errorf("a line of the export has more than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if err := c.line(&tree, text); err != nil {
				return err
			}
		}
		if err != nil {
			return nil //nolint:nilerr // the end
		}
		line = line[:0]
	}
}

// line copies one line: a document, or a model.
func (c *copier) line(t *jsondoc.Tree, text []byte) error {
	if err := t.Parse(text); err != nil {
		return err
	}
	if n := t.Member(jsondoc.Root, "model"); n != jsondoc.None {
		return c.setModel(bytes.Clone(t.Raw(n)))
	}
	collection := t.Text(t.Member(jsondoc.Root, "collection"))
	var body []byte
	if n := t.Member(jsondoc.Root, "doc"); n != jsondoc.None {
		body = bytes.Clone(t.Raw(n))
	} else if n := t.Member(jsondoc.Root, "text"); n != jsondoc.None {
		body = []byte(t.Text(n))
	}
	if body == nil || collection == "" { // the last number of a sequence
		return nil
	}
	return c.document(collection, body)
}

// document copies one document, or holds it until its table's columns are known.
func (c *copier) document(collection string, body []byte) error {
	tab := c.tables[collection]
	if tab == nil {
		tab = c.newTable(collection)
	}
	c.counts.Documents++
	if tab.made {
		return c.insert(tab, body)
	}
	tab.sample, tab.bytes, c.held = append(tab.sample, body), tab.bytes+len(body), c.held+len(body)
	if len(tab.sample) < sampleDocs && c.held < sampleBytes {
		return nil
	}
	if c.held >= sampleBytes { // the one that is known best makes room
		for _, other := range c.order {
			if other.bytes > tab.bytes {
				tab = other
			}
		}
	}
	return c.make(tab)
}

// end makes the tables that wait, the indexes and what the copy says of itself.
func (c *copier) end(about About) error {
	empty := about.Collections // a collection without documents has a table, too
	if c.model != nil && empty == nil {
		for _, declared := range c.model.Collections {
			empty = append(empty, declared.Name)
		}
	}
	for _, name := range empty {
		if c.tables[name] == nil {
			c.newTable(name)
		}
	}
	for _, tab := range c.order {
		if !tab.made {
			if err := c.make(tab); err != nil {
				return err
			}
		}
		for _, rel := range tab.relations {
			for _, column := range []string{"id", "target"} {
				if err := c.conn.Exec("CREATE INDEX " + quote(c.names.take(rel.table+"_"+column)) + " ON " + quote(rel.table) + " (" + column + ")"); err != nil {
					return err
				}
			}
		}
		c.counts.Relations += int64(len(tab.relations))
	}
	c.counts.Collections = int64(len(c.order))
	return errors.Join(c.conn.Exec("INSERT INTO "+tableCopy+" VALUES (?, ?, ?, ?, ?)",
		about.Position, about.Store, about.Taken.UTC().Format(time.RFC3339Nano), about.Program, c.counts.Documents), c.conn.Exec("COMMIT"))
}
