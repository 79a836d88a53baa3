package sqlite

import (
	"cmp"
	"slices"
	"strings"
)

// A statement costs several times what its row costs, and what lies together in a tree is cheaper to write together. So a
// transaction keeps rows of some tables back, and writes many with one statement, in order: before a statement reads or
// changes their table, and at its end. What it knows of the totals and counts in these tables stays for the next
// transaction, for nobody else writes to the file.

// These statements, and others that write many rows, are INSERT OR FAIL and UPDATE OR FAIL, where that spares them a statement
// journal, into which SQLite copies each page before it changes it, to be able to take back the statement alone where a row breaks
// a constraint (SQLite documentation, Temporary Files Used By SQLite, 2.5). Here the whole transaction is rolled back after any
// error. What may UPDATE a NOT NULL column on a conflict has one in any case.

// tableSet is a set of the tables whose rows a transaction keeps back.
type tableSet uint8

const (
	linkTable tableSet = 1 << iota
	pagedTable
	keptTable
	entryTable
	totalTable
	claimTable

	allTables = linkTable | pagedTable | keptTable | entryTable | totalTable | claimTable
)

// tablesIn returns the tables that a statement may be about.
func tablesIn(query string) (set tableSet) {
	for i, name := range []string{"link", "paged", "kept", "entry", "total", "claim"} {
		if strings.Contains(query, name) {
			set |= 1 << i
		}
	}
	return set
}

// Bounds of what is kept in memory.
const (
	maxUnwrittenRows = 4096    // of a table
	maxKnownRows     = 8192    // totals, counts and targets that are known
	maxKeptBack      = 4 << 20 // bytes of texts in rows
	insertRows       = 16      // that one statement inserts
	keptBackRow      = 32      // bytes that a row takes besides its texts, about
)

// unwrittenRows holds the rows that a transaction has yet to write, and what it knows of those in the file.
type unwrittenRows struct {
	links   []linkRow
	held    map[Link]bool // targets to which some document refers
	paged   map[Link]*knownCount
	kept    []keptRow
	entries []entryRow
	totals  map[ruleTarget]*knownTotal
	claims  map[claimKey]*claimRow
	bytes   int
	args    []sqlValue // used again and again

	changedPaged  []Link       // keys of paged whose rows are to be written
	changedTotals []ruleTarget // the same of totals
}

// insertText names statements that insert rows.
type insertText struct {
	begin, end string
	rows       int
}

// linkRow is a row of link. ordinal is negative for none.
type linkRow struct {
	Link

	holder, ordinal int64
}

// knownCount is how many documents ever came into a target's pages.
type knownCount struct {
	n       int64
	changed bool
}

// keptRow is a row of kept.
type keptRow struct {
	rule, target string
	holder       int64
	value        string
}

// entryRow is a row of entry.
type entryRow struct {
	ruleTarget
	ruleEntry
}

// knownTotal is a row of total, none where the count is 0.
type knownTotal struct {
	total

	changed bool
}

// claimKey names a unique value.
type claimKey struct{ collection, path, value string }

// claimRow is what is to be set in a row of claim.
type claimRow struct {
	holder string // "" for nothing
	seq    uint64 // 0 for nothing
}

// clear drops everything.
func (u *unwrittenRows) clear() {
	*u = unwrittenRows{held: map[Link]bool{}, paged: map[Link]*knownCount{}, totals: map[ruleTarget]*knownTotal{}, claims: map[claimKey]*claimRow{}}
}

// beforeStatement makes the transaction ready for a statement about tables, which changes them where writes is true: it
// writes the rows that were kept back and forgets what the statement may make untrue.
func (tx *Tx) beforeStatement(tables tableSet, writes bool) error {
	if err := tx.writeRows(tables); err != nil || !writes {
		return err
	}
	u := &tx.unwritten
	if tables&linkTable != 0 {
		clear(u.held)
	}
	if tables&pagedTable != 0 {
		clear(u.paged)
	}
	if tables&totalTable != 0 {
		clear(u.totals)
	}
	return nil
}

// directly calls fn, whose statements do without what was kept back.
func (tx *Tx) directly(fn func() error) error {
	defer func(before func(tableSet, bool) error) { tx.c.before = before }(tx.c.before)
	tx.c.before = nil
	return fn()
}

// keepBack notes that a row whose texts have so many bytes is kept back, and writes all rows where that is too much. rows
// is how many rows of its table there are.
func (tx *Tx) keepBack(rows, bytes int) error {
	u := &tx.unwritten
	u.bytes += bytes + keptBackRow
	if rows >= maxUnwrittenRows || u.bytes > maxKeptBack {
		return tx.writeRows(allTables)
	}
	return nil
}

// writeRows writes the rows of tables that were kept back.
func (tx *Tx) writeRows(tables tableSet) error {
	return tx.directly(func() error {
		for i, write := range []func() error{tx.writeLinks, tx.writePaged, tx.writeKept, tx.writeEntries, tx.writeTotals, tx.writeClaims} {
			if tables&(1<<i) == 0 {
				continue
			}
			if err := write(); err != nil {
				return err
			}
		}
		if tables == allTables {
			tx.unwritten.bytes = 0
		}
		return nil
	})
}

// forgetKnown makes room in memory where much is known of the file's rows.
func (tx *Tx) forgetKnown() error {
	u := &tx.unwritten
	if max(len(u.held), len(u.paged), len(u.totals)) < maxKnownRows {
		return nil
	}
	if err := tx.writeRows(linkTable | pagedTable | totalTable); err != nil {
		return err
	}
	clear(u.held)
	clear(u.paged)
	clear(u.totals)
	return nil
}

// insert runs a statement for all rows, several at a time. values appends the values of a row, of which there are columns.
func insert[T any](tx *Tx, begin string, columns int, end string, rows []T, values func(dst []sqlValue, row T) []sqlValue) error {
	for some := range slices.Chunk(rows, insertRows) {
		args := tx.unwritten.args[:0]
		for _, r := range some {
			args = values(args, r)
		}
		tx.unwritten.args = args
		if err := tx.c.exec(tx.insertSQL(insertText{begin, end, len(some)}, columns), args...); err != nil {
			return err
		}
		tx.c.writes += len(some) - 1 // what statements for each would count
	}
	return nil
}

// insertSQL returns the text of a statement that inserts rows. There are few.
func (tx *Tx) insertSQL(t insertText, columns int) string {
	text := tx.insertTexts[t]
	if text == "" {
		row := "(?" + strings.Repeat(", ?", columns-1) + ")"
		text = t.begin + " VALUES " + row + strings.Repeat(", "+row, t.rows-1) + t.end
		if tx.insertTexts == nil {
			tx.insertTexts = map[insertText]string{}
		}
		tx.insertTexts[t] = text
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

// writeLinks writes links.
func (tx *Tx) writeLinks() error {
	rows := tx.unwritten.links
	tx.unwritten.links = rows[:0]
	slices.SortFunc(rows, func(a, b linkRow) int { return cmp.Or(compareLinks(a.Link, b.Link), cmp.Compare(a.holder, b.holder)) })
	return insert(tx, "INSERT OR FAIL INTO link (relation, target, holder, ordinal)", 4, "", rows, func(dst []sqlValue, r linkRow) []sqlValue {
		if r.ordinal < 0 {
			return append(dst, r.Relation, r.Target, r.holder, nil)
		}
		return append(dst, r.Relation, r.Target, r.holder, r.ordinal)
	})
}

// writePaged writes how many documents came into pages.
func (tx *Tx) writePaged() error {
	rows := tx.unwritten.changedPaged
	tx.unwritten.changedPaged = rows[:0]
	slices.SortFunc(rows, compareLinks)
	err := insert(tx, "INSERT INTO paged (relation, target, count)", 3, " ON CONFLICT (relation, target) DO UPDATE SET count = excluded.count", rows,
		func(dst []sqlValue, l Link) []sqlValue {
			c := tx.unwritten.paged[l]
			c.changed = false
			return append(dst, l.Relation, l.Target, c.n)
		})
	return err
}

// writeKept writes values that stay on their holders.
func (tx *Tx) writeKept() error {
	rows := tx.unwritten.kept
	tx.unwritten.kept = rows[:0]
	slices.SortStableFunc(rows, func(a, b keptRow) int {
		return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.target, b.target), cmp.Compare(a.holder, b.holder))
	})
	return insert(tx, "INSERT OR REPLACE INTO kept (rule, target, holder, value)", 4, "", rows, func(dst []sqlValue, r keptRow) []sqlValue {
		return append(dst, r.rule, r.target, r.holder, r.value)
	})
}

// writeEntries writes entries of rules.
func (tx *Tx) writeEntries() error {
	rows := tx.unwritten.entries
	tx.unwritten.entries = rows[:0]
	slices.SortFunc(rows, func(a, b entryRow) int {
		return cmp.Or(compareTargets(a.ruleTarget, b.ruleTarget), slices.Compare(a.sort, b.sort), cmp.Compare(a.holder, b.holder))
	})
	return insert(tx, "INSERT OR FAIL INTO entry (rule, target, sort, holder)", 4, "", rows, func(dst []sqlValue, r entryRow) []sqlValue {
		return append(dst, r.rule, r.target, r.sort, r.holder)
	})
}

// writeTotals writes totals of rules.
func (tx *Tx) writeTotals() error {
	changed := tx.unwritten.changedTotals
	tx.unwritten.changedTotals = changed[:0]
	slices.SortFunc(changed, compareTargets)
	rows := changed[:0]
	for _, at := range changed {
		t := tx.unwritten.totals[at]
		if t.changed = false; t.count > 0 {
			rows = append(rows, at)
			continue
		}
		if err := tx.c.exec("DELETE FROM total WHERE rule = ? AND target = ?", at.rule, at.target); err != nil {
			return err
		}
	}
	err := insert(tx, "INSERT INTO total (rule, target, count, sum)", 4, " ON CONFLICT (rule, target) DO UPDATE SET count = excluded.count, sum = excluded.sum", rows,
		func(dst []sqlValue, at ruleTarget) []sqlValue {
			t := tx.unwritten.totals[at]
			return append(dst, at.rule, at.target, t.count, t.sum)
		})
	return err
}

// writeClaims writes who has unique values, and the sequences of their last claims.
func (tx *Tx) writeClaims() error {
	type row struct {
		claimKey
		claimRow
	}
	var holders, sequences, both []row
	for key, c := range tx.unwritten.claims {
		switch r := (row{key, *c}); {
		case c.seq == 0:
			holders = append(holders, r)
		case c.holder == "":
			sequences = append(sequences, r)
		default:
			both = append(both, r)
		}
	}
	clear(tx.unwritten.claims)
	for _, part := range []struct {
		rows []row
		set  string
	}{{holders, "holder = excluded.holder"}, {sequences, "seq = excluded.seq"}, {both, "holder = excluded.holder, seq = excluded.seq"}} {
		slices.SortFunc(part.rows, func(a, b row) int {
			return cmp.Or(cmp.Compare(a.collection, b.collection), cmp.Compare(a.path, b.path), cmp.Compare(a.value, b.value))
		})
		if err := insert(tx, "INSERT OR FAIL INTO claim (collection, path, value, holder, seq)", 5, " ON CONFLICT (collection, path, value) DO UPDATE SET "+part.set, part.rows,
			func(dst []sqlValue, r row) []sqlValue {
				return append(dst, r.collection, r.path, r.value, nullableText(r.holder), int64(r.seq))
			}); err != nil {
			return err
		}
	}
	return nil
}
