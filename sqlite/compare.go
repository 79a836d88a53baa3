package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Differences tells how the rows of one read model differ from another's.
type Differences struct {
	Rows   int64              // compared
	First  *RowDifference     // in order of table and key; nil for none
	Tables []TableDifferences // with a row that differs
}

// RowDifference is a row that differs.
type RowDifference struct {
	Table string
	Key   string // the values of the primary key, separated by spaces
	Kind  string // missing, surplus or changed
}

// The kinds of rows that differ.
const (
	Missing = "missing" // the row is in the other read model alone
	Surplus = "surplus" // it is not in the other one
	Changed = "changed" // it has other values there
)

// TableDifferences says how many rows of a table differ.
type TableDifferences struct {
	Table string
	Rows  int64
}

// comparedFile is the name of the copy that Freeze makes, in the store's directory.
const comparedFile = "compared.db"

// Frozen is a copy of a read model at one position, to be compared with another.
type Frozen struct {
	Checkpoint Checkpoint
	path       string
}

// Freeze copies the current generation while reads and writes go on, as Save does. A store has one such copy at a time. The
// caller removes it.
func (s *Store) Freeze(ctx context.Context) (*Frozen, error) {
	f := &Frozen{path: filepath.Join(s.dir, comparedFile)}
	var err error
	if f.Checkpoint, err = s.Save(ctx, f.path); err != nil {
		return nil, errors.Join(err, f.Remove())
	}
	return f, nil
}

// Remove removes the copy.
func (f *Frozen) Remove() error { return RemoveSaved(f.path) }

// Compare compares every row with the same row of a generation that Build made, to which nobody writes meanwhile. The generation may be built on the base of
// another horizon, which after names. Then it leaves out rows up to there, and rows that only such a generation has, and compares derived changes by their
// patches. It tells progress the number of rows compared, and of all rows. It blocks until all are compared or ctx has ended. It returns the errors of ctx and
// of reading.
func (f *Frozen) Compare(ctx context.Context, db *DB, after *fanfold.Horizon, progress fanfold.Progress) (*Differences, error) {
	r := &comparison{progress: progress, out: &Differences{}}
	if after == nil {
		return r.out, r.run(ctx, f, db)
	}
	other, err := openToCompare(db.Path())
	if err != nil {
		return nil, err
	}
	defer other.EndWith(ctx)()
	r.after = &afterHorizon{Horizon: *after, other: other}
	err = r.run(ctx, f, db)
	return r.out, errors.Join(err, other.Close())
}

// comparers is how many connections compare at a time.
const comparers = 2

// inParts runs the parts of a comparison. Each gets a connection to the copy, called main, and a generation, called other. It returns the errors of the parts
// and ctx.
func (f *Frozen) inParts(ctx context.Context, db *DB, parts ...func(c *driver.Conn) error) error {
	queue := make(chan func(c *driver.Conn) error, len(parts))
	for _, part := range parts {
		queue <- part
	}
	close(queue)
	group, ctx := errgroup.WithContext(ctx)
	for range min(comparers, len(parts)) {
		group.Go(func() error {
			c, err := f.openWith(db)
			if err != nil {
				return err
			}
			restore := c.EndWith(ctx)
			for part := range queue {
				if err = ctx.Err(); err == nil {
					err = part(c)
				}
				if err != nil {
					break
				}
			}
			restore()
			return errors.Join(err, c.Close())
		})
	}
	return group.Wait()
}

// openWith opens the copy, called main, with a generation, called other.
func (f *Frozen) openWith(db *DB) (*driver.Conn, error) {
	c, err := openToCompare(f.path)
	if err != nil {
		return nil, err
	}
	if err := c.Exec("ATTACH ? AS other", "file:"+url.PathEscape(db.Path())+"?mode=ro"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// openToCompare opens a file to read all of it.
func openToCompare(path string) (*driver.Conn, error) {
	return driver.Open(path, driver.ReadOnly, "cache_size=-16384", "temp_store=FILE")
}

// comparison compares the tables of two files, which one connection has as main and other.
type comparison struct {
	progress fanfold.Progress
	total    int64
	out      *Differences
	after    *afterHorizon // what is compared; nil for all

	mu sync.Mutex // guards out.Rows, and progress
}

// comparedTable is a table with its columns.
type comparedTable struct {
	name       string
	key, other []string // columns of the primary key, and the other ones
	where      string   // the condition of the rows that are compared, of one called m
}

// run compares all tables.
func (r *comparison) run(ctx context.Context, f *Frozen, db *DB) error {
	var tables []comparedTable
	if err := f.inParts(ctx, db, func(c *driver.Conn) (err error) { tables, err = r.tables(c); return err }); err != nil {
		return err
	}
	found := make([]tableComparison, len(tables))
	values := tableComparison{}                                                                                       // of the changes
	parts := []func(c *driver.Conn) error{func(c *driver.Conn) error { return r.after.compareValues(c, values.add) }} // it takes longest
	for i, t := range tables {
		found[i].table = t.name
		parts = append(parts, func(c *driver.Conn) error { return r.compare(c, t, &found[i]) })
	}
	err := f.inParts(ctx, db, parts...)
	for i := range found {
		if t := &found[i]; t.table == changeTable {
			t.join(&values)
		}
		r.note(&found[i])
	}
	return err
}

// note adds what differs in a table. The tables come in their order.
func (r *comparison) note(found *tableComparison) {
	if found.rows == 0 {
		return
	}
	r.out.Tables = append(r.out.Tables, TableDifferences{found.table, found.rows})
	if r.out.First == nil {
		r.out.First = found.first
	}
}

// countRows counts the rows of a table that are compared, in one of the two files.
func countRows(c *driver.Conn, file string, t comparedTable) (rows int64, err error) {
	_, err = c.QueryRow("SELECT count(*) FROM "+file+"."+t.name+" m WHERE "+t.where, func(row driver.Row) { rows = row.Int(0) })
	return rows, err
}

// tables returns the tables that are compared, in the order in which the schema has them, and counts their rows.
func (r *comparison) tables(c *driver.Conn) (tables []comparedTable, err error) {
	if err := c.Query("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid", func(row driver.Row) error {
		tables = append(tables, comparedTable{name: row.Text(0), where: "true"})
		return nil
	}); err != nil {
		return nil, err
	}
	for i := range tables {
		t := &tables[i]
		keys := map[string]int64{}
		if err := c.Query("SELECT name, pk FROM pragma_table_info(?)", func(row driver.Row) error {
			name := row.Text(0)
			if keys[name] = row.Int(1); keys[name] > 0 {
				t.key = append(t.key, name)
			} else {
				t.other = append(t.other, name)
			}
			return nil
		}, t.name); err != nil {
			return nil, err
		}
		slices.SortFunc(t.key, func(a, b string) int { return cmp.Compare(keys[a], keys[b]) })
	}
	tables = r.after.limit(tables)
	for _, t := range tables {
		rows, err := countRows(c, "main", t)
		if err != nil {
			return nil, err
		}
		r.total += rows
	}
	return tables, nil
}

// compare compares the rows of one table, in order of their keys.
func (r *comparison) compare(c *driver.Conn, t comparedTable, found *tableComparison) error {
	same := t.equal("m", "o")
	order := t.columns("m")
	rows := int64(0)
	err := c.Query("SELECT "+t.kind("m", "o")+", "+t.shown("main", "m")+" FROM main."+t.name+" m LEFT JOIN other."+t.name+" o ON "+same+" WHERE "+t.where+" ORDER BY "+order, func(row driver.Row) error {
		if rows++; rows%compareStep == 0 {
			r.compared(compareStep)
		}
		if row[0] != nil {
			found.add(row.Text(0), row[1:])
		}
		return nil
	})
	r.compared(rows % compareStep)
	if err != nil {
		return err
	}
	if found.rows == 0 { // each row is in the other one as well, which may have more
		other, err := countRows(c, "other", t)
		if err != nil || other == rows {
			return err
		}
	}
	return c.Query("SELECT "+t.shown("other", "m")+" FROM other."+t.name+" m WHERE "+t.where+" AND NOT EXISTS (SELECT 1 FROM main."+t.name+" o WHERE "+same+") ORDER BY "+order, func(row driver.Row) error {
		found.add(Missing, row)
		return nil
	})
}

// compared tells how many more rows are compared.
func (r *comparison) compared(rows int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out.Rows += rows; rows == compareStep {
		r.progress.Tell("comparing", r.out.Rows, r.total)
	}
}

// compareStep is the number of rows between two reports of the progress.
const compareStep = 10_000

// columns returns the list of the key's columns, of one of two rows.
func (t comparedTable) columns(of string) string {
	return of + "." + strings.Join(t.key, ", "+of+".")
}

// equal returns the condition under which two rows have the same key.
func (t comparedTable) equal(a, b string) string {
	parts := make([]string, len(t.key))
	for i, name := range t.key {
		parts[i] = a + "." + name + " = " + b + "." + name
	}
	return strings.Join(parts, " AND ")
}

// kind returns an expression for how a row differs from one with the same key, which may be absent. It is NULL if they are equal.
func (t comparedTable) kind(a, b string) string {
	out := "CASE WHEN " + b + "." + t.key[0] + " IS NULL THEN '" + Surplus + "'"
	for _, name := range t.other {
		out += " WHEN " + a + "." + name + " IS NOT " + b + "." + name + " THEN '" + Changed + "'"
	}
	return out + " END"
}

// tableComparison collects what differs in one table.
type tableComparison struct {
	table string
	rows  int64
	first *RowDifference
	key   []driver.Value // of first
}

// add adds a row that differs. Rows of one kind come in order of their keys.
func (t *tableComparison) add(kind string, key []driver.Value) {
	t.rows++
	if t.first != nil && compareKeys(t.key, key) <= 0 {
		return
	}
	t.key = slices.Clone(key)
	t.first = &RowDifference{Table: t.table, Kind: kind, Key: keyText(key)}
}

// join adds what another comparison of the same table has found.
func (t *tableComparison) join(other *tableComparison) {
	t.rows += other.rows
	if f := other.first; f != nil && (t.first == nil || compareKeys(t.key, other.key) > 0) {
		t.key, t.first = other.key, &RowDifference{Table: t.table, Kind: f.Kind, Key: f.Key}
	}
}

// maxKeyText is the most bytes of a key that are shown.
const maxKeyText = 300

// keyText returns a key as text.
func keyText(key []driver.Value) string {
	parts := make([]string, len(key))
	for i, v := range key {
		switch v := v.(type) {
		case []byte:
			parts[i] = fmt.Sprintf("%x", v)
		default:
			parts[i] = fmt.Sprint(v)
		}
	}
	text := strings.Join(parts, " ")
	if len(text) > maxKeyText {
		return strings.ToValidUTF8(text[:maxKeyText], "") + "…"
	}
	return text
}

// compareKeys compares two keys of one table as SQLite orders them.
func compareKeys(a, b []driver.Value) int {
	for i := range a {
		order := 0
		switch x := a[i].(type) {
		case int64:
			y, _ := b[i].(int64)
			order = cmp.Compare(x, y)
		case string:
			y, _ := b[i].(string)
			order = cmp.Compare(x, y)
		case []byte:
			y, _ := b[i].([]byte)
			order = slices.Compare(x, y)
		}
		if order != 0 {
			return order
		}
	}
	return 0
}
