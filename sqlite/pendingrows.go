package sqlite

import "slices"

// pendingRows holds what a transaction has changed of the rows of a table and the file does not have, under the keys by which they
// are read. Under one key they have an order. A read of the table merges them with the rows of the file.
type pendingRows[K comparable, V any] struct {
	changed map[K]*rowChanges[V]
	rows    int              // in changed, added and removed ones
	compare func(a, b V) int // orders rows under one key; 0 for the same row
	replace bool             // a row may take the place of the same one in the file
}

// rowChanges are what has changed of the rows under one key. The zero value is nothing.
type rowChanges[V any] struct {
	added, removed []V  // in order; those removed are rows of the file
	emptied        bool // all rows of the file are removed
}

// newPendingRows returns rows of a table without changes.
func newPendingRows[K comparable, V any](compare func(a, b V) int) pendingRows[K, V] {
	return pendingRows[K, V]{changed: map[K]*rowChanges[V]{}, compare: compare}
}

// of returns what the file does not have of the rows under a key.
func (p *pendingRows[K, V]) of(key K) rowChanges[V] {
	if c := p.changed[key]; c != nil {
		return *c
	}
	return rowChanges[V]{}
}

// change returns what has changed of the rows under a key, to change it.
func (p *pendingRows[K, V]) change(key K) *rowChanges[V] {
	c := p.changed[key]
	if c == nil {
		c = &rowChanges[V]{}
		p.changed[key] = c
	}
	return c
}

// add adds a row.
func (p *pendingRows[K, V]) add(key K, value V) {
	c := p.change(key)
	if !p.replace {
		at, _ := p.find(c.added, value) // of the same row twice the file's constraint makes an error
		c.added = slices.Insert(c.added, at, value)
		p.rows++
		return
	}
	before := len(c.added) + len(c.removed)
	c.added, c.removed = p.with(c.added, value), p.with(c.removed, value)
	p.rows += len(c.added) + len(c.removed) - before
}

// with returns rows with a row, which takes the place of the same one.
func (p *pendingRows[K, V]) with(rows []V, value V) []V {
	at, found := p.find(rows, value)
	if found {
		rows[at] = value
		return rows
	}
	return slices.Insert(rows, at, value)
}

// find returns where a row is among others, or would be.
func (p *pendingRows[K, V]) find(rows []V, value V) (at int, found bool) {
	return slices.BinarySearchFunc(rows, value, p.compare)
}

// remove removes a row.
func (p *pendingRows[K, V]) remove(key K, value V) {
	c := p.change(key)
	before := len(c.added) + len(c.removed)
	if at, found := p.find(c.added, value); found {
		c.added = slices.Delete(c.added, at, at+1)
	} else {
		c.removed = p.with(c.removed, value)
	}
	p.rows += len(c.added) + len(c.removed) - before
}

// removeAll removes all rows under a key.
func (p *pendingRows[K, V]) removeAll(key K) {
	c := p.of(key)
	p.changed[key] = &rowChanges[V]{emptied: true}
	p.rows += 1 - len(c.added) - len(c.removed)
}

// hides reports whether a row of the file is removed.
func (p *pendingRows[K, V]) hides(c rowChanges[V], value V) bool {
	if c.emptied || len(c.removed) == 0 {
		return c.emptied
	}
	_, found := p.find(c.removed, value)
	return found
}

// known returns the row that is the same as value, where it was added; there is false where it is removed, and known false where the
// file has to say.
func (p *pendingRows[K, V]) known(key K, value V) (row V, there, known bool) {
	c := p.of(key)
	if at, found := p.find(c.added, value); found {
		return c.added[at], true, true
	}
	return row, false, p.hides(c, value)
}

// list appends the first rows under a key to dst, in the order of compare, or with last the last ones, the last one first. A
// limit that is not negative bounds them. read calls fn with so many rows of the file, in that order.
func (p *pendingRows[K, V]) list(dst []V, key K, limit int, last bool, read func(limit int, fn func(value V)) error) ([]V, error) {
	c, most, begin := p.of(key), limit, len(dst)
	if limit >= 0 {
		most += len(c.removed)
	}
	if err := read(most, func(value V) {
		if !p.hides(c, value) {
			dst = append(dst, value)
		}
	}); err != nil {
		return nil, err
	}
	if len(c.added) > 0 {
		dst = append(dst, c.added...)
		slices.SortFunc(dst[begin:], p.compare)
		if last {
			// the file's rows are in the other order, too
			slices.Reverse(dst[begin:])
		}
	}
	if limit >= 0 && len(dst)-begin > limit {
		dst = dst[:begin+limit]
	}
	return dst, nil
}

// takeBack forgets what has changed.
func (p *pendingRows[K, V]) takeBack() {
	p.rows = 0
	clear(p.changed)
}
