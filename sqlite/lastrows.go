package sqlite

import "slices"

// lastRows knows the last rows under some keys, those that are pending included, because lists of the newest are made of them again and
// again. Under one key rows have an order.
type lastRows[K comparable, V any] struct {
	lists   map[K]*lastList[V]
	compare func(a, b V) int
}

// lastList holds the last rows under a key, the last one first. They are all where they are less than limit.
type lastList[V any] struct {
	rows  []V
	limit int
}

// Bounds of what is known.
const (
	maxLastLists = 4096
	maxLastRows  = 64 // under one key
)

// newLastRows returns what is known at the beginning.
func newLastRows[K comparable, V any](compare func(a, b V) int) lastRows[K, V] {
	return lastRows[K, V]{lists: map[K]*lastList[V]{}, compare: compare}
}

// get returns the last rows under a key, limit of them at most; ok is false where they are not known. They are valid until rows change.
func (l *lastRows[K, V]) get(key K, limit int) (rows []V, ok bool) {
	list := l.lists[key]
	if list == nil || list.limit < limit {
		return nil, false
	}
	return list.rows[:min(limit, len(list.rows))], true
}

// set notes the last rows under a key that were asked for with a limit.
func (l *lastRows[K, V]) set(key K, limit int, rows []V) {
	if limit > maxLastRows {
		return
	}
	if len(l.lists) >= maxLastLists {
		clear(l.lists)
	}
	l.lists[key] = &lastList[V]{slices.Clone(rows), limit}
}

// add notes that a row was added.
func (l *lastRows[K, V]) add(key K, value V) {
	list := l.lists[key]
	if list == nil {
		return
	}
	at, _ := slices.BinarySearchFunc(list.rows, value, func(a, b V) int { return -l.compare(a, b) })
	if at == list.limit {
		return
	}
	if list.rows = slices.Insert(list.rows, at, value); len(list.rows) > list.limit {
		list.rows = list.rows[:list.limit]
	}
}

// remove notes that a row was removed. The row before the last ones is not known.
func (l *lastRows[K, V]) remove(key K, value V) {
	list := l.lists[key]
	if list == nil {
		return
	}
	if last := len(list.rows) - 1; last < list.limit-1 || l.compare(value, list.rows[last]) >= 0 {
		delete(l.lists, key)
	}
}

// forget forgets everything.
func (l *lastRows[K, V]) forget() { clear(l.lists) }
