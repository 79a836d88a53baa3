package writer

import (
	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// maxCachedTrees bounds the text of the documents that a treeCache holds, in bytes, besides the newest of them. A tree takes some
// ten times its text at worst.
const maxCachedTrees = 8 << 20

// treeCache holds the documents of one snapshot that were parsed last.
type treeCache struct {
	trees map[fanfold.Key]*jsondoc.Tree
	order []fanfold.Key // of trees, the oldest first
	size  int           // of their text, in bytes
}

// newTreeCache returns a cache that holds nothing yet.
func newTreeCache() *treeCache { return &treeCache{trees: map[fanfold.Key]*jsondoc.Tree{}} }

// get returns a document's tree, nil where the cache does not hold it.
func (c *treeCache) get(key fanfold.Key) *jsondoc.Tree { return c.trees[key] }

// add adds a document's tree, and drops the oldest ones where there are too many.
func (c *treeCache) add(key fanfold.Key, t *jsondoc.Tree) {
	c.trees[key] = t
	c.order = append(c.order, key)
	c.size += len(t.Raw(jsondoc.Root))
	for c.size > maxCachedTrees && len(c.order) > 1 {
		oldest := c.order[0]
		c.size -= len(c.trees[oldest].Raw(jsondoc.Root))
		delete(c.trees, oldest)
		c.order = c.order[1:]
	}
}
