package fold

import "bytes"

// valueCache holds what copy rules gave for their targets, so that a target with a thousand holders is read and
// evaluated once. That a target gives no value is held too, as nil.
type valueCache struct {
	byRule []map[string][]byte
	size   int // values held
	bytes  int // of them
}

// Bounds of the values held; one more empties the cache.
const (
	maxCachedValues = 100_000
	maxCachedBytes  = 32 << 20
)

// reset empties the cache and makes room for a model of so many rules.
func (c *valueCache) reset(rules int) {
	c.byRule, c.size, c.bytes = make([]map[string][]byte, rules), 0, 0
}

// get returns what is held for a target; ok is false where nothing is.
func (c *valueCache) get(r *Rule, id string) (raw []byte, ok bool) {
	raw, ok = c.byRule[r.Index][id]
	return raw, ok
}

// put holds a copy of raw, which may be nil.
func (c *valueCache) put(r *Rule, id string, raw []byte) {
	if c.size >= maxCachedValues || c.bytes >= maxCachedBytes {
		c.reset(len(c.byRule))
	}
	m := c.byRule[r.Index]
	if m == nil {
		m = map[string][]byte{}
		c.byRule[r.Index] = m
	}
	old, ok := m[id]
	if !ok {
		c.size++
	}
	c.bytes += len(raw) - len(old)
	m[id] = bytes.Clone(raw)
}

// drop forgets what is held for a target.
func (c *valueCache) drop(r *Rule, id string) {
	if m := c.byRule[r.Index]; m != nil {
		if raw, ok := m[id]; ok {
			delete(m, id)
			c.size, c.bytes = c.size-1, c.bytes-len(raw)
		}
	}
}
