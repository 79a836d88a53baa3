package sqlite

import (
	"errors"

	"github.com/fanfold/fanfold"
)

// Scanner is a long-lived snapshot on a connection of its own, with a private link index to
// recompute against. SQLite cannot reuse its log while one is open. Close it.
type Scanner struct {
	*Snapshot
	c *conn
}

// Scan opens a scanner on the current generation, which a replay's swap does not take away.
func (s *Store) Scan() (*Scanner, error) {
	var sc *Scanner
	err := s.Use(func(db *DB) error {
		c, cp, err := openSnapshot(db.path, "CREATE TEMP TABLE fresh (relation TEXT, target TEXT, holder INTEGER, PRIMARY KEY (relation, target, holder)) WITHOUT ROWID")
		if err != nil {
			return err
		}
		sc = &Scanner{Snapshot: &Snapshot{c: c, Checkpoint: cp}, c: c}
		return nil
	})
	return sc, err
}

// openSnapshot opens a connection, runs statements on it and begins a read transaction, which also keeps
// a copy from beginning again with every write (SQLite documentation, Online Backup API).
func openSnapshot(path string, statements ...string) (c *conn, cp Checkpoint, err error) {
	c, err = openConn(dsn(path, "ro"), "cache_size=-16384", "busy_timeout=10000", "temp_store=FILE")
	if err != nil {
		return nil, cp, failure(err)
	}
	for _, s := range append(statements, "BEGIN") {
		if err := c.exec(s); err != nil {
			return nil, cp, errors.Join(err, c.close())
		}
	}
	if cp, err = readCheckpoint(c); err != nil {
		return nil, cp, errors.Join(err, c.close())
	}
	return c, cp, nil
}

// Close ends the snapshot.
func (s *Scanner) Close() error { return errors.Join(s.c.exec("ROLLBACK"), s.c.close()) }

// All returns up to limit documents of all collections behind a number, as written, by number;
// more tells whether there are others behind them.
func (s *Scanner) All(after int64, limit int) (docs []*fanfold.Document, more bool, err error) {
	columns, from := selectView(fanfold.Referenced)
	return s.documents(limit, columns+from+"WHERE d.number > ? ORDER BY d.number", after)
}

// EachKept calls fn for the values that stayed on the holders from one number to another, by rule and
// target.
func (s *Scanner) EachKept(from, to int64, fn func(holder int64, rule, target string, value []byte) error) error {
	return s.c.query("SELECT holder, rule, target, value FROM kept WHERE holder BETWEEN ? AND ? ORDER BY rule, target, holder", func(r []sqlValue) error {
		return fn(intOf(r[0]), textOf(r[1]), textOf(r[2]), bytesOf(r[3]))
	}, from, to)
}

// AddLink enters a link into the private index.
func (s *Scanner) AddLink(relation, target string, holder int64) error {
	return s.c.exec("INSERT OR IGNORE INTO temp.fresh (relation, target, holder) VALUES (?, ?, ?)", relation, target, holder)
}

// Holders returns the numbers of up to limit holders in the private index, in order of arrival.
func (s *Scanner) Holders(relation, target string, limit int) (numbers []int64, err error) {
	err = s.c.query("SELECT holder FROM temp.fresh WHERE relation = ? AND target = ? ORDER BY holder LIMIT ?", func(r []sqlValue) error {
		numbers = append(numbers, intOf(r[0]))
		return nil
	}, relation, target, int64(limit))
	return numbers, err
}

// Dangling calls fn for the first links of a relation in the private index whose target is not there.
func (s *Scanner) Dangling(relation, to string, limit int, fn func(holder int64, target string) error) error {
	return dangling(s.c, "temp.fresh", relation, to, limit, fn)
}

// Shared calls fn for the first targets of a relation in the private index that several documents
// refer to, with the first two of them.
func (s *Scanner) Shared(relation string, limit int, fn func(target string, first, second int64) error) error {
	return s.c.query("SELECT target, min(holder), max(holder) FROM temp.fresh WHERE relation = ? GROUP BY target HAVING count(*) > 1 LIMIT ?",
		func(r []sqlValue) error { return fn(textOf(r[0]), intOf(r[1]), intOf(r[2])) }, relation, int64(limit))
}

// CompareClaims calls fn for every value of a unique member that the read model and a relation of the
// private index disagree on; stored tells which of the two has it.
func (s *Scanner) CompareClaims(collection, path, index string, fn func(value, holder string, stored bool) error) error {
	const claimed = "SELECT value, holder FROM claim WHERE collection = ? AND path = ? AND holder IS NOT NULL"
	const had = "SELECT f.target, d.id FROM temp.fresh f JOIN document d ON d.number = f.holder WHERE f.relation = ?"
	tell := func(stored bool) func(r []sqlValue) error {
		return func(r []sqlValue) error { return fn(textOf(r[0]), textOf(r[1]), stored) }
	}
	if err := s.c.query(claimed+" EXCEPT "+had, tell(true), collection, path, index); err != nil {
		return err
	}
	return s.c.query(had+" EXCEPT "+claimed, tell(false), index, collection, path)
}

// LinkDifference is a link that one index has and the other has not.
type LinkDifference struct {
	Relation string
	Target   string
	Holder   int64
	Stored   bool // it is in the read model, and should not be
}

// CompareLinks calls fn for every link that the read model and the private index disagree on.
func (s *Scanner) CompareLinks(fn func(LinkDifference) error) error {
	for _, q := range []struct {
		sql    string
		stored bool
	}{
		{"SELECT relation, target, holder FROM main.link EXCEPT SELECT relation, target, holder FROM temp.fresh", true},
		{"SELECT relation, target, holder FROM temp.fresh EXCEPT SELECT relation, target, holder FROM main.link", false},
	} {
		if err := s.c.query(q.sql, func(r []sqlValue) error {
			return fn(LinkDifference{Relation: textOf(r[0]), Target: textOf(r[1]), Holder: intOf(r[2]), Stored: q.stored})
		}); err != nil {
			return err
		}
	}
	return nil
}

// KeyOf returns the key of a document by number; false where there is none.
func (s *Snapshot) KeyOf(number int64) (key fanfold.Key, found bool, err error) {
	found, err = s.c.first("SELECT collection, id FROM document WHERE number = ?", func(r []sqlValue) {
		key = fanfold.Key{Collection: textOf(r[0]), ID: textOf(r[1])}
	}, number)
	return key, found, err
}

// Dangling calls fn for the first links of a relation whose target is not there.
func (tx *Tx) Dangling(relation, to string, limit int, fn func(holder int64, target string) error) error {
	return dangling(tx.c, "link", relation, to, limit, fn)
}

func dangling(c *conn, table, relation, to string, limit int, fn func(holder int64, target string) error) error {
	return c.query("SELECT f.holder, f.target FROM "+table+" f WHERE f.relation = ? AND NOT EXISTS (SELECT 1 FROM document d WHERE d.collection = ? AND d.id = f.target) ORDER BY f.holder LIMIT ?",
		func(r []sqlValue) error { return fn(intOf(r[0]), textOf(r[1])) }, relation, to, int64(limit))
}
