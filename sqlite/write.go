package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
)

type sqlValue = driver.Value

// Row is a document as the fold sees it: both views and what the fold decides by.
type Row struct {
	Number   int64
	Key      fanfold.Key
	Revision fanfold.Revision
	Position fanfold.Position
	Created  time.Time
	Updated  time.Time
	Body     []byte // the embedded view
	Stored   []byte // the referenced view's own row; nil where there is none
}

// Source is the referenced view.
func (r *Row) Source() []byte {
	if r.Stored != nil {
		return r.Stored
	}
	return r.Body
}

// Tx is what the fold may do within one transaction. It reads its own writes.
type Tx struct {
	c          *conn
	checkpoint Checkpoint
	loaded     bool // checkpoint and tombstones are as the file has them: nobody else writes to it
	tombstones bool // whether there may be any
	remembered int
	cache      rowCache
	args       []sqlValue // used again and again
	derived    []sqlValue // derived changes yet to be written
}

// prepareTemp makes what the writing connection keeps beside the file.
func (db *DB) prepareTemp() error {
	db.tx = &Tx{c: db.writer}
	return errors.Join(db.writer.exec("CREATE TEMP TABLE before (number INTEGER PRIMARY KEY, body TEXT NOT NULL)"),
		db.writer.exec("CREATE TEMP TABLE placed (number INTEGER PRIMARY KEY, position INTEGER NOT NULL)"))
}

func (tx *Tx) begin() error {
	if tx.loaded {
		return nil
	}
	cp, err := readCheckpoint(tx.c)
	if err != nil {
		return err
	}
	tx.checkpoint, tx.remembered, tx.derived = cp, 0, tx.derived[:0]
	tx.cache.clear()
	tx.tombstones, err = tx.c.first("SELECT 1 FROM tombstone LIMIT 1", func([]sqlValue) {})
	tx.loaded = err == nil
	return err
}

const checkpointSQL = "SELECT seq, position, time, changes, fold FROM checkpoint WHERE id = 1"

func readCheckpoint(c *conn) (cp Checkpoint, err error) {
	_, err = c.first(checkpointSQL, func(r []sqlValue) { cp = checkpointOf(r) })
	return cp, err
}

func checkpointOf(r []sqlValue) Checkpoint {
	return Checkpoint{Seq: uint64(intOf(r[0])), Position: fanfold.Position(intOf(r[1])),
		Time: timeOf(r[2]), Changes: intOf(r[3]), Fold: textOf(r[4])}
}

func timeOf(v sqlValue) time.Time { return time.Unix(0, intOf(v)).UTC() }

// Checkpoint is where the transaction stands, its own writes included.
func (tx *Tx) Checkpoint() Checkpoint { return tx.checkpoint }

// SetCheckpoint says that the event at seq is folded; it is written at the transaction's end.
func (tx *Tx) SetCheckpoint(seq uint64, now time.Time, fold string) {
	tx.checkpoint.Seq, tx.checkpoint.Fold = seq, fold
	if now.After(tx.checkpoint.Time) {
		tx.checkpoint.Time = now
	}
}

func (tx *Tx) flush() error {
	if err := tx.flushCache(); err != nil {
		return err
	}
	if err := tx.writeDerived(); err != nil {
		return err
	}
	cp := tx.checkpoint
	return tx.c.exec(`INSERT INTO checkpoint (id, seq, position, time, changes, fold) VALUES (1, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, position = excluded.position,
		time = excluded.time, changes = excluded.changes, fold = excluded.fold`,
		int64(cp.Seq), int64(cp.Position), cp.Time.UnixNano(), cp.Changes, cp.Fold)
}

const rowSQL = `SELECT d.number, d.collection, d.id, d.revision, d.position, d.created, d.updated, d.body, s.body
	FROM document d LEFT JOIN source s ON s.number = d.number WHERE `

func rowOf(r []sqlValue) *Row {
	return &Row{Number: intOf(r[0]), Key: fanfold.Key{Collection: textOf(r[1]), ID: textOf(r[2])},
		Revision: fanfold.Revision(intOf(r[3])), Position: fanfold.Position(intOf(r[4])),
		Created: timeOf(r[5]), Updated: timeOf(r[6]), Body: bytesOf(r[7]), Stored: bytesOf(r[8])}
}

func (tx *Tx) row(where string, args ...sqlValue) (row *Row, err error) {
	_, err = tx.c.first(rowSQL+where, func(r []sqlValue) { row = rowOf(r) }, args...)
	return row, err
}

// Get returns the document, or nil where there is none.
func (tx *Tx) Get(key fanfold.Key) (*Row, error) {
	if err := tx.flushCached(tx.cache.keys[key]); err != nil {
		return nil, err
	}
	return tx.row("d.collection = ? AND d.id = ?", key.Collection, key.ID)
}

// ByNumber returns the document, or nil where there is none.
func (tx *Tx) ByNumber(number int64) (*Row, error) {
	if err := tx.flushCached(number); err != nil {
		return nil, err
	}
	return tx.row("d.number = ?", number)
}

// Each calls fn with the documents of these numbers, in the order given, without what only a
// write needs: times and the referenced view's own row. Numbers without a document are passed
// over. fn may write, but must not call Each.
func (tx *Tx) Each(numbers []int64, fn func(r *Row) error) error {
	if len(numbers) <= cachedAtOnce {
		return tx.eachCached(numbers, fn)
	}
	if err := tx.flushCache(); err != nil {
		return err
	}
	tx.cache.clear()
	const chunk = 256 // rows read ahead of their updates
	rows := make([]Row, 0, chunk)
	list := make([]byte, 0, 16*chunk)
	for some := range slices.Chunk(numbers, chunk) {
		rows, list = rows[:0], append(list[:0], '[')
		for i, n := range some {
			if i > 0 {
				list = append(list, ',')
			}
			list = strconv.AppendInt(list, n, 10)
		}
		list = append(list, ']')
		if err := tx.c.query(`SELECT d.number, d.collection, d.id, d.revision, d.position, d.body
			FROM json_each(?) j CROSS JOIN document d ON d.number = j.value`, func(r []sqlValue) error {
			rows = append(rows, Row{Number: intOf(r[0]), Key: fanfold.Key{Collection: textOf(r[1]), ID: textOf(r[2])},
				Revision: fanfold.Revision(intOf(r[3])), Position: fanfold.Position(intOf(r[4])), Body: bytesOf(r[5])})
			return nil
		}, text(list)); err != nil {
			return err
		}
		for i := range rows {
			if err := fn(&rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Stored returns the referenced view's own row, or nil where there is none.
func (tx *Tx) Stored(number int64) (body []byte, err error) {
	_, err = tx.c.first("SELECT body FROM source WHERE number = ?", func(r []sqlValue) { body = bytesOf(r[0]) }, number)
	return body, err
}

// Body returns the document's embedded view, or nil where there is none.
func (tx *Tx) Body(key fanfold.Key) (body []byte, err error) {
	if h := tx.cache.rows[tx.cache.keys[key]]; h != nil {
		return h.row.Body, nil
	}
	_, err = tx.c.first("SELECT body FROM document WHERE collection = ? AND id = ?",
		func(r []sqlValue) { body = bytesOf(r[0]) }, key.Collection, key.ID)
	return body, err
}

// NumberOf returns the document's number, 0 where there is none.
func (tx *Tx) NumberOf(key fanfold.Key) (number int64, err error) {
	if number := tx.cache.keys[key]; number != 0 {
		return number, nil
	}
	_, err = tx.c.first("SELECT number FROM document WHERE collection = ? AND id = ?",
		func(r []sqlValue) { number = intOf(r[0]) }, key.Collection, key.ID)
	return number, err
}

// Insert adds a document that was not there and forgets its tombstone.
func (tx *Tx) Insert(r *Row) error {
	if tx.tombstones {
		if err := tx.c.exec("DELETE FROM tombstone WHERE collection = ? AND id = ?", r.Key.Collection, r.Key.ID); err != nil {
			return err
		}
	}
	if err := tx.c.exec("INSERT INTO document (number, collection, id, revision, position, created, updated, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		r.Number, r.Key.Collection, r.Key.ID, int64(r.Revision), int64(r.Position), r.Created.UnixNano(), r.Updated.UnixNano(), text(r.Body)); err != nil {
		return err
	}
	if r.Stored == nil {
		return nil
	}
	return tx.c.exec("INSERT INTO source (number, body) VALUES (?, ?)", r.Number, text(r.Stored))
}

// Replace writes both views of a document after a write to it.
func (tx *Tx) Replace(r *Row) error {
	tx.cache.drop(r.Number)
	if err := tx.c.exec("UPDATE document SET revision = ?, position = ?, updated = ?, body = ? WHERE number = ?",
		int64(r.Revision), int64(r.Position), r.Updated.UnixNano(), text(r.Body), r.Number); err != nil {
		return err
	}
	return tx.SetSource(r.Number, r.Stored)
}

// SetSource writes the referenced view's own row, or removes it where body is nil.
func (tx *Tx) SetSource(number int64, body []byte) error {
	if body == nil {
		return tx.c.exec("DELETE FROM source WHERE number = ?", number)
	}
	return tx.c.exec("INSERT INTO source (number, body) VALUES (?, ?) ON CONFLICT (number) DO UPDATE SET body = excluded.body", number, text(body))
}

// SetBody writes the embedded view after a derived change at position.
func (tx *Tx) SetBody(number int64, position fanfold.Position, body []byte) error {
	if h := tx.cache.rows[number]; h != nil {
		return tx.updateCached(h, position, body)
	}
	return tx.setBody(number, position, body)
}

func (tx *Tx) setBody(number int64, position fanfold.Position, body []byte) error {
	return tx.c.exec("UPDATE document SET position = ?, body = ? WHERE number = ?", int64(position), text(body), number)
}

// Delete removes the document and leaves a tombstone.
func (tx *Tx) Delete(r *Row, revision fanfold.Revision, position fanfold.Position) error {
	tx.cache.drop(r.Number)
	if err := tx.c.exec("DELETE FROM document WHERE number = ?", r.Number); err != nil {
		return err
	}
	if err := tx.c.exec("DELETE FROM source WHERE number = ?", r.Number); err != nil {
		return err
	}
	return tx.Tombstone(r.Key, revision, position)
}

// Tombstone records the last delete of a document that is not there.
func (tx *Tx) Tombstone(key fanfold.Key, revision fanfold.Revision, position fanfold.Position) error {
	tx.tombstones = true
	return tx.c.exec("INSERT INTO tombstone (collection, id, revision, position) VALUES (?, ?, ?, ?) ON CONFLICT (collection, id) DO UPDATE SET revision = excluded.revision, position = max(position, excluded.position)",
		key.Collection, key.ID, int64(revision), int64(position))
}

// linkRows are statements that insert 1, 2, 3, ... links.
var linkRows = func() (list [8]string) {
	for i := range list {
		list[i] = "INSERT INTO link (relation, target, holder) VALUES (?, ?, ?)" + strings.Repeat(", (?, ?, ?)", i)
	}
	return list
}()

// Numbers returns up to limit numbers of the collection's documents after one, in order.
func (tx *Tx) Numbers(collection string, after int64, limit int) (numbers []int64, err error) {
	err = tx.c.query("SELECT number FROM document WHERE number > ? AND +collection = ? ORDER BY number LIMIT ?", func(r []sqlValue) error {
		numbers = append(numbers, intOf(r[0]))
		return nil
	}, after, collection, int64(limit))
	return numbers, err
}

// KeepOnHolders records the value that stays on every holder of target.
func (tx *Tx) KeepOnHolders(rule, relation, target string, value []byte) error {
	return tx.c.exec("INSERT INTO kept (rule, target, holder, value) SELECT ?, target, holder, ? FROM link WHERE relation = ? AND target = ?",
		rule, text(value), relation, target)
}

// KeepOnHolder records the value that stays on one holder of target.
func (tx *Tx) KeepOnHolder(rule, target string, holder int64, value []byte) error {
	return tx.c.exec("INSERT OR REPLACE INTO kept (rule, target, holder, value) VALUES (?, ?, ?, ?)", rule, target, holder, text(value))
}

// Kept returns the value that stayed on the holder, or nil.
func (tx *Tx) Kept(rule, target string, holder int64) (value []byte, err error) {
	_, err = tx.c.first("SELECT value FROM kept WHERE rule = ? AND target = ? AND holder = ?",
		func(r []sqlValue) { value = bytesOf(r[0]) }, rule, target, holder)
	return value, err
}

// ForgetKept removes kept values of the rule: of one target where it is not "", of one holder
// where it is not 0.
func (tx *Tx) ForgetKept(rule, target string, holder int64) error {
	switch {
	case target == "":
		return tx.c.exec("DELETE FROM kept WHERE rule = ?", rule)
	case holder == 0:
		return tx.c.exec("DELETE FROM kept WHERE rule = ? AND target = ?", rule, target)
	default:
		return tx.c.exec("DELETE FROM kept WHERE rule = ? AND target = ? AND holder = ?", rule, target, holder)
	}
}

// KeptRules returns the rules that have kept values.
func (tx *Tx) KeptRules() (rules []string, err error) {
	err = tx.c.query("SELECT DISTINCT rule FROM kept", func(r []sqlValue) error {
		rules = append(rules, textOf(r[0]))
		return nil
	})
	return rules, err
}

// derivedRows are statements that insert 1, 2, 3, ... derived changes.
var derivedRows = func() (list [8]string) {
	const row = "(?, ?, ?, ?, ?, 'derive', ?, ?, ?, ?, ?)"
	for i := range list {
		list[i] = "INSERT INTO change (position, ordinal, prior, collection, id, op, revision, time, tx, rules, delta) VALUES " + row + strings.Repeat(", "+row, i)
	}
	return list
}()

const derivedArgs = 10 // of a row

// placedSQL gives documents the positions that were found for them. UPDATE ... FROM would put every new
// row aside before it writes the first (SQLite documentation, UPDATE).
const placedSQL = "position = (SELECT position FROM temp.placed p WHERE p.number = document.number) WHERE number IN (SELECT number FROM temp.placed)"

// AddIdempotencyKey records a request under its key; an earlier one under the same key stays.
func (tx *Tx) AddIdempotencyKey(r fanfold.IdempotencyRecord, now time.Time) error {
	return tx.c.exec("INSERT OR IGNORE INTO once (key, digest, seq, time) VALUES (?, ?, ?, ?)", r.Hash, r.Digest, int64(r.Seq), now.UnixNano())
}

// PruneIdempotencyKeys forgets requests from before t.
func (tx *Tx) PruneIdempotencyKeys(t time.Time) error {
	return tx.c.exec("DELETE FROM once WHERE time < ?", t.UnixNano())
}

// SaveBefore keeps the embedded view from before the event, once, for a change row written
// when the event is folded to the end.
func (tx *Tx) SaveBefore(r *Row) error {
	tx.remembered++
	return tx.c.exec("INSERT OR IGNORE INTO temp.before (number, body) VALUES (?, ?)", r.Number, text(r.Body))
}

// EachBefore returns up to limit remembered numbers after one, in order, with their bodies.
func (tx *Tx) EachBefore(after int64, limit int, fn func(number int64, body []byte) error) error {
	if tx.remembered == 0 {
		return nil
	}
	return tx.c.query("SELECT number, body FROM temp.before WHERE number > ? ORDER BY number LIMIT ?", func(r []sqlValue) error {
		return fn(intOf(r[0]), bytesOf(r[1]))
	}, after, int64(limit))
}

// ClearBefore drops everything remembered.
func (tx *Tx) ClearBefore() error {
	if tx.remembered == 0 {
		return nil
	}
	tx.remembered = 0
	return tx.c.exec("DELETE FROM temp.before")
}

// SetProposal records the last event about models, and the model that it announces, nil for none.
func (tx *Tx) SetProposal(seq uint64, source []byte) error {
	return tx.c.exec("INSERT INTO proposal (id, seq, source) VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, source = excluded.source", int64(seq), text(source))
}

// AddModel records a model from seq on.
func (tx *Tx) AddModel(seq uint64, source []byte, reserved fanfold.Reserved) error {
	r, err := json.Marshal(reserved)
	if err != nil {
		return fmt.Errorf("reserved paths: %w", err)
	}
	return tx.c.exec("INSERT INTO model (seq, source, reserved) VALUES (?, ?, ?)", int64(seq), text(source), text(r))
}
