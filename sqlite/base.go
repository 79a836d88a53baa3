package sqlite

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/basefile"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// baseTable is a table of a base with the condition of the rows that a base has.
type baseTable struct {
	basefile.Table

	order string // the primary key
	where string
}

// baseTables are the tables of a base, in the order of the file: what the fold reads, and documents have, without their changes.
var baseTables = []baseTable{
	newBaseTable("model", "seq source fold reserved retired time", 1, "seq = (SELECT max(seq) FROM model)"),
	newBaseTable("proposal", "id seq source fold actor", 1, ""),
	newBaseTable("declared_index", "id collection name components entries", 1, ""),
	newBaseTable("document", "number collection id revision position created updated body source omitted created_by updated_by", 1, ""),
	newBaseTable("tombstone", "collection id revision position", 2, ""),
	newBaseTable("collection", "name documents", 1, ""),
	newBaseTable("link", "relation target holder ordinal since", 3, ""),
	newBaseTable("paged", "relation target count", 2, ""),
	newBaseTable("relinked", "relation seq", 2, ""),
	newBaseTable("entry", "rule target sort holder", 4, ""),
	newBaseTable("total", "rule target count sum", 2, ""),
	newBaseTable("claim", "collection path value holder seq", 3, ""),
	newBaseTable("kept", "rule target holder value", 3, ""),
	newBaseTable("omission", "rule documents fields", 1, ""),
	newBaseTable("once", "key digest seq time", 1, ""),
	newBaseTable("index_entry", "idx key tie", 3, ""),
	newBaseTable("import_progress", "id seq body", 1, ""),
	newBaseTable("erasure", "seq of documents events time actor position", 1, ""),
	newBaseTable("erased_document", "erasure collection id members position", 3, ""),
	newBaseTable("sequence", "collection path key last seq per", 3, ""),
	newBaseTable("name", "id text", 1, ""),
}

// tablesOfVersion are how many of baseTables the bases of a version have: versions add some at the end.
var tablesOfVersion = [basefile.Version + 1]int{1: 17, 2: 19, 3: 20, 4: 20, 5: 21}

// tablesOf returns the tables that the bases of a version have. Those before version 4 do not say who wrote the documents.
func tablesOf(version int) []basefile.Table {
	tables := make([]basefile.Table, tablesOfVersion[version])
	for i := range tables {
		if tables[i] = baseTables[i].Table; tables[i].Name == "document" && version < 4 {
			tables[i].Columns = tables[i].Columns[:len(tables[i].Columns)-2]
		}
	}
	return tables
}

// newBaseTable returns a table whose first columns are its primary key.
func newBaseTable(name, columns string, key int, where string) baseTable {
	t := baseTable{Table: basefile.Table{Name: name, Columns: strings.Fields(columns)}, where: where}
	t.order = strings.Join(t.Columns[:key], ", ")
	return t
}

// WriteSaltedBase does what WriteBase does, after a salt, by which the file's digest tells nothing of what is in it.
func (db *DB) WriteSaltedBase(ctx context.Context, w io.Writer) (h fanfold.Horizon, err error) {
	if _, err := w.Write(basefile.Salt()); err != nil {
		return h, err
	}
	return db.WriteBase(ctx, w)
}

// WriteBase writes the state of a generation that Build made, without its changes, as the file of a base. It returns the horizon that the file is
// of: all that is folded. Nobody writes to the generation meanwhile. It blocks until w has everything, or ctx has ended. It returns the errors of
// ctx, w and the read model.
func (db *DB) WriteBase(ctx context.Context, w io.Writer) (h fanfold.Horizon, err error) {
	err = db.ReadUnshared(func(s *Snapshot) error {
		defer s.EndWith(ctx)()
		cp := s.Checkpoint
		h = fanfold.Horizon{Seq: cp.Seq, Event: cp.Event, Digest: cp.Digest, Position: cp.Position, Changes: cp.Changes, Time: cp.Time}
		out, err := basefile.NewWriter(w, h, uint64(cp.AsOf), tablesOf(basefile.Version))
		if err != nil {
			return err
		}
		for _, t := range baseTables {
			if err := s.writeBaseTable(ctx, out, t); err != nil {
				out.Abort()
				return err
			}
		}
		return out.Close()
	})
	return h, err
}

// writeBaseTable writes the rows of a table.
func (s *Snapshot) writeBaseTable(ctx context.Context, out *basefile.Writer, t baseTable) error {
	query := "SELECT " + strings.Join(t.Columns, ", ") + " FROM " + t.Name
	if t.where != "" {
		query += " WHERE " + t.where
	}
	values := make([]any, len(t.Columns))
	if err := s.c.Query(query+" ORDER BY "+t.order, func(r driver.Row) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i, v := range r {
			values[i] = v
		}
		return out.Row(values)
	}); err != nil {
		return err
	}
	return out.EndTable()
}

// LoadBase fills a generation that Build made, and that is empty, with the state that the file of a base has. The file must have the Seq
// and Digest of the given horizon. It returns what the horizon is in full. The checkpoint says which erasure the file knows. It blocks
// until all is loaded or ctx has ended; after an error the caller discards the generation. It returns the errors of ctx, r and the read
// model, and Invalid for a file that is damaged, has another horizon, or is of a newer version.
func (db *DB) LoadBase(ctx context.Context, r io.Reader, want fanfold.Horizon) (h fanfold.Horizon, err error) {
	in, err := basefile.NewReader(r)
	if err != nil {
		return h, err
	}
	defer in.Close()
	if h = in.Header.Horizon.At(); h.Seq != want.Seq || h.Digest != want.Digest {
		return h, fanfold.Errorf(fanfold.Invalid, "the base is of event %d and the digest %s, and that of event %d and the digest %s is wanted", h.Seq, h.Digest, want.Seq, want.Digest)
	}
	if !slices.EqualFunc(in.Header.Tables, tablesOf(in.Header.Version), func(a, b basefile.Table) bool {
		return a.Name == b.Name && slices.Equal(a.Columns, b.Columns)
	}) {
		return h, fanfold.Errorf(fanfold.Invalid, "the base has other tables than its version %d has", in.Header.Version)
	}
	c := db.file.Writer
	defer c.EndWith(ctx)()
	db.tx.loaded = false
	if begun, err := c.Has("SELECT 1 FROM checkpoint WHERE seq > 0 UNION ALL SELECT 1 FROM horizon"); err != nil || begun {
		return h, errors.Join(err, fanfold.Errorf(fanfold.Internal, "a base is loaded into a read model that is not empty"))
	}
	err = c.Unwatched(func() error {
		l := baseLoader{c: c, in: in}
		return notOfBase(l.load(h, db.opt.Fingerprint))
	})
	if err == nil {
		err = db.tx.load()
	}
	return h, err
}

// Bounds of the rows that one statement and one transaction of a base's loading insert.
const (
	rowsAtATime  = 16
	bytesAtATime = 256 << 10
	loadedBytes  = 64 << 20
)

// baseLoader inserts the rows of a base.
type baseLoader struct {
	c     *driver.Conn
	in    *basefile.Reader
	ended bool

	numbers map[string]int64 // of the relations and rules that rows of bases before version 5 name; they get them as they come

	table int            // of the rows that wait
	args  []driver.Value // their values
	bytes int            // of them
}

// load fills the file. The indexes are made when the rows are there, which takes less than to keep them.
func (l *baseLoader) load(h fanfold.Horizon, fingerprint string) error {
	var indexes []string
	if err := l.c.Update(func() (err error) { indexes, err = l.dropIndexes(); return err }); err != nil {
		return err
	}
	for !l.ended {
		if err := l.c.Update(l.some); err != nil {
			return err
		}
	}
	return l.c.Update(func() error {
		for _, create := range indexes {
			if err := l.c.Exec(create); err != nil {
				return err
			}
		}
		if err := l.insertNumbers(); err != nil {
			return err
		}
		return finishBase(l.c, h, fanfold.AsOf(l.in.Header.Erasure), fingerprint)
	})
}

// dropIndexes drops the indexes of tables that a base has, and returns the statements that make them again.
func (l *baseLoader) dropIndexes() (create []string, err error) {
	var names []string
	for _, t := range baseTables {
		if err := l.c.Query("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?", func(r driver.Row) error {
			names, create = append(names, r.Text(0)), append(create, r.Text(1))
			return nil
		}, t.Name); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if err := l.c.Exec("DROP INDEX " + name); err != nil {
			return nil, err
		}
	}
	return create, nil
}

// some inserts the next rows, up to the end or to loadedBytes of them.
func (l *baseLoader) some() error {
	for size := 0; size < loadedBytes; size += l.in.RowBytes() + pendingRowBytes {
		table, values, err := l.in.Next()
		if errors.Is(err, io.EOF) {
			l.ended = true
			return l.insert()
		}
		if err != nil {
			return err
		}
		if table != l.table || len(l.args) == rowsAtATime*len(values) || l.bytes > bytesAtATime {
			if err := l.insert(); err != nil {
				return err
			}
		}
		for i, v := range values {
			if i == 0 && l.in.Header.Version < 5 && slices.Contains(numberedTables, baseTables[table].Name) {
				v = l.numberOf(v)
			}
			l.args = append(l.args, v)
		}
		l.table, l.bytes = table, l.bytes+l.in.RowBytes()
	}
	return l.insert()
}

// numberedTables are those whose first column names a relation or a rule by its number. In bases before version 5 it was the name.
var numberedTables = []string{"link", "paged", "entry", "total", "kept"}

// numberOf returns the number of a relation or rule of an older base, given its name. It returns nil for what is no name.
func (l *baseLoader) numberOf(v any) any {
	name, ok := v.(string)
	if !ok {
		return nil
	}
	if l.numbers[name] == 0 {
		if l.numbers == nil {
			l.numbers = map[string]int64{}
		}
		l.numbers[name] = int64(len(l.numbers) + 1)
	}
	return l.numbers[name]
}

// insertNumbers inserts the numbers that relations and rules got.
func (l *baseLoader) insertNumbers() error {
	for _, name := range slices.Sorted(maps.Keys(l.numbers)) {
		if err := l.c.Exec("INSERT INTO name (id, text) VALUES (?, ?)", l.numbers[name], name); err != nil {
			return err
		}
	}
	return nil
}

// insert inserts the rows that wait.
func (l *baseLoader) insert() error {
	if len(l.args) == 0 {
		return nil
	}
	columns := l.in.Header.Tables[l.table].Columns
	row := "(?" + strings.Repeat(", ?", len(columns)-1) + ")"
	err := l.c.Exec("INSERT INTO "+baseTables[l.table].Name+" ("+strings.Join(columns, ", ")+") VALUES "+row+strings.Repeat(", "+row, len(l.args)/len(columns)-1), l.args...)
	l.args, l.bytes = l.args[:0], 0
	return err
}

// notOfBase returns the error for a row that could not be inserted. It is Invalid where the row breaks a rule of its table.
func notOfBase(err error) error {
	if driver.IsConstraint(err) {
		return fanfold.Wrap(err, fanfold.Invalid, "the file of the base is damaged: a row of it cannot be: %v", err)
	}
	return err
}

// finishBase writes the rows that follow from a base: the checkpoint, the horizon, and what was there at the horizon.
func finishBase(c *driver.Conn, h fanfold.Horizon, asOf fanfold.AsOf, fingerprint string) error {
	return errors.Join(
		c.Exec("INSERT INTO horizon_version (number, position, revision, created, updated) SELECT number, position, revision, created, updated FROM document ORDER BY number"),
		c.Exec("INSERT INTO horizon_paged (relation, target, count) SELECT relation, target, count FROM paged ORDER BY relation, target"),
		writeCheckpoint(c, Checkpoint{Seq: h.Seq, Position: h.Position, Time: h.Time, Changes: h.Changes, Fold: fingerprint, Event: h.Event, Digest: h.Digest, AsOf: asOf}),
		writeHorizon(c, h, h.Seq))
}
