package membership

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
)

// Ask asks all other nodes to hold their writes, and returns once all of them do: then nothing is under way that was
// decided without knowing of it, until release is called, whose caller has the log's verdict by then. A node that does
// not answer is waited for until it is gone, while the others go on with their writes. It blocks; the error is
// Unavailable, ctx's included.
func (r *Registry) Ask(ctx context.Context) (release func(), err error) {
	select {
	case r.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, r.unanswered(ctx)
	}
	defer func() {
		if err != nil {
			r.setAsk("")
			r.setWaiting(nil)
			<-r.asking
		}
	}()
	r.mu.Lock()
	r.began = time.Now()
	r.mu.Unlock()
	for {
		if err := r.beat(ctx); err != nil {
			return nil, r.unasked(ctx, err)
		}
		late := r.lacking(func(o *other) bool { return r.opt.Now()-o.since <= 2*r.opt.Interval+r.opt.Interval/2 })
		if r.setWaiting(late); len(late) == 0 {
			if late, err = r.askOnce(ctx); err != nil {
				return nil, err
			}
			if r.setWaiting(late); len(late) == 0 {
				return r.release, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, r.unanswered(ctx)
		case <-time.After(r.opt.Interval / looks):
		}
	}
}

// unasked returns the error of an ask that could not be made.
func (r *Registry) unasked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return r.unanswered(ctx)
	}
	return fanfold.Wrap(err, fanfold.Unavailable, "the other nodes cannot be asked to hold their writes: %s", fanfold.MessageOf(err))
}

// unanswered returns the error of an ask whose ctx has ended.
func (r *Registry) unanswered(ctx context.Context) error {
	return fanfold.Wrap(ctx.Err(), fanfold.Unavailable, "not all nodes hold their writes yet: waiting for %v; one that does not answer counts as gone after %v", r.Waiting(), r.opt.Gone)
}

// askOnce asks once, and waits HoldFor for the answers. It returns the nodes that have not answered, for which the others
// are not made to wait: it has taken back the ask then.
func (r *Registry) askOnce(ctx context.Context) (late []string, err error) {
	r.mu.Lock()
	r.asked++
	r.asks = fmt.Sprintf("%s.%s.%d", r.id, r.instance, r.asked)
	r.mu.Unlock()
	limit := time.NewTimer(r.opt.HoldFor)
	defer limit.Stop()
	for {
		if err := r.beat(ctx); err != nil {
			return nil, r.unasked(ctx, err)
		}
		if late = r.notHolding(); len(late) == 0 {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, r.unanswered(ctx)
		case <-limit.C:
			r.setAsk("")
			return late, nil
		case <-time.After(r.opt.Interval / (4 * looks)):
		}
	}
}

// Confirm returns nil where all other nodes still hold their writes for the node's ask. It blocks for two round trips; the
// error is Unavailable.
func (r *Registry) Confirm(ctx context.Context) error {
	if err := r.beat(ctx); err != nil {
		return err
	}
	if late := r.notHolding(); len(late) > 0 {
		return fanfold.Errorf(fanfold.Unavailable, "nodes have come or do not hold their writes any more: %v", late)
	}
	return r.MayWrite()
}

// release takes the ask back.
func (r *Registry) release() {
	r.setAsk("")
	r.setWaiting(nil)
	<-r.asking
}

// setAsk sets what the node asks for, and has the others told at once.
func (r *Registry) setAsk(token string) {
	r.mu.Lock()
	r.asks = token
	r.mu.Unlock()
	signal(r.poke)
}

// setWaiting sets for which nodes an ask waits.
func (r *Registry) setWaiting(nodes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = nodes
}

// Waiting returns the nodes for which an ask of this node waits, as people name them; none where no ask waits.
func (r *Registry) Waiting() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.waiting)
}

// WaitingSince returns when the last ask of this node began.
func (r *Registry) WaitingSince() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.began
}

// notHolding returns the nodes that are not gone and do not hold their writes for the node's ask.
func (r *Registry) notHolding() []string {
	r.mu.Lock()
	token := r.asks
	r.mu.Unlock()
	return r.lacking(func(o *other) bool { return slices.Contains(o.Holds, token) })
}

// lacking returns the nodes that are not gone and of which something is not so.
func (r *Registry) lacking(so func(o *other) bool) (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(r.others)) {
		o := r.others[key]
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
