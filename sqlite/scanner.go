package sqlite

import (
	"context"
	"errors"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Scanner is a snapshot for long work, on a connection of its own, with a private link index to
// recompute the stored one against. SQLite cannot reuse its WAL while a scanner is open. It is for
// one goroutine, which closes it.
type Scanner struct {
	*Snapshot
	values            bool // KeepValue was called
	c                 *driver.Conn
	keptValuesIndexed bool // there is a private index of kept values by holder
	scans             int  // lists of numbers that EachRow made
}

// Scan opens a scanner on the current generation. It stays valid after Swap has replaced that
// generation. The caller closes it.
func (s *Store) Scan() (*Scanner, error) {
	var sc *Scanner
	err := s.Use(func(db *DB) error {
		c, cp, err := openSnapshot(db.Path(), "CREATE TEMP TABLE computed_link (relation TEXT, target TEXT, holder INTEGER, PRIMARY KEY (relation, target, holder)) WITHOUT ROWID",
			"CREATE TEMP TABLE computed_value (rule TEXT, id TEXT, value TEXT, PRIMARY KEY (rule, id))",
			"CREATE TEMP TABLE computed_entry (idx INTEGER, key BLOB, tie INTEGER, PRIMARY KEY (idx, key, tie)) WITHOUT ROWID",
			"CREATE TEMP TABLE scan (scan INTEGER, number INTEGER, PRIMARY KEY (scan, number)) WITHOUT ROWID")
		if err != nil {
			return err
		}
		sc = &Scanner{Snapshot: &Snapshot{sequenceReader: sequenceReader{c}, c: c, Checkpoint: cp}, c: c}
		return nil
	})
	return sc, err
}

// EndWith makes every query end once ctx has ended, with its error. Without it a query goes on for as long as it takes.
func (s *Scanner) EndWith(ctx context.Context) { s.c.EndWith(ctx) }

// openSnapshot opens a connection, runs statements on it and begins a read transaction, which also
// keeps a copy from beginning again with every write (SQLite documentation, Online Backup API). It
// returns the checkpoint of the snapshot. The caller closes the connection.
func openSnapshot(path string, statements ...string) (c *driver.Conn, cp Checkpoint, err error) {
	c, err = driver.Open(path, driver.ReadOnly, "cache_size=-16384", "busy_timeout=10000", "temp_store=FILE")
	if err != nil {
		return nil, cp, err
	}
	for _, s := range append(statements, "BEGIN") {
		if err := c.Exec(s); err != nil {
			return nil, cp, errors.Join(err, c.Close())
		}
	}
	if cp, err = readCheckpoint(c); err != nil {
		return nil, cp, errors.Join(err, c.Close())
	}
	return c, cp, nil
}

// Close ends the snapshot and closes its connection.
func (s *Scanner) Close() error {
	s.c.EndWith(context.Background())
	return errors.Join(s.c.Exec("ROLLBACK"), s.c.Close())
}

// All returns documents of all collections as written, with numbers greater than after and in order of number. It
// stops at limit, and earlier if they are large. more reports whether others follow.
func (s *Scanner) All(after int64, limit int) (docs []*fanfold.Document, more bool, err error) {
	return s.documents(limit, exportBytes, selectView(fanfold.Referenced)+fromDocument+"WHERE d.number > ? ORDER BY d.number", after)
}

// EachKept calls fn for the values that stayed on the document with a number, in order of rule and target.
func (s *Scanner) EachKept(holder int64, fn func(rule, target string, value []byte) error) error {
	if !s.keptValuesIndexed { // the stored table is in order of rule and target
		for _, statement := range []string{
			"CREATE TEMP TABLE kept_of (holder INTEGER, rule INTEGER, target TEXT, PRIMARY KEY (holder, rule, target)) WITHOUT ROWID",
			"INSERT INTO temp.kept_of SELECT holder, rule, target FROM kept",
		} {
			if err := s.c.Exec(statement); err != nil {
				return err
			}
		}
		s.keptValuesIndexed = true
	}
	return s.c.Query("SELECT n.text, k.target, k.value FROM temp.kept_of o JOIN kept k USING (rule, target, holder) JOIN name n ON n.id = o.rule WHERE o.holder = ? ORDER BY n.text, o.target", func(r driver.Row) error {
		return fn(r.Text(0), r.Text(1), r.Bytes(2))
	}, holder)
}

// AddLink enters a link into the private index. Entering it twice is no error.
func (s *Scanner) AddLink(relation, target string, holder int64) error {
	return s.c.Exec("INSERT OR IGNORE INTO temp.computed_link (relation, target, holder) VALUES (?, ?, ?)", relation, target, holder)
}

// ForgetComputed empties the private link index, and forgets what KeepValue kept.
func (s *Scanner) ForgetComputed() error {
	s.values = false
	return errors.Join(s.c.Exec("DELETE FROM temp.computed_link"), s.c.Exec("DELETE FROM temp.computed_value"))
}

// KeepValue keeps the value of a rule for a document in a temporary file, nil for none. A value that
// is kept already stays.
func (s *Scanner) KeepValue(rule, id string, value []byte) error {
	s.values = true
	return s.c.Exec("INSERT OR IGNORE INTO temp.computed_value (rule, id, value) VALUES (?, ?, ?)", rule, id, driver.Text(value))
}

// Value returns what KeepValue kept. found is false where nothing is.
func (s *Scanner) Value(rule, id string) (value []byte, found bool, err error) {
	if !s.values {
		return nil, false, nil
	}
	found, err = s.c.QueryRow("SELECT value FROM temp.computed_value WHERE rule = ? AND id = ?", func(r driver.Row) { value = r.Bytes(0) }, rule, id)
	return value, found, err
}

// Holders returns the numbers of the documents that refer to target in the private index, in order
// of creation, limit of them at most.
func (s *Scanner) Holders(relation, target string, limit int) (numbers []int64, err error) {
	err = s.c.Query("SELECT holder FROM temp.computed_link WHERE relation = ? AND target = ? ORDER BY holder LIMIT ? + 0", func(r driver.Row) error {
		numbers = append(numbers, r.Int(0))
		return nil
	}, relation, target, int64(limit))
	return numbers, err
}

// CountHolders returns how many documents refer to target in the private index.
func (s *Scanner) CountHolders(relation, target string) (n int64, err error) {
	_, err = s.c.QueryRow("SELECT count(*) FROM temp.computed_link WHERE relation = ? AND target = ?", func(r driver.Row) { n = r.Int(0) }, relation, target)
	s.c.Rows += int(n)
	return n, err
}

// Dangling calls fn for links of a relation in the private index whose target is not in collection
// to, for limit links at most.
func (s *Scanner) Dangling(relation, to string, limit int, fn func(holder int64, target string) error) error {
	return eachDangling(s.c, "temp.computed_link f WHERE f.relation = ?", relation, to, limit, fn)
}

// Shared calls fn for targets of a relation in the private index that several documents refer to, limit targets at
// most. fn gets the numbers of the first and the last of these documents.
func (s *Scanner) Shared(relation string, limit int, fn func(target string, first, second int64) error) error {
	return s.c.Query("SELECT target, min(holder), max(holder) FROM temp.computed_link WHERE relation = ? GROUP BY target HAVING count(*) > 1 LIMIT ? + 0",
		func(r driver.Row) error { return fn(r.Text(0), r.Int(1), r.Int(2)) }, relation, int64(limit))
}

// CompareClaims calls fn for every value of a unique member on which the read model and the
// relation index of the private index disagree. stored says that the read model has the value for
// the holder and the private index has not.
func (s *Scanner) CompareClaims(collection, path, index string, fn func(value, holder string, stored bool) error) error {
	const claimed = "SELECT value, holder FROM claim WHERE collection = ? AND path = ? AND holder IS NOT NULL"
	const had = "SELECT f.target, d.id FROM temp.computed_link f JOIN document d ON d.number = f.holder WHERE f.relation = ?"
	tell := func(stored bool) func(r driver.Row) error {
		return func(r driver.Row) error { return fn(r.Text(0), r.Text(1), stored) }
	}
	if err := s.c.Query(claimed+" EXCEPT "+had, tell(true), collection, path, index); err != nil {
		return err
	}
	return s.c.Query(had+" EXCEPT "+claimed, tell(false), index, collection, path)
}

// LinkDifference is a link that only one of the two link indexes has.
type LinkDifference struct {
	Relation string
	Target   string
	Holder   int64
	Stored   bool // it is in the read model, and should not be
}

// CompareLinks calls fn for every link that only one of the read model and the private index has.
func (s *Scanner) CompareLinks(fn func(LinkDifference) error) error {
	const stored = "SELECT n.text, l.target, l.holder FROM main.link l JOIN main.name n ON n.id = l.relation"
	const computed = "SELECT relation, target, holder FROM temp.computed_link"
	for _, q := range []struct {
		sql    string
		stored bool
	}{
		{stored + " EXCEPT " + computed, true},
		{computed + " EXCEPT " + stored, false},
	} {
		if err := s.c.Query(q.sql, func(r driver.Row) error {
			return fn(LinkDifference{Relation: r.Text(0), Target: r.Text(1), Holder: r.Int(2), Stored: q.stored})
		}); err != nil {
			return err
		}
	}
	return nil
}

// KeyOf returns the key of the document with a number. found is false where there is none.
func (s *Snapshot) KeyOf(number int64) (key fanfold.Key, found bool, err error) {
	found, err = s.c.QueryRow("SELECT collection, id FROM document WHERE number = ?", func(r driver.Row) {
		key = fanfold.Key{Collection: r.Text(0), ID: r.Text(1)}
	}, number)
	return key, found, err
}

// Dangling calls fn for links of a relation whose target is not in collection to, for limit links
// at most.
func (ls *Links) Dangling(relation, to string, limit int, fn func(holder int64, target string) error) error {
	return eachDangling(ls.p.c, ofRelation, relation, to, limit, fn)
}

// Dangling calls fn for links of a relation in the read model whose target is not in collection to, for limit links at
// most.
func (s *Snapshot) Dangling(relation, to string, limit int, fn func(holder int64, target string) error) error {
	return eachDangling(s.c, ofRelation, relation, to, limit, fn)
}

// ofRelation selects the links of a relation in the read model.
const ofRelation = "link f WHERE f.relation = (SELECT id FROM name WHERE text = ?)"

// eachDangling calls fn for links, selected by a relation, whose target is not in collection to, in order of
// holder.
func eachDangling(c *driver.Conn, links, relation, to string, limit int, fn func(holder int64, target string) error) error {
	return c.Query("SELECT f.holder, f.target FROM "+links+" AND NOT EXISTS (SELECT 1 FROM document d WHERE d.collection = ? AND d.id = f.target) ORDER BY f.holder LIMIT ? + 0",
		func(r driver.Row) error { return fn(r.Int(0), r.Text(1)) }, relation, to, int64(limit))
}
