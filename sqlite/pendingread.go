package sqlite

import "github.com/fanfold/fanfold/sqlite/driver"

// readPaged reads how many documents ever came into a target's pages.
func (p *pending) readPaged(l Link) (*knownCount, error) {
	if err := p.forgetKnown(); err != nil {
		return nil, err
	}
	count := &knownCount{}
	err := p.query(pagedTable, "SELECT count FROM paged WHERE relation = (SELECT id FROM name WHERE text = ?) AND target = ?", func(r driver.Row) error {
		count.n = r.Int(0)
		return nil
	}, l.Relation, l.Target)
	p.paged[l] = count
	return count, err
}

// query calls fn for the rows of a table that the file has, without what is pending. It waits for what was deferred of that table
// alone. fn must not use the connection.
func (p *pending) query(table driver.Tables, query string, fn func(r driver.Row) error, args ...driver.Value) error {
	if err := p.c.SettleWrites(table); err != nil {
		return err
	}
	return p.c.QueryAhead(query, fn, args...)
}

// addLink adds a link to the pending rows.
func (p *pending) addLink(l Link, end linkEnd) error {
	if err := p.giveNumber(l.Relation); err != nil {
		return err
	}
	if !p.hasHolders[l] {
		p.forgetHolders(1)
		p.hasHolders[l] = true
	}
	p.links.add(l, end)
	p.lastLinks.add(l, end)
	return p.countAdded(p.links.rows, len(l.Target))
}

// holderEnds returns the first documents that refer to a target, or with last the last ones, the last one first. A limit that is
// not negative bounds them. They are valid until the next call.
func (p *pending) holderEnds(l Link, limit int, last bool) (ends []linkEnd, err error) {
	query := holdersSQL
	if last {
		query = holdersFromLastSQL
	}
	p.ends, err = p.links.list(p.ends[:0], l, limit, last, func(limit int, fn func(linkEnd)) error {
		return p.query(linkTable, query, func(r driver.Row) error {
			fn(linkEnd{holder: r.Int(0)})
			return nil
		}, l.Relation, l.Target, int64(limit))
	})
	return p.ends, err
}

// firstOrLastEntry returns the first sort key in an order, or where last is true the last one, nil where the order is empty.
func (p *pending) firstOrLastEntry(at ruleTarget, last bool) ([]byte, error) {
	entries, err := p.listEntries(at, 1, last)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	return entries[0].sort, nil
}

// listEntries returns the first entries of an order, or where last is true the last ones, the last one first: limit of them at most.
func (p *pending) listEntries(at ruleTarget, limit int, last bool) ([]ruleEntry, error) {
	query := firstEntriesSQL
	if last {
		query = lastEntriesSQL
	}
	return p.entries.list(nil, at, limit, last, func(limit int, fn func(ruleEntry)) error {
		return p.query(entryTable, query, func(r driver.Row) error {
			fn(ruleEntry{r.Blob(0), r.Int(1)})
			return nil
		}, at.rule, at.target, int64(limit))
	})
}

// claimRow returns what is to be set in a row about a value.
func (p *pending) claimRow(collection, path, value string) *claimRow {
	key := claimKey{collection, path, value}
	row := p.claims[key]
	if row == nil {
		row = &claimRow{}
		p.claims[key] = row
	}
	return row
}

// newestHolders returns the last documents that refer to a target, the last one first: limit of them at most. They are valid until the
// next call.
func (p *pending) newestHolders(l Link, limit int) ([]linkEnd, error) {
	if ends, ok := p.lastLinks.get(l, limit); ok && !p.inMemory {
		return ends, nil
	}
	ends, err := p.holderEnds(l, limit, true)
	if err == nil && !p.inMemory {
		p.lastLinks.set(l, limit, ends)
	}
	return ends, err
}

// lastHolders returns the documents of the last entries of an order, the last one first: limit of them at most.
func (p *pending) lastHolders(at ruleTarget, limit int) ([]int64, error) {
	entries, ok := p.lastEntries.get(at, limit)
	if !ok || p.inMemory {
		var err error
		if entries, err = p.listEntries(at, limit, true); err != nil {
			return nil, err
		}
		if !p.inMemory {
			p.lastEntries.set(at, limit, entries)
		}
	}
	numbers := make([]int64, len(entries))
	for i, e := range entries {
		numbers[i] = e.holder
	}
	return numbers, nil
}
