package sqlite

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// StoredIndex is an index that the model in force declares, as the read model keeps it.
type StoredIndex struct {
	ID         int64
	Collection string
	Name       string
	Components string // as JSON
	Entries    int64
}

const indexColumns = "SELECT id, collection, name, components, entries FROM declared_index "

// Indexes returns the indexes of a collection, by name.
func (s *Snapshot) Indexes(collection string) ([]StoredIndex, error) {
	return readIndexes(s.c, indexColumns+"WHERE collection = ? ORDER BY name", collection)
}

// AllIndexes returns the indexes of all collections, by collection and name.
func (s *Snapshot) AllIndexes() ([]StoredIndex, error) {
	return readIndexes(s.c, indexColumns+"ORDER BY collection, name")
}

// readIndexes returns the indexes that a query finds.
func readIndexes(c *driver.Conn, query string, args ...driver.Value) (all []StoredIndex, err error) {
	err = c.Query(query, func(r driver.Row) error {
		all = append(all, StoredIndex{ID: r.Int(0), Collection: r.Text(1), Name: r.Text(2), Components: r.Text(3), Entries: r.Int(4)})
		return nil
	}, args...)
	return all, err
}

// Indexes are the indexes of a transaction: which there are, and their entries.
type Indexes struct{ p *pending }

// Add enters an index without entries, and returns its number.
func (x *Indexes) Add(collection, name, components string) (id int64, err error) {
	if _, err := x.p.c.QueryRow("SELECT coalesce(max(id), 0) + 1 FROM declared_index", func(r driver.Row) { id = r.Int(0) }); err != nil {
		return 0, err
	}
	return id, x.p.c.Exec("INSERT INTO declared_index (id, collection, name, components, entries) VALUES (?, ?, ?, ?, 0)", id, collection, name, components)
}

// Remove removes an index and its entries.
func (x *Indexes) Remove(id int64) error {
	if err := x.p.c.Exec("DELETE FROM index_entry WHERE idx = ?", id); err != nil {
		return err
	}
	delete(x.p.indexes.counts, id)
	return x.p.c.Exec("DELETE FROM declared_index WHERE id = ?", id)
}

// AreWritten reports whether the transaction writes entries of indexes. A rehearsal does without: no event reads them.
func (x *Indexes) AreWritten() bool { return !x.p.inMemory }

// AddEntry adds an entry of an index, which does not have it.
func (x *Indexes) AddEntry(id int64, key []byte, tie int64) error {
	x.p.indexes.counts[id]++
	return x.p.changeIndexEntry(indexEntry{id: id, key: key, tie: tie})
}

// RemoveEntry removes an entry of an index, which has it.
func (x *Indexes) RemoveEntry(id int64, key []byte, tie int64) error {
	x.p.indexes.counts[id]--
	return x.p.changeIndexEntry(indexEntry{id: id, key: key, tie: tie, removed: true})
}

// pendingIndexes holds changes of entries that a transaction has yet to write.
type pendingIndexes struct {
	changes []indexEntry    // in the order in which they were made
	counts  map[int64]int64 // how many entries each index has more
}

// indexEntry is an entry of an index that was added or removed.
type indexEntry struct {
	id      int64
	key     []byte
	tie     int64
	removed bool
}

// compareIndexEntries orders entries as their table does.
func compareIndexEntries(a, b indexEntry) int {
	return cmp.Or(cmp.Compare(a.id, b.id), bytes.Compare(a.key, b.key), cmp.Compare(a.tie, b.tie))
}

// changeIndexEntry notes a change of an entry.
func (p *pending) changeIndexEntry(e indexEntry) error {
	p.indexes.changes = append(p.indexes.changes, e)
	return p.countAdded(len(p.indexes.changes), len(e.key))
}

// writeIndexEntries removes and adds entries of indexes. An entry that was added and removed again, or the other way, stays
// as it is in the file.
func (p *pending) writeIndexEntries() error {
	changes := p.indexes.changes
	if len(changes) == 0 {
		return nil
	}
	slices.SortStableFunc(changes, compareIndexEntries)
	var added []indexEntry
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && compareIndexEntries(changes[0], changes[n]) == 0 {
			n++
		}
		e := changes[0]
		changes = changes[n:]
		switch {
		case n%2 == 0:
		case e.removed:
			if err := p.c.Exec(removeIndexEntrySQL, e.id, e.key, e.tie); err != nil {
				return err
			}
		default:
			added = append(added, e)
		}
	}
	p.indexes.changes = p.indexes.changes[:0]
	return p.insertIndexEntries(added)
}

const removeIndexEntrySQL = "DELETE FROM index_entry WHERE idx = ? AND key = ? AND tie = ?"

// insertIndexEntries adds entries to the file.
func (p *pending) insertIndexEntries(entries []indexEntry) error {
	return insert(p, "INSERT OR FAIL INTO index_entry (idx, key, tie)", 3, "", entries, appendIndexEntry)
}

// appendIndexEntry appends the values of an entry's row.
func appendIndexEntry(dst []driver.Value, e indexEntry) []driver.Value {
	return append(dst, e.id, e.key, e.tie)
}

// writeCounts brings the numbers of entries up to what the transaction has changed.
func (x *Indexes) writeCounts() error {
	counts := x.p.indexes.counts
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		if counts[id] == 0 {
			continue
		}
		if err := x.p.c.Exec("UPDATE declared_index SET entries = entries + ? WHERE id = ?", counts[id], id); err != nil {
			return err
		}
	}
	clear(counts)
	return nil
}

// CountPrefix returns how many entries of an index have keys that begin with prefix, and are less than next. It stops counting
// at limit.
func (x *Indexes) CountPrefix(id int64, prefix, next []byte, limit int) (n int, err error) {
	_, err = x.p.c.QueryRow("SELECT count(*) FROM (SELECT 1 FROM index_entry WHERE idx = ? AND key >= ? AND key < ? LIMIT ? + 0)",
		func(r driver.Row) { n = int(r.Int(0)) }, id, prefix, next, int64(limit))
	return n, err
}

// KeyFrom returns the first key of an index that is not less than from, nil where there is none.
func (x *Indexes) KeyFrom(id int64, from []byte) (key []byte, err error) {
	_, err = x.p.c.QueryRow("SELECT key FROM index_entry WHERE idx = ? AND key >= ? ORDER BY key LIMIT 1", func(r driver.Row) { key = r.Blob(0) }, id, from)
	return key, err
}

// IndexMove says how entries of documents that refer to one target change: their keys begin with Prefix, and are less than Next,
// which is the least that does not. They begin with To afterwards.
type IndexMove struct {
	ID               int64
	Descends         bool // ties are the complements of the documents' numbers
	Prefix, Next, To []byte
	Relation, Target string
	All              bool // no other documents have such entries
}

// MoveEntries moves the entries of all documents that refer to a target.
func (x *Indexes) MoveEntries(m IndexMove) error {
	holder := "tie"
	if m.Descends {
		holder = "~tie"
	}
	where, args := " FROM index_entry WHERE idx = ? AND key >= ? AND key < ?", []driver.Value{m.ID, m.Prefix, m.Next}
	if !m.All {
		where += " AND EXISTS (SELECT 1 FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ? AND holder = " + holder + ")"
		args = append(args, m.Relation, m.Target)
	}
	if err := x.p.c.Exec("INSERT OR FAIL INTO index_entry (idx, key, tie) SELECT idx, CAST(? || substr(key, ?) AS BLOB), tie"+where,
		append([]driver.Value{m.To, int64(len(m.Prefix) + 1)}, args...)...); err != nil {
		return err
	}
	return x.p.c.Exec("DELETE"+where, args...)
}

// maxBuildBytes is how much memory the entries of indexes that are built take. Beyond that they go to a temporary table.
const maxBuildBytes = 16 << 20

// IndexBuild gathers all entries of new indexes, and writes them in order.
type IndexBuild struct {
	p       *pending
	entries []indexEntry
	bytes   int
	spilled bool
}

// Build begins to build indexes without entries. One build goes on at a time.
func (x *Indexes) Build() *IndexBuild { return &IndexBuild{p: x.p} }

// Add adds an entry. Each is added once.
func (b *IndexBuild) Add(id int64, key []byte, tie int64) error {
	const entryBytes = 56 // besides its key
	b.p.indexes.counts[id]++
	b.entries = append(b.entries, indexEntry{id: id, key: key, tie: tie})
	if b.bytes += len(key) + entryBytes; b.bytes < maxBuildBytes {
		return nil
	}
	return b.spill()
}

// spill writes the entries in memory to a temporary table.
func (b *IndexBuild) spill() error {
	err := insert(b.p, "INSERT INTO temp.index_build (idx, key, tie)", 3, "", b.entries, appendIndexEntry)
	b.entries, b.bytes, b.spilled = b.entries[:0], 0, true
	return err
}

// Finish writes all entries.
func (b *IndexBuild) Finish() error {
	if !b.spilled {
		slices.SortFunc(b.entries, compareIndexEntries)
		return b.p.c.Unwatched(func() error { return b.p.insertIndexEntries(b.entries) })
	}
	if err := b.spill(); err != nil {
		return err
	}
	if err := b.p.c.Exec("INSERT OR FAIL INTO index_entry (idx, key, tie) SELECT idx, key, tie FROM temp.index_build ORDER BY idx, key, tie"); err != nil {
		return err
	}
	return b.p.c.Exec("DELETE FROM temp.index_build")
}

// AddIndexEntry enters an entry into a private table, which CompareIndexEntries holds against the stored ones.
func (s *Scanner) AddIndexEntry(id int64, key []byte, tie int64) error {
	return s.c.Exec("INSERT OR IGNORE INTO temp.computed_entry (idx, key, tie) VALUES (?, ?, ?)", id, key, tie)
}

// IndexDifference is an entry that only one of the read model and the private table has.
type IndexDifference struct {
	ID     int64
	Key    []byte
	Tie    int64
	Stored bool // it is in the read model, and should not be
}

// CompareIndexEntries calls fn for every entry that only one of the read model and the private table has.
func (s *Scanner) CompareIndexEntries(fn func(IndexDifference) error) error {
	const stored, computed = "SELECT idx, key, tie FROM main.index_entry", "SELECT idx, key, tie FROM temp.computed_entry"
	tell := func(stored bool) func(r driver.Row) error {
		return func(r driver.Row) error {
			return fn(IndexDifference{ID: r.Int(0), Key: r.Blob(1), Tie: r.Int(2), Stored: stored})
		}
	}
	if err := s.c.Query(stored+" EXCEPT "+computed, tell(true)); err != nil {
		return err
	}
	return s.c.Query(computed+" EXCEPT "+stored, tell(false))
}

// CountIndexEntries returns how many entries an index has. It counts them.
func (s *Scanner) CountIndexEntries(id int64) (n int64, err error) {
	_, err = s.c.QueryRow("SELECT count(*) FROM index_entry WHERE idx = ?", func(r driver.Row) { n = r.Int(0) }, id)
	s.c.Rows += int(n)
	return n, err
}
