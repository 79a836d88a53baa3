package query

// Allow has a query do no more than some entries, bytes of memory or cost; 0 for what every query may.
func (q *Query) Allow(entries int64, memory, cost int) {
	for _, b := range []struct {
		allowed *int
		value   int
	}{{&q.work.memory, memory}, {&q.work.cost, cost}} {
		if b.value > 0 {
			*b.allowed = b.value
		}
	}
	if entries > 0 {
		q.work.entries = entries
	}
}

// Forge returns a cursor with another place. ok is false for a text that is no cursor.
func Forge(text string, key []byte, tie int64) (forged string, ok bool) {
	c, ok := decodeCursor(text)
	if !ok {
		return "", false
	}
	c.key, c.tie = key, tie
	return c.encode(), true
}
