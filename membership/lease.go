package membership

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold"

	"github.com/fanfold/fanfold/internal/wire"
)

// errLapsed is the error of a write on a node that may not write.
var errLapsed = fanfold.Errorf(fanfold.Unavailable, "this node's lease among the nodes of the log has lapsed, or it has not caught up with the log under a new one: "+
	"nothing was written; it comes back by itself once the log answers: try again, or ask another node")

// MayWrite returns nil while the node's lease lasts and it has caught up under it. Otherwise the error is Unavailable. It
// is asked right before something is published.
func (r *Registry) MayWrite() error {
	if int64(r.opt.Now()) < r.writable.Load() {
		return nil
	}
	return errLapsed
}

// Acknowledged is called when a write was acknowledged. If the lease has lapsed since MayWrite was asked, it counts and
// logs that: the others may have gone on without this node by then.
func (r *Registry) Acknowledged() {
	if r.MayWrite() == nil {
		return
	}
	r.late.Add(1)
	r.mu.Lock()
	first := r.lateIn != r.epoch+1
	r.lateIn = r.epoch + 1
	r.mu.Unlock()
	if first {
		r.opt.Logger.Warn("a write was acknowledged after the node's lease had lapsed: should a model with new strict relations or unique members have come to apply meanwhile, run fanfold verify", "node", r.ID())
	}
}

// Late counts the writes that were acknowledged after the lease had lapsed.
func (r *Registry) Late() uint64 { return r.late.Load() }

// caughtUp is the end of catching up with the log under one lease.
type caughtUp struct {
	epoch uint64
	err   error
}

// writeHoldLoop holds the node's writes, until ctx ends, while the node may not write or another one asks for it. It lets them
// go on once the node has caught up with the log after that.
func (r *Registry) writeHoldLoop(ctx context.Context) {
	held := true                       // New's caller begins with writes held
	wait, told := r.opt.Interval/2, "" // what was logged last
	var catching chan caughtUp
	changes, begun := 0, 0 // of what the writes are held for; before catching began
	look := time.NewTicker(r.opt.Interval / 2)
	defer look.Stop()
	for ctx.Err() == nil {
		asked, epoch, calm := r.holdState()
		if !held && !calm {
			r.local.Hold()
			held = true
		}
		if held && r.setHoldsFor(asked) {
			changes++
			_ = r.beat(ctx) // heartbeatLoop sees the same error
			continue
		}
		if held && len(asked) == 0 && catching == nil && epoch != 0 {
			catching, begun = make(chan caughtUp, 1), changes
			go func(done chan<- caughtUp) { done <- caughtUp{epoch, r.local.CatchUp(ctx)} }(catching)
		}
		select {
		case <-ctx.Done():
		case <-r.holdCheckDue:
		case <-look.C:
		case c := <-catching:
			catching = nil
			if c.err == nil && begun == changes && r.admit(c.epoch) { // what came while writes were held is folded
				held, wait, told = false, r.opt.Interval/2, ""
				r.local.Release()
			} else if c.err != nil && ctx.Err() == nil {
				if reason := fanfold.MessageOf(c.err); reason != told {
					told = reason
					r.opt.Logger.Warn("the node takes no writes yet, for it cannot catch up with the log", "node", r.ID(), "err", c.err)
				}
				r.pause(ctx, wait) // each try stores a fence
				wait = min(2*wait, 8*r.opt.Interval)
			}
		}
	}
	if catching != nil {
		<-catching // it ends with ctx
	}
}

// pause waits.
func (r *Registry) pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// holdState returns the hold requests of other nodes that stand, and the epoch under which the node may catch up, 0 for none. It also
// tells whether writes may go on as they do.
func (r *Registry) holdState() (asked []string, epoch uint64, calm bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked = r.holdRequestsOfPeers()
	lasts := r.opt.Now() < r.until
	if lasts && r.peersSeenIn == r.epoch {
		epoch = r.epoch
	}
	return asked, epoch, len(asked) == 0 && r.admitted && lasts
}

// holdRequestsOfPeers returns the hold requests of nodes that are not gone. It is called with r.mu held.
func (r *Registry) holdRequestsOfPeers() (asked []string) {
	for _, o := range r.peers {
		if o.HoldRequest != "" && !r.gone(o) {
			asked = append(asked, o.HoldRequest)
		}
	}
	slices.Sort(asked)
	return asked
}

// gone tells whether a node's entry has not changed for so long that the node holds no lease. It goes by the entries
// that were looked at: another may have changed since. It is called with r.mu held.
func (r *Registry) gone(o *peer) bool { return r.peersSeenAt-o.unchangedSince > r.opt.Gone }

// setHoldsFor sets for which hold requests the node holds its writes, and tells whether that has changed.
func (r *Registry) setHoldsFor(asked []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Equal(r.holdsFor, asked) {
		return false
	}
	r.holdsFor = asked
	return true
}

// admit lets the node write that has caught up under a lease, if that still lasts and nobody asks it to hold its writes.
func (r *Registry) admit(epoch uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.epoch != epoch || r.opt.Now() >= r.until || len(r.holdRequestsOfPeers()) > 0 || len(r.holdsFor) > 0 {
		return false
	}
	r.admitted = true
	r.setWritable()
	return true
}

// HoldsWrites tells whether the node holds its writes because another one asks for it.
func (r *Registry) HoldsWrites() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.holdsFor) > 0
}

// Nodes returns all nodes as they were last seen, by id. It does not block.
func (r *Registry) Nodes() []wire.Node {
	own := r.local.State()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opt.Now()
	out := []wire.Node{{ID: r.id, NodeState: own, Self: true, Live: now < r.until}}
	for _, key := range slices.Sorted(maps.Keys(r.peers)) {
		o := r.peers[key]
		n := wire.Node{ID: key[len(prefix)+1:], NodeState: o.NodeState, Live: !r.gone(o), SeenSeconds: (now - o.unchangedSince).Seconds()}
		if o.err != nil {
			n.ID, n.NodeState, n.Error = n.ID[:min(len(n.ID), maxTextBytes)], wire.NodeState{}, fanfold.MessageOf(o.err)
		}
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b wire.Node) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Live looks at the nodes anew and returns those that may write, the node itself included. The list has every change
// that was acknowledged before the call. It blocks for two round trips; the error is Unavailable.
func (r *Registry) Live(ctx context.Context) ([]wire.Node, error) {
	if err := r.beat(ctx); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(r.Nodes(), func(n wire.Node) bool { return !n.Live }), nil
}
