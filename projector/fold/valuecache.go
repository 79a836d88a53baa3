package fold

import (
	"bytes"
)

// valueCache holds what copy rules gave for their targets, so that a thousand books of one
// author ask once.
type valueCache struct {
	byRule []map[string][]byte
	size   int
}

const cacheLimit = 100_000 // entries

func (c *valueCache) reset(rules int) {
	c.byRule, c.size = make([]map[string][]byte, rules), 0
}

func (c *valueCache) get(r *Rule, id string) (raw []byte, ok bool) {
	raw, ok = c.byRule[r.Index][id]
	return raw, ok
}

func (c *valueCache) put(r *Rule, id string, raw []byte) {
	if c.size >= cacheLimit {
		c.reset(len(c.byRule))
	}
	m := c.byRule[r.Index]
	if m == nil {
		m = map[string][]byte{}
		c.byRule[r.Index] = m
	}
	if _, ok := m[id]; !ok {
		c.size++
	}
	m[id] = bytes.Clone(raw)
}

func (c *valueCache) drop(r *Rule, id string) {
	if m := c.byRule[r.Index]; m != nil {
		if _, ok := m[id]; ok {
			delete(m, id)
			c.size--
		}
	}
}
