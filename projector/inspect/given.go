package inspect

import (
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// givenCache holds what documents give to rules of those that they refer to, so that a document which very many gather from is
// not read for each of them. The zero value is ready.
type givenCache struct {
	entries  map[givenKey]fold.Entry
	excerpts map[givenKey][]byte
	size     int // of what is held, in bytes
	looked   int // documents that were read for what they give
}

// givenKey names what a document gives to a rule.
type givenKey struct {
	rule   *fold.Rule
	number int64
}

// Bounds of what is held. Whatever is past them empties the cache.
const (
	maxGivenBytes = 16 << 20
	givenBytes    = 768 // that one takes besides its text, a number of many digits included
)

// room makes room for a text of so many bytes.
func (g *givenCache) room(text int) {
	if g.size += givenBytes + text; g.entries == nil || g.size > maxGivenBytes {
		g.entries, g.excerpts, g.size = map[givenKey]fold.Entry{}, map[givenKey][]byte{}, givenBytes+text
	}
}

// givenEntry returns what the document with a number enters into a rule.
func (c *checker) givenEntry(r *fold.Rule, number int64) (fold.Entry, error) {
	key := givenKey{r, number}
	if e, ok := c.given.entries[key]; ok {
		return e, nil
	}
	row, err := c.look(number)
	if err != nil || row == nil {
		return fold.Entry{}, err
	}
	e, err := c.entryOf(r, row)
	if err != nil {
		return fold.Entry{}, err
	}
	c.given.room(len(e.SortKey))
	c.given.entries[key] = e
	return e, nil
}

// excerpt returns what a Recent shows of the document with a number, as it should be.
func (c *checker) excerpt(r *fold.Rule, number int64) ([]byte, error) {
	key := givenKey{r, number}
	if text, ok := c.given.excerpts[key]; ok {
		return text, nil
	}
	row, err := c.look(number)
	if err != nil {
		return nil, err
	}
	body, _, err := c.expected(row, r.Level)
	if err != nil {
		return nil, err
	}
	text := r.Excerpt(body)
	c.given.room(len(text))
	c.given.excerpts[key] = text
	return text, nil
}

// look reads a document for what it gives to a rule of others.
func (c *checker) look(number int64) (*sqlite.Row, error) {
	c.given.looked++
	return c.sc.RowByNumber(number)
}
