package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/fanfold/fanfold"
)

// A generation that Copy made is brought up to a model that is yet to come, and follows the log under
// that model. What the model changes waits in tables of its connection, without positions, until they
// are known; Activate empties them.

const copyPages = 4096 // copied at a time

// Copy makes a copy of the current generation beside it; progress is told how many of its pages there
// are. Reads and writes go on meanwhile. Pass it to Swap or Discard.
func (s *Store) Copy(ctx context.Context, progress func(done, total int64)) (db *DB, err error) {
	n, err := s.begin()
	if err != nil {
		return nil, err
	}
	path := s.file(n)
	defer func() {
		if err != nil {
			err = errors.Join(err, removeFiles(path))
			s.release(&DB{number: n})
		}
	}()
	var src *conn
	if err := s.Use(func(current *DB) error { src, _, err = openSnapshot(current.path); return err }); err != nil {
		return nil, err
	}
	if err := errors.Join(copyTo(ctx, src, path, progress), src.close()); err != nil {
		return nil, err
	}
	if db, err = unsafeDB(path, s.opt.FailWrite); err != nil {
		return nil, err
	}
	db.number = n
	for _, q := range []string{
		"CREATE TEMP TABLE touched (number INTEGER PRIMARY KEY)",
		"CREATE TEMP TABLE prepared (number INTEGER PRIMARY KEY, prior INTEGER NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL, rules TEXT NOT NULL, delta TEXT NOT NULL)",
		"CREATE TEMP TABLE had (collection TEXT NOT NULL, path TEXT NOT NULL, value TEXT NOT NULL, holder INTEGER NOT NULL, PRIMARY KEY (collection, path, value, holder)) WITHOUT ROWID",
	} {
		if err := db.writer.exec(q); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return db, nil
}

// copyTo copies a snapshot into a new file.
func copyTo(ctx context.Context, src *conn, to string, progress func(done, total int64)) (err error) {
	dst, err := openConn(dsn(to, "rwc"), "synchronous=OFF")
	if err != nil {
		return failure(err)
	}
	defer func() { err = errors.Join(err, dst.close()) }()
	b, err := dst.raw.Backup("main", src.raw, "main")
	if err != nil {
		return failure(err)
	}
	for done := false; !done && err == nil; {
		if done, err = b.Step(copyPages); err == nil {
			progress(int64(b.PageCount()-b.Remaining()), int64(b.PageCount()))
			err = ctx.Err()
		}
	}
	return errors.Join(failure(err), b.Finish())
}

// Harden brings what was written so far to the disk, so that less is left for Swap to do.
func (db *DB) Harden() error {
	return errors.Join(db.seal(), db.pragmas("journal_mode=OFF", "synchronous=OFF"))
}

// ReadAlone is Read for a generation that nobody else reads.
func (db *DB) ReadAlone(fn func(s *Snapshot) error) error { return snapshot(db.writer, fn) }

// Snapshot reads what the transaction has written; it is valid within it.
func (tx *Tx) Snapshot() *Snapshot { return &Snapshot{c: tx.c, Checkpoint: tx.checkpoint} }

// Prepare keeps a change that the model to come makes; it replaces what was kept of the document.
func (tx *Tx) Prepare(r *Row, prior fanfold.Position, rules []string, delta []byte) error {
	return tx.c.exec("INSERT OR REPLACE INTO temp.prepared (number, prior, collection, id, revision, rules, delta) VALUES (?, ?, ?, ?, ?, ?, ?)",
		r.Number, int64(prior), r.Key.Collection, r.Key.ID, int64(r.Revision), strings.Join(rules, ","), string(delta))
}

// Unprepare forgets it.
func (tx *Tx) Unprepare(number int64) error {
	return tx.c.exec("DELETE FROM temp.prepared WHERE number = ?", number)
}

// Prepared is how many changes wait.
func (tx *Tx) Prepared() (n int64, err error) {
	_, err = tx.c.first("SELECT count(*) FROM temp.prepared", func(r []sqlValue) { n = intOf(r[0]) })
	return n, err
}

// Touch notes that a document may differ from what was prepared.
func (tx *Tx) Touch(number int64) error {
	return tx.c.exec("INSERT OR IGNORE INTO temp.touched (number) VALUES (?)", number)
}

// Touched returns up to limit numbers that were touched.
func (tx *Tx) Touched(after int64, limit int) (numbers []int64, err error) {
	err = tx.c.query("SELECT number FROM temp.touched WHERE number > ? ORDER BY number LIMIT ?", func(r []sqlValue) error {
		numbers = append(numbers, intOf(r[0]))
		return nil
	}, after, int64(limit))
	return numbers, err
}

// Untouch forgets every touch.
func (tx *Tx) Untouch() error { return tx.c.exec("DELETE FROM temp.touched") }

// SetPosition gives a document the position of its last change.
func (tx *Tx) SetPosition(number int64, position fanfold.Position) error {
	if err := tx.cool(number); err != nil {
		return err
	}
	tx.hot.drop(number)
	return tx.c.exec("UPDATE document SET position = ? WHERE number = ?", int64(position), number)
}

// changeRow are the columns of a change, as they are copied.
const changeRow = "position, ordinal, prior, collection, id, op, revision, time, tx, rules, delta, previous, previous_source"

// CopyChanges takes over up to limit changes of another generation behind a position, and touches
// their documents. It returns the last one's position, or after where there is none.
func (tx *Tx) CopyChanges(from *Snapshot, after fanfold.Position, limit int) (last fanfold.Position, n int, err error) {
	last = after
	err = from.c.query("SELECT "+changeRow+" FROM change WHERE position > ? ORDER BY position LIMIT ?", func(r []sqlValue) error {
		if err := tx.c.exec("INSERT INTO change ("+changeRow+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", r...); err != nil {
			return err
		}
		last, n = fanfold.Position(intOf(r[0])), n+1
		return tx.c.exec("INSERT OR IGNORE INTO temp.touched (number) SELECT number FROM document WHERE collection = ? AND id = ?", r[3], r[4])
	}, int64(after), int64(limit))
	return last, n, err
}

// SetChanges takes over how many changes another generation has, and the last one's position.
func (tx *Tx) SetChanges(cp Checkpoint) {
	tx.checkpoint.Changes, tx.checkpoint.Position = cp.Changes, cp.Position
}

// Activate gives the changes that wait their positions, as those of event seq.
func (tx *Tx) Activate(seq uint64, now int64) error {
	if err := tx.writeHot(); err != nil {
		return err
	}
	tx.hot.clear()
	n, err := tx.Prepared()
	if err != nil || n == 0 {
		return err
	}
	first := int64(fanfold.At(seq, 0))
	if err := tx.c.exec("INSERT INTO temp.placed (number, position) SELECT number, ? + row_number() OVER (ORDER BY number) FROM temp.prepared", first-1); err != nil {
		return err
	}
	if err := tx.c.exec(`INSERT INTO change (position, ordinal, prior, collection, id, op, revision, time, rules, delta)
		SELECT l.position, ? + l.position, p.prior, p.collection, p.id, 'derive', p.revision, ?, p.rules, p.delta
		FROM temp.placed l CROSS JOIN temp.prepared p ON p.number = l.number`, tx.checkpoint.Changes+1-first, now); err != nil {
		return err
	}
	if err := tx.c.exec("UPDATE document SET " + placedSQL); err != nil {
		return err
	}
	if err := tx.c.exec("DELETE FROM temp.placed"); err != nil {
		return err
	}
	tx.checkpoint.Changes += n
	tx.checkpoint.Position = fanfold.At(seq, int(n-1))
	return nil
}

// Targets calls fn with every document that others refer to by the relation. fn may read and write.
func (tx *Tx) Targets(relation, to string, fn func(id string, body []byte) error) error {
	for after := ""; ; {
		var id string
		var body []byte
		found, err := tx.c.first("SELECT target, (SELECT body FROM document WHERE collection = ? AND id = target) FROM link WHERE relation = ? AND target > ? ORDER BY target LIMIT 1",
			func(r []sqlValue) { id, body = textOf(r[0]), bytesOf(r[1]) }, to, relation, after)
		if err != nil || !found {
			return err
		}
		if body != nil {
			if err := fn(id, body); err != nil {
				return err
			}
		}
		after = id
	}
}

// PageLinks gives every link of a relation its place in its target's pages, in order of arrival.
func (tx *Tx) PageLinks(relation string) error {
	if err := tx.c.exec("DELETE FROM paged WHERE relation = ?", relation); err != nil {
		return err
	}
	if err := tx.c.exec("INSERT INTO paged (relation, target, count) SELECT relation, target, count(*) FROM link WHERE relation = ? GROUP BY target", relation); err != nil {
		return err
	}
	return tx.c.exec(`UPDATE link SET ordinal = p.ordinal
		FROM (SELECT target, holder, row_number() OVER (PARTITION BY target ORDER BY holder) - 1 AS ordinal FROM link WHERE relation = ?1) p
		WHERE link.relation = ?1 AND link.target = p.target AND link.holder = p.holder`, relation)
}

// Have notes that a document has a value of a member that is to be unique.
func (tx *Tx) Have(collection, path, value string, holder int64) error {
	return tx.c.exec("INSERT OR IGNORE INTO temp.had (collection, path, value, holder) VALUES (?, ?, ?, ?)", collection, path, value, holder)
}

// Lose notes that it no longer does.
func (tx *Tx) Lose(collection, path, value string, holder int64) error {
	return tx.c.exec("DELETE FROM temp.had WHERE collection = ? AND path = ? AND value = ? AND holder = ?", collection, path, value, holder)
}

// ClaimHad gives the values of a member that is to be unique to the first documents that have them.
func (tx *Tx) ClaimHad(collection, path string) error {
	return tx.c.exec(`INSERT INTO claim (collection, path, value, holder, seq)
		SELECT ?1, ?2, h.value, d.id, 0 FROM (SELECT value, min(holder) AS first FROM temp.had WHERE collection = ?1 AND path = ?2 GROUP BY value) h
		JOIN document d ON d.number = h.first WHERE true
		ON CONFLICT (collection, path, value) DO UPDATE SET holder = excluded.holder`, collection, path)
}

// SharedHad calls fn for the first values of such a member that several documents have, with the
// numbers of the first and last.
func (tx *Tx) SharedHad(collection, path string, limit int, fn func(value string, first, last int64) error) error {
	return tx.c.query("SELECT value, min(holder), max(holder) FROM temp.had WHERE collection = ? AND path = ? GROUP BY value HAVING count(*) > 1 LIMIT ?",
		func(r []driver.Value) error { return fn(textOf(r[0]), intOf(r[1]), intOf(r[2])) }, collection, path, int64(limit))
}

// Dangling calls fn for the first links of a relation whose target is not there.
func (tx *Tx) Dangling(relation, to string, limit int, fn func(holder int64, target string) error) error {
	return dangling(tx.c, "link", relation, to, limit, fn)
}

func dangling(c *conn, table, relation, to string, limit int, fn func(holder int64, target string) error) error {
	return c.query("SELECT f.holder, f.target FROM "+table+" f WHERE f.relation = ? AND NOT EXISTS (SELECT 1 FROM document d WHERE d.collection = ? AND d.id = f.target) ORDER BY f.holder LIMIT ?",
		func(r []sqlValue) error { return fn(intOf(r[0]), textOf(r[1])) }, relation, to, int64(limit))
}
