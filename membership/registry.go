package membership

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
)

// Options configure a Registry. Zero values of the durations stand for their defaults.
type Options struct {
	ID string // of the node: see NewID
	// Rename returns a new id, which it has stored, where another process has the node's.
	Rename   func() (string, error)
	Interval time.Duration // between two heartbeats; default 2 s
	Lease    time.Duration // from the start of a heartbeat that was acknowledged to the lease's end; default 10 s
	Gone     time.Duration // for which an entry has not changed whose node is gone; default 20 s, more than Lease
	Forget   time.Duration // for which an entry has not changed that is taken away; default an hour
	HoldFor  time.Duration // how long the others hold their writes before one that does not answer is waited for; default 3 s
	// Pause is called before each heartbeat, which waits for it. It is for tests; default nil.
	Pause  func(ctx context.Context)
	Now    func() time.Duration // a monotonic clock; default the process's
	Logger *slog.Logger         // default slog.Default()
}

// setDefaults replaces zero values by their defaults.
func (o *Options) setDefaults() {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&o.Interval, 2 * time.Second}, {&o.Lease, 10 * time.Second}, {&o.Gone, 20 * time.Second}, {&o.Forget, time.Hour}, {&o.HoldFor, 3 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	if o.Now == nil {
		o.Now = monotonic()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// Registry keeps a node's entry and knows the others'. Run does the work; the other methods may be called from many
// goroutines.
type Registry struct {
	kv           KV
	local        Local
	opt          Options
	instance     string
	writable     atomic.Int64  // the end of the lease of a node that may write; 0 where it may not
	late         atomic.Uint64 // writes whose acknowledgement came when the lease had lapsed
	beating      chan struct{} // has an element while a heartbeat is under way
	requesting   chan struct{} // has an element while the node asks the others to hold their writes
	beatDue      chan struct{} // has an element where a heartbeat is due at once
	holdCheckDue chan struct{} // has an element where writeHoldLoop has something to look at

	mu           sync.Mutex
	id           string
	revision     uint64        // of the node's entry; 0 before the first heartbeat
	until        time.Duration // the end of the lease; 0 before the first heartbeat
	epoch        uint64        // counts the leases: one that has lapsed is followed by another
	peersSeenIn  uint64        // the epoch in which the others were seen last
	admitted     bool          // the node has caught up under this lease, and no hold request stands
	lateIn       uint64        // the epoch with a logged late acknowledgement
	holdRequest  string
	holdRequests uint64 // counts the hold requests of this node
	holdsFor     []string
	waitingFor   []string  // for which nodes the hold request waits
	requestBegan time.Time // when the last hold request did
	peers        map[string]*peer
	peersSeenAt  time.Duration  // when the others were last looked at
	sent         wire.NodeState // of the last heartbeat
}

// peer is what a registry knows of another node.
type peer struct {
	nodeRecord
	revision       uint64
	unchangedSince time.Duration // when this revision was seen first
	err            error         // why the entry cannot be read; nil where it can
}

// New returns a registry of a node that has not registered yet. Until Run has registered it and it has caught up it may
// not write.
func New(kv KV, local Local, opt Options) *Registry {
	opt.setDefaults()
	return &Registry{kv: kv, local: local, opt: opt, id: opt.ID, instance: NewID(), peers: map[string]*peer{},
		beating: make(chan struct{}, 1), requesting: make(chan struct{}, 1), beatDue: make(chan struct{}, 1), holdCheckDue: make(chan struct{}, 1)}
}

// signal puts an element into a channel that has room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run keeps the node's lease until ctx ends, takes its entry away, and returns nil. It blocks until then. Whoever calls it
// has ended the node's writes before ctx ends.
func (r *Registry) Run(ctx context.Context) error {
	stop, err := r.kv.Watch(prefix, r.onPeerChange)
	if err != nil {
		r.opt.Logger.Warn("the nodes' entries cannot be watched, and are asked for at intervals", "err", err)
	} else {
		defer stop()
	}
	var loops sync.WaitGroup
	loops.Go(func() { r.heartbeatLoop(ctx) })
	loops.Go(func() { r.writeHoldLoop(ctx) })
	loops.Wait()
	r.leave(context.WithoutCancel(ctx))
	return nil
}

// leaveTime bounds the removal of a node's entry at its end.
const leaveTime = 2 * time.Second

// leave takes the node's entry away, so that nobody waits for the node.
func (r *Registry) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	r.mu.Lock()
	id, revision := r.id, r.revision
	r.admitted = false
	r.setWritable()
	r.mu.Unlock()
	key := prefix + "." + id
	if now, err := r.kv.Get(ctx, key); err == nil && now.Value != nil { // a heartbeat that the end has cut off may be stored
		var e nodeRecord
		if json.Unmarshal(now.Value, &e) == nil && e.Instance == r.instance {
			revision = max(revision, now.Revision)
		}
	}
	if revision == 0 {
		return
	}
	if err := r.kv.Remove(ctx, key, revision); err != nil {
		r.opt.Logger.Warn("the node's entry could not be taken away: the others wait for it until they take it for gone", "node", id, "err", err)
	}
}

// checksPerInterval is how many times within an interval the registry looks whether a heartbeat is due at once.
const checksPerInterval = 8

// heartbeatLoop sends heartbeats until ctx ends: at intervals, and where the node's readiness, its guards, its base or its erasure have changed.
func (r *Registry) heartbeatLoop(ctx context.Context) {
	look := time.NewTicker(r.opt.Interval / checksPerInterval)
	defer look.Stop()
	failing := false
	for n := 0; ; n++ {
		due := n%checksPerInterval == 0
		select {
		case <-r.beatDue:
			due = true
		default:
			due = due || r.changed()
		}
		if due {
			err := r.beat(ctx)
			if ctx.Err() != nil {
				return
			}
			switch {
			case err != nil && !failing:
				r.opt.Logger.Warn("the node's heartbeat is not acknowledged", "node", r.ID(), "err", err)
			case err == nil && failing:
				r.opt.Logger.Info("the node's heartbeat is acknowledged again", "node", r.ID())
			}
			failing = err != nil
		}
		select {
		case <-ctx.Done():
			return
		case <-r.beatDue:
			signal(r.beatDue)
		case <-look.C:
		}
	}
}

// changed tells whether the node's readiness, its guards, its base or its erasure are others than the last heartbeat said.
func (r *Registry) changed() bool {
	now := r.local.State()
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Ready != r.sent.Ready || now.Guards != r.sent.Guards || now.Base != r.sent.Base || now.Erasure != r.sent.Erasure
}

// beat renews the lease and looks at the other nodes. It sees every change of theirs that was acknowledged before the call:
// the bucket's leader has acknowledged the node's own before, and an answer without that is refused. The error is the KV's,
// or ctx's.
func (r *Registry) beat(ctx context.Context) error {
	select {
	case r.beating <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.beating }()
	defer signal(r.holdCheckDue)
	revision, err := r.renew(ctx)
	if fanfold.CodeOf(err) == fanfold.Stale {
		if err = r.reconcile(ctx); err == nil {
			revision, err = r.renew(ctx)
		}
	}
	if err != nil {
		return err
	}
	entries, err := r.kv.All(ctx, prefix)
	if err != nil {
		return err
	}
	return r.notePeers(ctx, entries, revision)
}

// renew writes the node's entry. The lease is counted from before that. The error is the KV's.
func (r *Registry) renew(ctx context.Context) (revision uint64, err error) {
	if r.opt.Pause != nil {
		r.opt.Pause(ctx)
	}
	state := r.local.State()
	r.mu.Lock()
	id, before := r.id, r.revision
	e := nodeRecord{ID: id, Instance: r.instance, NodeState: state, HoldRequest: r.holdRequest, HoldsFor: r.holdsFor}
	r.mu.Unlock()
	value, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	start := r.opt.Now()
	if revision, err = r.kv.Set(ctx, prefix+"."+id, value, before); err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opt.Now() >= r.until { // it had lapsed, or is the first
		r.epoch++
		r.admitted = false
	}
	r.revision, r.until, r.sent = revision, start+r.opt.Lease, state
	r.setWritable()
	return revision, nil
}

// setWritable makes what MayWrite says follow the lease. It is called with r.mu held.
func (r *Registry) setWritable() {
	end := r.until
	if !r.admitted {
		end = 0
	}
	r.writable.Store(int64(end))
}

// reconcile finds out what became of an entry that has another revision than the node knows. An entry of an earlier run is
// taken over; where another process writes it, the node takes another id. The error is the KV's.
func (r *Registry) reconcile(ctx context.Context) error {
	found, err := r.kv.Get(ctx, prefix+"."+r.ID())
	if err != nil {
		return err
	}
	e, _ := readNodeRecord(found)
	r.mu.Lock()
	known := r.revision
	r.revision = found.Revision
	if found.Value == nil {
		r.until = 0 // whoever took it away does not count on the node any more
		r.setWritable()
	}
	r.mu.Unlock()
	if known == 0 || found.Value == nil || e.Instance == r.instance {
		return nil
	}
	r.opt.Logger.Error("another process has this node's id: was its data directory copied? The node takes another id", "node", e.ID, "address", e.Address)
	id, err := r.opt.Rename()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id, r.revision, r.until, r.admitted = id, 0, 0, false
	r.setWritable()
	return nil
}

// notePeers takes note of the entries of all nodes. The error is Unavailable where they lack the node's own at a revision.
func (r *Registry) notePeers(ctx context.Context, entries []fanfold.Entry, revision uint64) error {
	now, own := r.opt.Now(), prefix+"."+r.ID()
	if !slices.ContainsFunc(entries, func(e fanfold.Entry) bool { return e.Key == own && e.Revision >= revision }) {
		return fanfold.Errorf(fanfold.Unavailable, "the log's answer about its nodes is an old one")
	}
	r.mu.Lock()
	others := make(map[string]*peer, len(entries))
	for _, e := range entries {
		if e.Key == own {
			continue
		}
		o := r.peers[e.Key]
		if o == nil || o.revision != e.Revision {
			o = &peer{revision: e.Revision, unchangedSince: now}
			o.nodeRecord, o.err = readNodeRecord(e)
		}
		others[e.Key] = o
	}
	r.peers, r.peersSeenAt = others, now
	live := 0
	for _, o := range others {
		if !r.gone(o) {
			live++
		}
	}
	full := !r.admitted && live >= MaxNodes
	if !full {
		r.peersSeenIn = r.epoch
	}
	r.mu.Unlock()
	for key, o := range others {
		if now-o.unchangedSince > r.opt.Forget {
			if err := r.kv.Remove(ctx, key, o.revision); err != nil { // the next look tries it again
				r.opt.Logger.Debug("the entry of a node that is gone cannot be removed", "key", key, "err", err)
			}
		}
	}
	if full {
		return fanfold.Errorf(fanfold.Unavailable, "the log has %d nodes besides this one, and %d is the most: this node takes no writes until there are fewer", live, MaxNodes)
	}
	return nil
}

// onPeerChange looks at what another node sends: where its hold request or what it holds its writes for have changed, the nodes are looked
// at at once.
func (r *Registry) onPeerChange(value []byte) {
	if len(value) > maxRecordBytes {
		return
	}
	var e nodeRecord
	if json.Unmarshal(value, &e) != nil {
		return
	}
	r.mu.Lock()
	o := r.peers[prefix+"."+e.ID]
	news := e.ID != r.id && (o == nil || o.HoldRequest != e.HoldRequest || !slices.Equal(o.HoldsFor, e.HoldsFor))
	r.mu.Unlock()
	if news {
		signal(r.beatDue)
	}
}

// ID returns the node's id.
func (r *Registry) ID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.id
}
