package sqlite

import (
	"bytes"
	"cmp"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// A statement costs several times what its row costs, and what lies together in a tree is cheaper to write together. So a
// transaction keeps rows of some tables pending, and writes many with one statement, in order: before a statement reads or
// changes their table, and at its end. It knows totals and counts of these tables also in the next transaction, for nobody
// else writes to the file.

// These statements, and others that write many rows, are INSERT OR FAIL and UPDATE OR FAIL where they then need no statement journal. SQLite copies
// each page into it before it changes the page, so that it can take back the statement alone where a row breaks a constraint. The SQLite documentation
// says so under Temporary Files Used By SQLite, 2.5. Here the whole transaction is rolled back after any error. Statements that may UPDATE a NOT NULL
// column on a conflict have a journal in any case.

// The tables whose rows a transaction keeps pending.
const (
	linkTable driver.Tables = 1 << iota
	pagedTable
	keptValueTable
	entryTable
	totalTable
	claimTable
	indexEntryTable
	documentTable // whose rows wait in the row cache

	allTables = linkTable | pagedTable | keptValueTable | entryTable | totalTable | claimTable | indexEntryTable
)

// pendingTables are the names of these tables.
var pendingTables = []string{"link", "paged", "kept", "entry", "total", "claim", "index_entry", "document"}

// Bounds of what is kept in memory.
const (
	maxPendingRows  = 16_384  // of a table
	maxKnownRows    = 8192    // totals and counts that are known
	maxKnownTargets = 1 << 16 // targets for which it is known whether any document refers to them
	maxPendingBytes = 8 << 20 // bytes of texts in rows
	insertRows      = 16      // that one statement inserts
	pendingRowBytes = 32      // bytes that a row takes besides its texts, about
)

// pending holds the rows that a transaction has written and the file does not have yet, and what it knows of those in the file.
type pending struct {
	c        *driver.Conn
	inMemory bool      // nothing is written to the file: the transaction is a rehearsal
	bounds   Rehearsal // of it

	links       pendingRows[Link, linkEnd]
	ended       []endedLink
	hasHolders  map[Link]bool // whether some document refers to a target, of those that were asked for
	paged       map[Link]*knownCount
	keptValues  pendingRows[ruleTarget, keptValue]
	entries     pendingRows[ruleTarget, ruleEntry]
	lastLinks   lastRows[Link, linkEnd] // of no use to a rehearsal
	lastEntries lastRows[ruleTarget, ruleEntry]
	totals      map[ruleTarget]*knownTotal
	claims      map[claimKey]*claimRow
	indexes     pendingIndexes
	bytes       int
	ends        []linkEnd // the same

	inserts       inserts
	changedPaged  []Link       // keys of paged whose rows are to be written
	changedTotals []ruleTarget // the same of totals
}

// inserts is what statements that insert rows need.
type inserts struct {
	args    []driver.Value        // used again and again
	texts   map[insertText]string // of the statements
	numbers map[string]int64      // of relations and rules that were asked for, as table name has them
}

// linkEnd is the holder of a link. ordinal is negative for none. seq is the event that made it, or of one that is removed, the event that
// ended it.
type linkEnd struct{ holder, ordinal, seq int64 }

// endedLink is a link that was made and ended before the file had it.
type endedLink struct {
	Link
	linkEnd // with the event that made it

	until int64
}

// compareEnded orders links that ended as their table does.
func compareEnded(a, b endedLink) int {
	return cmp.Or(compareLinks(a.Link, b.Link), cmp.Compare(a.until, b.until), cmp.Compare(a.holder, b.holder))
}

// compareEnds orders the holders of a target.
func compareEnds(a, b linkEnd) int { return cmp.Compare(a.holder, b.holder) }

// knownCount is how many documents ever came into a target's pages.
type knownCount struct {
	n       int64
	changed bool
}

// ruleTarget names what a rule keeps on a target.
type ruleTarget struct{ rule, target string }

// keptValue is a value that stays on a holder.
type keptValue struct {
	holder int64
	value  string
}

// compareKeptValues orders the values of a rule that stay on the holders of one target.
func compareKeptValues(a, b keptValue) int { return cmp.Compare(a.holder, b.holder) }

// ruleEntry holds a place in a rule's order.
type ruleEntry struct {
	sort   []byte
	holder int64
}

// compareEntries orders entries as their table does.
func compareEntries(a, b ruleEntry) int {
	return cmp.Or(bytes.Compare(a.sort, b.sort), cmp.Compare(a.holder, b.holder))
}

// total holds a sum of a rule on a target.
type total struct {
	count int64
	sum   string
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

// newPending returns what a transaction has before it writes.
func newPending(c *driver.Conn) pending {
	p := pending{c: c, inserts: inserts{texts: map[insertText]string{}, numbers: map[string]int64{}}, hasHolders: map[Link]bool{}, paged: map[Link]*knownCount{}, totals: map[ruleTarget]*knownTotal{}, claims: map[claimKey]*claimRow{},
		indexes: pendingIndexes{counts: map[int64]int64{}},
		links:   newPendingRows[Link](compareEnds), entries: newPendingRows[ruleTarget](compareEntries), keptValues: newPendingRows[ruleTarget](compareKeptValues)}
	p.keptValues.replace = true
	p.lastLinks, p.lastEntries = newLastRows[Link](compareEnds), newLastRows[ruleTarget](compareEntries)
	return p
}

// takeBack forgets what a rehearsal has written, and keeps what is known of the file.
func (p *pending) takeBack() {
	for l := range p.links.changed {
		delete(p.hasHolders, l)
	}
	for _, at := range p.changedTotals {
		delete(p.totals, at)
	}
	p.changedTotals = p.changedTotals[:0]
	p.links.takeBack()
	p.entries.takeBack()
	p.keptValues.takeBack()
	clear(p.claims)
	if max(len(p.hasHolders), len(p.totals)) >= maxKnownRows {
		clear(p.hasHolders)
		clear(p.totals)
	}
}

// beforeStatement makes the transaction ready for a statement that reads and writes tables: it
// writes pending rows and forgets what the statement may make untrue.
func (p *pending) beforeStatement(read, written driver.Tables) error {
	if err := p.write(read | written); err != nil {
		return err
	}
	if written&linkTable != 0 {
		clear(p.hasHolders)
		p.lastLinks.forget()
	}
	if written&entryTable != 0 {
		p.lastEntries.forget()
	}
	if written&pagedTable != 0 {
		clear(p.paged)
	}
	if written&totalTable != 0 {
		clear(p.totals)
	}
	return nil
}

// countAdded notes that a row whose texts have so many bytes is pending, and writes all rows where that is too much. rows
// is how many rows of its table there are.
func (p *pending) countAdded(rows, bytes int) error {
	p.bytes += bytes + pendingRowBytes
	if rows >= maxPendingRows || p.bytes > maxPendingBytes {
		return p.write(allTables)
	}
	return nil
}

// forgetHolders makes room for n more targets for which it is known whether any document refers to them.
func (p *pending) forgetHolders(n int) {
	if len(p.hasHolders)+n > maxKnownTargets {
		clear(p.hasHolders)
	}
}

// forgetKnown makes room in memory where much is known of the file's rows.
func (p *pending) forgetKnown() error {
	if max(len(p.paged), len(p.totals)) < maxKnownRows || p.inMemory {
		return nil
	}
	if err := p.write(pagedTable | totalTable); err != nil {
		return err
	}
	clear(p.paged)
	clear(p.totals)
	return nil
}
