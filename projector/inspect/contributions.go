package inspect

import (
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// contributionCache holds what documents give to rules of those that they refer to, so that a document which very many gather from is
// not read for each of them. The zero value is ready.
type contributionCache struct {
	entries       map[contributionKey]fold.RuleEntry
	excerpts      map[contributionKey][]byte
	size          int // of what is held, in bytes
	documentsRead int // documents that were read for what they give
}

// contributionKey names what a document gives to a rule.
type contributionKey struct {
	rule   *fold.Rule
	number int64
}

// Bounds of what is held. Whatever is past them empties the cache.
const (
	maxContributionBytes = 16 << 20
	contributionOverhead = 768 // that one takes besides its text, a number of many digits included
)

// room makes room for a text of so many bytes.
func (g *contributionCache) room(text int) {
	if g.size += contributionOverhead + text; g.entries == nil || g.size > maxContributionBytes {
		g.entries, g.excerpts, g.size = map[contributionKey]fold.RuleEntry{}, map[contributionKey][]byte{}, contributionOverhead+text
	}
}

// contributedEntry returns what the document with a number enters into a rule.
func (c *checker) contributedEntry(r *fold.Rule, number int64) (fold.RuleEntry, error) {
	key := contributionKey{r, number}
	if e, ok := c.contributions.entries[key]; ok {
		return e, nil
	}
	row, err := c.readRow(number)
	if err != nil || row == nil {
		return fold.RuleEntry{}, err
	}
	e, err := c.entryOf(r, row)
	if err != nil {
		return fold.RuleEntry{}, err
	}
	c.contributions.room(len(e.SortKey))
	c.contributions.entries[key] = e
	return e, nil
}

// excerpt returns what a Recent shows of the document with a number, as it should be.
func (c *checker) excerpt(r *fold.Rule, number int64) ([]byte, error) {
	key := contributionKey{r, number}
	if text, ok := c.contributions.excerpts[key]; ok {
		return text, nil
	}
	row, err := c.readRow(number)
	if err != nil {
		return nil, err
	}
	body, _, err := c.expected(row, r.Level)
	if err != nil {
		return nil, err
	}
	text := r.Excerpt(body)
	c.contributions.room(len(text))
	c.contributions.excerpts[key] = text
	return text, nil
}

// readRow reads a document for what it gives to a rule of others.
func (c *checker) readRow(number int64) (*sqlite.Row, error) {
	c.contributions.documentsRead++
	return c.sc.RowByNumber(number)
}
