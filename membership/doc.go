// Package membership knows which nodes keep one log. Each node renews its own entry in a key-value bucket beside the log.
// The entry is its lease: while the lease lasts, the node may write, and the others count on it. A model with new guards
// comes to apply only while all live nodes hold their writes. DESIGN.md says why it is as it is.
package membership

import (
	"context"

	"github.com/fanfold/fanfold"

	"github.com/fanfold/fanfold/internal/wire"
)

// KV keeps the entries. Once Set has returned for one node, every later All of a node that has called Set before sees
// the entry.
type KV interface {
	// Get returns what a key has, as the bucket's leader knows it.
	Get(ctx context.Context, key string) (fanfold.Entry, error)
	// Set gives a key a value if its revision is still the one given, and returns the new one. The error is Stale where
	// the key has changed.
	Set(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// All returns the keys below a prefix, with every change that was acknowledged to this process before.
	All(ctx context.Context, prefix string) ([]fanfold.Entry, error)
	// Remove takes a key away without a trace, unless it has changed after a revision.
	Remove(ctx context.Context, key string, revision uint64) error
	// Watch calls fn with what is sent to the keys below a prefix, which may come to nothing, until stop is called.
	Watch(prefix string, fn func(value []byte)) (stop func(), err error)
}

// Local is the node that a Registry speaks for.
type Local interface {
	// State reports how the node stands. It does not block.
	State() wire.NodeState
	// Hold keeps writes from beginning, and waits until none is under way.
	Hold()
	// CatchUp waits until everything acknowledged before the call is folded on this node.
	CatchUp(ctx context.Context) error
	// Release lets writes begin again.
	Release()
}
