package query

import (
	"bytes"
	"slices"

	"github.com/fanfold/fanfold/internal/expr"
	"github.com/fanfold/fanfold/model"
)

// isFirst tells whether an item is the first of its document's entries in the walk. The document says so itself, so that a page
// knows what the pages before it had.
func (x *indexSource) isFirst(it *item, facts expr.Facts) bool {
	keys, _ := x.index.Keys(nil, model.IndexFacts{Doc: facts.Doc, Created: facts.Created, Updated: facts.Updated})
	for _, key := range keys {
		if x.ranges.holds(key) {
			return bytes.Equal(key, it.full)
		}
	}
	return true // the index is not what it was made of; verify says so
}

// holds tells whether a key lies in the ranges.
func (k *keyRanges) holds(key []byte) bool {
	i, found := slices.BinarySearchFunc(k.streams, key, func(r stream, key []byte) int { return bytes.Compare(r.low, key) })
	if !found {
		i--
	}
	if i < 0 {
		return false
	}
	high := k.streams[i].high
	return (high == nil || bytes.Compare(key, high) < 0) && passes(k.checks, key)
}
