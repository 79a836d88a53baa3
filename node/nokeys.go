package node

import (
	"context"
	"strings"
	"sync"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access/keys"
)

// noKeys is a bucket of keys that lies beside no log: it is empty at the start, and forgotten at the end. The zero value is empty.
type noKeys struct {
	mu      sync.Mutex
	entries map[string]fanfold.Entry
	last    uint64 // revision
}

var _ keys.Bucket = (*noKeys)(nil)

// Get returns what a key has.
func (b *noKeys) Get(_ context.Context, key string) (fanfold.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entries[key]
	e.Key = key
	return e, nil
}

// Set gives a key a value if its revision is still the one given. The error is Stale.
func (b *noKeys) Set(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.entries[key].Revision != revision {
		return 0, fanfold.Errorf(fanfold.Stale, "the key has changed")
	}
	if b.entries == nil {
		b.entries = map[string]fanfold.Entry{}
	}
	b.last++
	b.entries[key] = fanfold.Entry{Key: key, Value: value, Revision: b.last}
	return b.last, nil
}

// All returns the keys below a prefix.
func (b *noKeys) All(_ context.Context, prefix string) (all []fanfold.Entry, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, e := range b.entries {
		if strings.HasPrefix(key, prefix) {
			all = append(all, e)
		}
	}
	return all, nil
}

// Remove takes a key away.
func (b *noKeys) Remove(_ context.Context, key string, _ uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.entries, key)
	return nil
}

// Watch watches nothing, for nobody else knows the bucket.
func (b *noKeys) Watch(string, func([]byte)) (stop func(), err error) { return func() {}, nil }
