package fold

// givenCache holds what documents give to the rules of those that they refer to: what a Recent shows of one, and, not nil,
// that a Count takes one in.
type givenCache struct {
	texts map[int64][]givenText // by the document's number
	size  int                   // of what is held, in bytes
}

// givenText is what one document gives to a rule.
type givenText struct {
	rule *Rule
	text []byte
}

// Bounds of what is held. One more text empties the cache.
const (
	maxGivenBytes = 32 << 20
	givenBytes    = 128 // that a text takes besides its own
)

// get returns what is held for a rule and a document; ok is false where nothing is.
func (c *givenCache) get(r *Rule, number int64) (text []byte, ok bool) {
	for _, g := range c.texts[number] {
		if g.rule == r {
			return g.text, true
		}
	}
	return nil, false
}

// put holds text, which may be nil and must not change from then on.
func (c *givenCache) put(r *Rule, number int64, text []byte) {
	if c.size += givenBytes + len(text); c.size > maxGivenBytes {
		c.clear()
		c.size = givenBytes + len(text)
	}
	if c.texts == nil {
		c.texts = map[int64][]givenText{}
	}
	c.texts[number] = append(c.texts[number], givenText{r, text})
}

// drop forgets what a document gave.
func (c *givenCache) drop(number int64) {
	if len(c.texts) == 0 {
		return
	}
	for _, g := range c.texts[number] {
		c.size -= givenBytes + len(g.text)
	}
	delete(c.texts, number)
}

// clear forgets everything.
func (c *givenCache) clear() {
	if len(c.texts) > 64 { // a large map keeps its memory
		c.texts = nil
	}
	clear(c.texts)
	c.size = 0
}
