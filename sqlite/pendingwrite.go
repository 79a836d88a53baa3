package sqlite

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// insertText names statements that insert rows.
type insertText struct {
	begin, end string
	rows       int
}

// write writes the rows of tables that are pending.
func (p *pending) write(tables driver.Tables) error {
	if p.inMemory {
		return nil
	}
	return p.c.Unwatched(func() error {
		for i, write := range []func() error{p.writeLinks, p.writePaged, p.writeKeptValues, p.writeEntries, p.writeTotals, p.writeClaims, p.writeIndexEntries} {
			if tables&(1<<i) == 0 {
				continue
			}
			if err := write(); err != nil {
				return err
			}
		}
		if tables == allTables {
			p.bytes = 0
		}
		return nil
	})
}

// insert runs a statement for all rows, several at a time. values appends the values of a row; each row has so many columns.
func insert[T any](p *pending, begin string, columns int, end string, rows []T, values func(dst []driver.Value, row T) []driver.Value) error {
	for some := range slices.Chunk(rows, insertRows) {
		args := p.inserts.args[:0]
		for _, r := range some {
			args = values(args, r)
		}
		p.inserts.args = args
		if err := p.c.Exec(p.insertSQL(insertText{begin, end, len(some)}, columns), args...); err != nil {
			return err
		}
		p.c.Written += len(some) - 1 // what statements for each would count
	}
	return nil
}

// insertSQL returns the text of a statement that inserts rows. There are few.
func (p *pending) insertSQL(t insertText, columns int) string {
	text := p.inserts.texts[t]
	if text == "" {
		row := "(?" + strings.Repeat(", ?", columns-1) + ")"
		text = t.begin + " VALUES " + row + strings.Repeat(", "+row, t.rows-1) + t.end
		p.inserts.texts[t] = text
	}
	return text
}

// compareLinks orders links as their table does.
func compareLinks(a, b Link) int {
	return cmp.Or(cmp.Compare(a.Relation, b.Relation), cmp.Compare(a.Target, b.Target))
}

// compareTargets orders what rules keep on targets as their tables do.
func compareTargets(a, b ruleTarget) int {
	return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.target, b.target))
}

// pendingRow is a row under its key.
type pendingRow[K comparable, V any] struct {
	key   K
	value V
}

// take returns the changes, in order, and forgets them. First come the keys whose rows the file loses all, then other rows that it
// loses, then rows that it gets.
func (p *pendingRows[K, V]) take(compareKeys func(a, b K) int) (emptied []K, removed, added []pendingRow[K, V]) {
	if len(p.changed) == 0 {
		return nil, nil, nil
	}
	added = make([]pendingRow[K, V], 0, p.rows)
	for _, key := range slices.SortedFunc(maps.Keys(p.changed), compareKeys) {
		c := p.changed[key]
		if c.emptied {
			emptied = append(emptied, key)
		}
		for _, v := range c.removed {
			if _, again := p.find(c.added, v); !again || !p.replace {
				removed = append(removed, pendingRow[K, V]{key, v})
			}
		}
		for _, v := range c.added {
			added = append(added, pendingRow[K, V]{key, v})
		}
	}
	p.takeBack()
	return emptied, removed, added
}

// endLinkSQL adds a link to those that ended.
const endLinkSQL = "INSERT OR IGNORE INTO past_link (relation, target, until, holder, ordinal, since)" +
	" SELECT relation, target, ?4, holder, ordinal, coalesce(since, holder) FROM link WHERE relation = (SELECT id FROM name WHERE text = ?1) AND target = ?2 AND holder = ?3"

// writeLinks removes and adds links. Those that are removed go to the links that ended.
func (p *pending) writeLinks() error {
	_, removed, added := p.links.take(compareLinks)
	for _, r := range removed {
		if err := p.c.Exec(endLinkSQL, r.key.Relation, r.key.Target, r.value.holder, r.value.seq); err != nil {
			return err
		}
		if err := p.c.Exec("DELETE FROM link WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ? AND holder = ?", r.key.Relation, r.key.Target, r.value.holder); err != nil {
			return err
		}
	}
	if err := insert(p, "INSERT OR FAIL INTO link (relation, target, holder, ordinal, since)", 5, "", added, func(dst []driver.Value, r pendingRow[Link, linkEnd]) []driver.Value {
		dst = append(dst, p.inserts.numbers[r.key.Relation], r.key.Target, r.value.holder, r.value.storedOrdinal())
		if r.value.seq == r.value.holder {
			return append(dst, nil)
		}
		return append(dst, r.value.seq)
	}); err != nil {
		return err
	}
	ended := p.ended
	p.ended = ended[:0]
	slices.SortFunc(ended, compareEnded)
	return p.insertEnded(ended)
}

// insertEnded adds links that ended.
func (p *pending) insertEnded(ended []endedLink) error {
	return insert(p, "INSERT OR IGNORE INTO past_link (relation, target, until, holder, ordinal, since)", 6, "", ended, func(dst []driver.Value, e endedLink) []driver.Value {
		return append(dst, p.inserts.numbers[e.Relation], e.Target, e.until, e.holder, e.storedOrdinal(), e.seq)
	})
}

// storedOrdinal returns the link's place as it is stored, NULL for none.
func (e linkEnd) storedOrdinal() driver.Value {
	if e.ordinal < 0 {
		return nil
	}
	return e.ordinal
}

// writePaged writes how many documents came into pages.
func (p *pending) writePaged() error {
	rows := p.changedPaged
	p.changedPaged = rows[:0]
	slices.SortFunc(rows, compareLinks)
	err := insert(p, "INSERT INTO paged (relation, target, count)", 3, " ON CONFLICT (relation, target) DO UPDATE SET count = excluded.count", rows,
		func(dst []driver.Value, l Link) []driver.Value {
			c := p.paged[l]
			c.changed = false
			return append(dst, p.inserts.numbers[l.Relation], l.Target, c.n)
		})
	return err
}

// writeKeptValues removes and adds values that stay on their holders.
func (p *pending) writeKeptValues() error {
	emptied, removed, added := p.keptValues.take(compareTargets)
	for _, at := range emptied {
		if err := p.c.Exec("DELETE FROM kept WHERE rule = (SELECT id FROM name WHERE text = ?) AND target = ?", at.rule, at.target); err != nil {
			return err
		}
	}
	for _, r := range removed {
		if err := p.c.Exec("DELETE FROM kept WHERE rule = (SELECT id FROM name WHERE text = ?) AND target = ? AND holder = ?", r.key.rule, r.key.target, r.value.holder); err != nil {
			return err
		}
	}
	return insert(p, "INSERT OR REPLACE INTO kept (rule, target, holder, value)", 4, "", added, func(dst []driver.Value, r pendingRow[ruleTarget, keptValue]) []driver.Value {
		return append(dst, p.inserts.numbers[r.key.rule], r.key.target, r.value.holder, r.value.value)
	})
}

// writeEntries removes and adds entries of rules.
func (p *pending) writeEntries() error {
	_, removed, added := p.entries.take(compareTargets)
	for _, r := range removed {
		if err := p.c.Exec("DELETE FROM entry WHERE rule = (SELECT id FROM name WHERE text = ?) AND target = ? AND sort = ? AND holder = ?", r.key.rule, r.key.target, r.value.sort, r.value.holder); err != nil {
			return err
		}
	}
	return insert(p, "INSERT OR FAIL INTO entry (rule, target, sort, holder)", 4, "", added, func(dst []driver.Value, r pendingRow[ruleTarget, ruleEntry]) []driver.Value {
		return append(dst, p.inserts.numbers[r.key.rule], r.key.target, r.value.sort, r.value.holder)
	})
}

// writeTotals writes totals of rules.
func (p *pending) writeTotals() error {
	changed := p.changedTotals
	p.changedTotals = changed[:0]
	slices.SortFunc(changed, compareTargets)
	rows := changed[:0]
	for _, at := range changed {
		t := p.totals[at]
		if t.changed = false; t.count > 0 {
			rows = append(rows, at)
			continue
		}
		if err := p.c.Exec("DELETE FROM total WHERE rule = (SELECT id FROM name WHERE text = ?) AND target = ?", at.rule, at.target); err != nil {
			return err
		}
	}
	err := insert(p, "INSERT INTO total (rule, target, count, sum)", 4, " ON CONFLICT (rule, target) DO UPDATE SET count = excluded.count, sum = excluded.sum", rows,
		func(dst []driver.Value, at ruleTarget) []driver.Value {
			t := p.totals[at]
			return append(dst, p.inserts.numbers[at.rule], at.target, t.count, t.sum)
		})
	return err
}

// writeClaims writes who has unique values, and the sequences of their last claims.
func (p *pending) writeClaims() error {
	type row struct {
		claimKey
		claimRow
	}
	var holders, sequences, both []row
	for key, c := range p.claims {
		switch r := (row{key, *c}); {
		case c.seq == 0:
			holders = append(holders, r)
		case c.holder == "":
			sequences = append(sequences, r)
		default:
			both = append(both, r)
		}
	}
	clear(p.claims)
	for _, part := range []struct {
		rows []row
		set  string
	}{{holders, "holder = excluded.holder"}, {sequences, "seq = excluded.seq"}, {both, "holder = excluded.holder, seq = excluded.seq"}} {
		slices.SortFunc(part.rows, func(a, b row) int {
			return cmp.Or(cmp.Compare(a.collection, b.collection), cmp.Compare(a.path, b.path), cmp.Compare(a.value, b.value))
		})
		if err := insert(p, "INSERT OR FAIL INTO claim (collection, path, value, holder, seq)", 5, " ON CONFLICT (collection, path, value) DO UPDATE SET "+part.set, part.rows,
			func(dst []driver.Value, r row) []driver.Value {
				return append(dst, r.collection, r.path, r.value, nullableText(r.holder), int64(r.seq))
			}); err != nil {
			return err
		}
	}
	return nil
}

// giveNumber gives a relation or a rule a number, if it has none, by which rows name it. It does nothing in a rehearsal.
func (p *pending) giveNumber(name string) error {
	if p.inserts.numbers[name] != 0 || p.inMemory {
		return nil
	}
	var id int64
	found, err := p.c.QueryRow("SELECT id FROM name WHERE text = ?", func(r driver.Row) { id = r.Int(0) }, name)
	if err == nil && !found {
		if _, err = p.c.QueryRow("SELECT ifnull(max(id), 0) + 1 FROM name", func(r driver.Row) { id = r.Int(0) }); err == nil {
			err = p.c.Exec("INSERT INTO name (id, text) VALUES (?, ?)", id, name)
		}
	}
	if err == nil {
		p.inserts.numbers[name] = id
	}
	return err
}

// writeUnread runs a statement that writes what no event about a document reads. A rehearsal does without.
func (p *pending) writeUnread(query string, args ...driver.Value) error {
	if p.inMemory {
		return nil
	}
	return p.c.Exec(query, args...)
}

// writeDocument runs a statement about one document that the cache knows of.
func (p *pending) writeDocument(query string, args ...driver.Value) error {
	return p.c.Unwatched(func() error { return p.c.Exec(query, args...) })
}
