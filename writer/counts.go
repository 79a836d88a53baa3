package writer

import (
	"sync/atomic"

	"github.com/fanfold/fanfold"
)

// Operations lists the names by which Counts counts writes.
var Operations = []string{"create", "put", "patch", "delete", "transaction", "import", "model"}

// counts counts writes since the start.
type counts struct {
	stored    [7]atomic.Uint64 // by the index in Operations
	conflicts atomic.Uint64
}

// add counts a write that was stored, or, where err says that what is stored did not fit it, a conflict.
func (c *counts) add(name string, err error) {
	switch fanfold.CodeOf(err) {
	case "":
		for i, known := range Operations {
			if known == name {
				c.stored[i].Add(1)
			}
		}
	case fanfold.Stale, fanfold.Exists, fanfold.Conflict:
		c.conflicts.Add(1)
	}
}

// Stored returns how many writes of an operation, one of Operations, this writer has stored: requests, and of an import
// documents. A request that was stored before under its key counts again.
func (w *Writer) Stored(operation string) uint64 {
	for i, known := range Operations {
		if known == operation {
			return w.counts.stored[i].Load()
		}
	}
	return 0
}

// Conflicts returns how many writes were refused. The document was at another revision than the request asked for, it
// existed already, it had a unique value, or a patch did not fit it.
func (w *Writer) Conflicts() uint64 { return w.counts.conflicts.Load() }
