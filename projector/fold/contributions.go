package fold

// contributionCache holds what documents give to the rules of those that they refer to: what a Recent shows of one, and, not nil,
// that a Count takes one in.
type contributionCache struct {
	texts map[int64][]contribution // by the document's number
	size  int                      // of what is held, in bytes
}

// contribution is what one document gives to a rule.
type contribution struct {
	rule *Rule
	text []byte
}

// Bounds of what is held. One more text empties the cache.
const (
	maxContributionBytes = 32 << 20
	contributionOverhead = 128 // that a text takes besides its own
)

// get returns what is held for a rule and a document; ok is false where nothing is.
func (c *contributionCache) get(r *Rule, number int64) (text []byte, ok bool) {
	for _, g := range c.texts[number] {
		if g.rule == r {
			return g.text, true
		}
	}
	return nil, false
}

// put holds text, which may be nil and must not change from then on.
func (c *contributionCache) put(r *Rule, number int64, text []byte) {
	if c.size += contributionOverhead + len(text); c.size > maxContributionBytes {
		c.clear()
		c.size = contributionOverhead + len(text)
	}
	if c.texts == nil {
		c.texts = map[int64][]contribution{}
	}
	c.texts[number] = append(c.texts[number], contribution{r, text})
}

// drop forgets what a document gave.
func (c *contributionCache) drop(number int64) {
	if len(c.texts) == 0 {
		return
	}
	for _, g := range c.texts[number] {
		c.size -= contributionOverhead + len(g.text)
	}
	delete(c.texts, number)
}

// clear forgets everything.
func (c *contributionCache) clear() {
	if len(c.texts) > 64 { // a large map keeps its memory
		c.texts = nil
	}
	clear(c.texts)
	c.size = 0
}
