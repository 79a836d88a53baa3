package membership

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/tests/suite"
)

// memoryKV is a KV in memory.
type memoryKV struct {
	mu       sync.Mutex
	last     uint64
	entries  map[string]fanfold.Entry
	watchers map[int]func([]byte)
	watched  int
}

func newMemoryKV() *memoryKV {
	return &memoryKV{entries: map[string]fanfold.Entry{}, watchers: map[int]func([]byte){}}
}

func (kv *memoryKV) get(key string) fanfold.Entry {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	e := kv.entries[key]
	e.Key = key
	return e
}

func (kv *memoryKV) set(key string, value []byte, revision uint64) (uint64, error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	if kv.entries[key].Revision != revision {
		return 0, fanfold.Errorf(fanfold.Stale, "%s has changed", key)
	}
	kv.last++
	kv.entries[key] = fanfold.Entry{Key: key, Value: value, Revision: kv.last}
	for _, fn := range kv.watchers {
		fn(value)
	}
	return kv.last, nil
}

// lastRevision returns the last revision of any key.
func (kv *memoryKV) lastRevision() uint64 {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	return kv.last
}

func (kv *memoryKV) all() (out []fanfold.Entry) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	for _, e := range kv.entries {
		out = append(out, e)
	}
	return out
}

// connection is one node's way to the KV, which can be cut: nothing comes back then until it is mended, or the caller gives up.
type connection struct {
	kv   *memoryKV
	mu   sync.Mutex
	cut  chan struct{} // is closed where it is whole
	deaf bool          // what Set has stored is not acknowledged
	lags bool          // All answers without the node's own entry
}

func newConnection(kv *memoryKV) *connection {
	l := &connection{kv: kv, cut: make(chan struct{})}
	close(l.cut)
	return l
}

func (l *connection) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = make(chan struct{})
}

func (l *connection) thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.cut)
}

// await waits until the link is whole, for ten seconds at most.
func (l *connection) await(ctx context.Context) error {
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	select {
	case <-cut:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(suite.Deadline(10 * time.Second)):
		return fanfold.Errorf(fanfold.Unavailable, "cut")
	}
}

func (l *connection) Get(ctx context.Context, key string) (fanfold.Entry, error) {
	return l.kv.get(key), l.await(ctx)
}

func (l *connection) Set(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := l.await(ctx); err != nil {
		return 0, err
	}
	seq, err := l.kv.set(key, value, revision)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deaf && err == nil {
		return 0, fanfold.Errorf(fanfold.Unavailable, "no answer")
	}
	return seq, err
}

func (l *connection) All(ctx context.Context, prefix string) ([]fanfold.Entry, error) {
	if err := l.await(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	lags := l.lags
	l.mu.Unlock()
	return slices.DeleteFunc(l.kv.all(), func(e fanfold.Entry) bool { return lags || !strings.HasPrefix(e.Key, prefix+".") }), nil
}

func (l *connection) Remove(ctx context.Context, key string, revision uint64) error {
	if err := l.await(ctx); err != nil {
		return err
	}
	l.kv.mu.Lock()
	defer l.kv.mu.Unlock()
	if e := l.kv.entries[key]; e.Revision <= revision {
		delete(l.kv.entries, key)
	}
	return nil
}

func (l *connection) Watch(_ string, fn func([]byte)) (func(), error) {
	l.kv.mu.Lock()
	defer l.kv.mu.Unlock()
	l.kv.watched++
	n := l.kv.watched
	l.kv.watchers[n] = fn
	return func() {
		l.kv.mu.Lock()
		defer l.kv.mu.Unlock()
		delete(l.kv.watchers, n)
	}, nil
}

// testNode is a node that does nothing but keep its entry.
type testNode struct {
	*Registry
	connection *connection
	stop       func()

	mu           sync.Mutex
	state        wire.NodeState
	held         bool
	catches      []uint64      // the KV's last revision whenever the node caught up with the log
	catchUpBlock chan struct{} // CatchUp waits for it; nil for none
}

// startNode runs a node until the test ends.
func startNode(t *testing.T, kv *memoryKV) *testNode {
	t.Helper()
	n := newTestNode(kv)
	n.run(t)
	return n
}

// newTestNode returns a node that does not run yet.
func newTestNode(kv *memoryKV) *testNode {
	n := &testNode{connection: newConnection(kv), held: true}
	n.Registry = New(n.connection, n, Options{ID: NewID(), Logger: slog.New(slog.DiscardHandler), Rename: func() (string, error) { return NewID(), nil }})
	return n
}

func (n *testNode) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = n.Run(ctx)
	}()
	n.stop = sync.OnceFunc(func() { cancel(); <-done })
}

func (n *testNode) State() wire.NodeState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state
}

func (n *testNode) Hold() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = true
}

func (n *testNode) CatchUp(ctx context.Context) error {
	n.mu.Lock()
	gate := n.catchUpBlock
	n.catches = append(n.catches, n.connection.kv.lastRevision())
	n.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return n.connection.await(ctx)
}

func (n *testNode) Release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held = false
}

// writes tells whether the node takes writes.
func (n *testNode) writes() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.held && n.MayWrite() == nil
}
