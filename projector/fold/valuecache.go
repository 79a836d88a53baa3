package fold

import (
	"bytes"

	"github.com/fanfold/fanfold/internal/jsondoc"
)

// valueCache holds what copy rules gave for their targets, so that a target with a thousand holders is read and evaluated once.
// It holds nil for a target that gives no value or is not there, so that not each of its holders looks for it.
type valueCache struct {
	byRule []map[string]cachedValue
	size   int // values held
	bytes  int // of their texts
}

// cachedValue is what a rule gave for a target. Of a long value only the length may be left.
type cachedValue struct {
	raw    []byte
	length int // of the value; -1 for no value
}

// Bounds of the values held. One more value empties the cache; more bytes leave the lengths of long values.
const (
	maxCachedValues = 100_000
	maxCachedBytes  = 32 << 20
	longValue       = 1 << 10
)

// reset empties the cache and makes room for a model of so many rules.
func (c *valueCache) reset(rules int) {
	c.byRule, c.size, c.bytes = make([]map[string]cachedValue, rules), 0, 0
}

// get returns what is held for a target; ok is false where nothing is.
func (c *valueCache) get(r *Rule, id string) (raw []byte, ok bool) {
	v, ok := c.byRule[r.Index][id]
	return v.raw, ok && len(v.raw) == max(v.length, 0)
}

// lengthOf returns the length in bytes of what the rule gave for a target, -1 for no value; ok is false where that is not
// known.
func (c *valueCache) lengthOf(r *Rule, id string) (length int, ok bool) {
	v, ok := c.byRule[r.Index][id]
	return v.length, ok
}

// put holds a copy of raw, which may be nil.
func (c *valueCache) put(r *Rule, id string, raw []byte) {
	c.drop(r, id)
	if c.size >= maxCachedValues {
		c.reset(len(c.byRule))
	}
	if c.bytes+len(raw) > maxCachedBytes {
		c.shorten()
	}
	m := c.byRule[r.Index]
	if m == nil {
		m = map[string]cachedValue{}
		c.byRule[r.Index] = m
	}
	v := cachedValue{raw: bytes.Clone(raw), length: len(raw)}
	if raw == nil {
		v.length = -1
	}
	m[id] = v
	c.size, c.bytes = c.size+1, c.bytes+len(raw)
}

// shorten leaves the lengths of long values only.
func (c *valueCache) shorten() {
	for _, m := range c.byRule {
		for id, v := range m {
			if len(v.raw) > longValue {
				c.bytes -= len(v.raw)
				m[id] = cachedValue{length: v.length}
			}
		}
	}
	if c.bytes > maxCachedBytes/2 { // of short ones alone
		c.reset(len(c.byRule))
	}
}

// drop forgets what is held for a target.
func (c *valueCache) drop(r *Rule, id string) {
	if m := c.byRule[r.Index]; m != nil {
		if v, ok := m[id]; ok {
			delete(m, id)
			c.size, c.bytes = c.size-1, c.bytes-len(v.raw)
		}
	}
}

// parsedViews keeps the last views that rules were evaluated on, because several rules look at one view. The texts must not change.
type parsedViews struct {
	views [8]parsedView
	next  int // that is parsed anew
}

// parsedView is a text with its tree.
type parsedView struct {
	body []byte
	tree jsondoc.Tree
}

// maxParsedView is how many bytes a view has at most that stays in memory.
const maxParsedView = 64 << 10

// tree returns the parsed view, which is valid until seven others were asked for.
func (p *parsedViews) tree(body []byte) *jsondoc.Tree {
	if len(body) > maxParsedView {
		return jsondoc.MustParse(body)
	}
	for i := range p.views {
		v := &p.views[i]
		if len(body) > 0 && len(v.body) == len(body) && &v.body[0] == &body[0] {
			return &v.tree
		}
	}
	v := &p.views[p.next]
	p.next = (p.next + 1) % len(p.views)
	v.body = body
	v.tree.Reset(body)
	return &v.tree
}
