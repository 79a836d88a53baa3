package membership

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
)

// RequestHold asks all other nodes to hold their writes, and returns once all of them do. From then until release no write
// is under way that was decided without it. The caller calls release once it has the log's verdict. A node that does not
// answer is waited for until it is gone, while the others go on with their writes. It blocks; the error is Unavailable,
// ctx's included.
func (r *Registry) RequestHold(ctx context.Context) (release func(), err error) {
	select {
	case r.requesting <- struct{}{}:
	case <-ctx.Done():
		return nil, r.requestUnanswered(ctx)
	}
	defer func() {
		if err != nil {
			r.setHoldRequest("")
			r.setWaiting(nil)
			<-r.requesting
		}
	}()
	r.mu.Lock()
	r.requestBegan = time.Now()
	r.mu.Unlock()
	for {
		if err := r.beat(ctx); err != nil {
			return nil, r.requestFailed(ctx, err)
		}
		late := r.liveNodesWithout(func(o *peer) bool { return r.opt.Now()-o.unchangedSince <= 2*r.opt.Interval+r.opt.Interval/2 })
		if r.setWaiting(late); len(late) == 0 {
			if late, err = r.requestHoldOnce(ctx); err != nil {
				return nil, err
			}
			if r.setWaiting(late); len(late) == 0 {
				return r.withdrawHold, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, r.requestUnanswered(ctx)
		case <-time.After(r.opt.Interval / checksPerInterval):
		}
	}
}

// requestFailed returns the error of a hold request that could not be made.
func (r *Registry) requestFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return r.requestUnanswered(ctx)
	}
	return fanfold.Wrap(err, fanfold.Unavailable, "the other nodes cannot be asked to hold their writes: %s", fanfold.MessageOf(err))
}

// requestUnanswered returns the error of a hold request whose ctx has ended.
func (r *Registry) requestUnanswered(ctx context.Context) error {
	return fanfold.Wrap(ctx.Err(), fanfold.Unavailable, "not all nodes hold their writes yet: waiting for %v; one that does not answer counts as gone after %v", r.WaitingFor(), r.opt.Gone)
}

// requestHoldOnce makes one hold request, and waits HoldFor for the answers. It returns the nodes that have not answered, for which the others
// are not made to wait: it has withdrawn the request then.
func (r *Registry) requestHoldOnce(ctx context.Context) (late []string, err error) {
	r.mu.Lock()
	r.holdRequests++
	r.holdRequest = fmt.Sprintf("%s.%s.%d", r.id, r.instance, r.holdRequests)
	r.mu.Unlock()
	limit := time.NewTimer(r.opt.HoldFor)
	defer limit.Stop()
	for {
		if err := r.beat(ctx); err != nil {
			return nil, r.requestFailed(ctx, err)
		}
		if late = r.notYetHolding(); len(late) == 0 {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, r.requestUnanswered(ctx)
		case <-limit.C:
			r.setHoldRequest("")
			return late, nil
		case <-time.After(r.opt.Interval / (4 * checksPerInterval)):
		}
	}
}

// ConfirmHold returns nil where all other nodes still hold their writes for the node's request. It blocks for two round trips; the
// error is Unavailable.
func (r *Registry) ConfirmHold(ctx context.Context) error {
	if err := r.beat(ctx); err != nil {
		return err
	}
	if late := r.notYetHolding(); len(late) > 0 {
		return fanfold.Errorf(fanfold.Unavailable, "nodes have come or do not hold their writes any more: %v", late)
	}
	return r.MayWrite()
}

// withdrawHold withdraws the request.
func (r *Registry) withdrawHold() {
	r.setHoldRequest("")
	r.setWaiting(nil)
	<-r.requesting
}

// setHoldRequest sets the node's hold request, and has the others told at once.
func (r *Registry) setHoldRequest(token string) {
	r.mu.Lock()
	r.holdRequest = token
	r.mu.Unlock()
	signal(r.beatDue)
}

// setWaiting sets for which nodes the hold request waits.
func (r *Registry) setWaiting(nodes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waitingFor = nodes
}

// WaitingFor returns the nodes for which this node's hold request waits, as people name them; none where it does not wait.
func (r *Registry) WaitingFor() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.waitingFor)
}

// WaitingSince returns when this node's last hold request began.
func (r *Registry) WaitingSince() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requestBegan
}

// notYetHolding returns the nodes that are not gone and do not hold their writes for the node's request.
func (r *Registry) notYetHolding() []string {
	r.mu.Lock()
	token := r.holdRequest
	r.mu.Unlock()
	return r.liveNodesWithout(func(o *peer) bool { return slices.Contains(o.HoldsFor, token) })
}

// liveNodesWithout returns the nodes that are not gone and lack a property.
func (r *Registry) liveNodesWithout(so func(o *peer) bool) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(r.peers)) {
		o := r.peers[key]
		if r.gone(o) || so(o) {
			continue
		}
		name := key[len(prefix)+1:]
		if o.Address != "" {
			name += " (" + o.Address + ")"
		}
		names = append(names, name)
	}
	return names
}
