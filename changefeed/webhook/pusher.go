package webhook

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold/changefeed/group"
)

// Options are the settings of a Pusher. Zero values work, except for Targets, Member and Changed.
type Options struct {
	Targets func(ctx context.Context) ([]group.Target, error) // the groups whose batches are posted
	Member  string                                            // the node's name in every group, which no other node has
	Changed func() <-chan struct{}                            // is closed once something more is folded
	Allow   []netip.Prefix                                    // private networks that may be posted to, also without TLS
	Logger  *slog.Logger

	Now     func() time.Time                                             // default time.Now
	Time    time.Duration                                                // of one post; default 10 s
	Roots   *x509.CertPool                                               // who vouches for receivers; default the system's
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error) // default the system's resolver
	Most    int                                                          // bytes of a batch that has more than one change; default 1 MiB
}

// setDefaults replaces zero values by their defaults.
func (o *Options) setDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Time == 0 {
		o.Time = postTime
	}
	if o.Resolve == nil {
		o.Resolve = resolve
	}
	if o.Most == 0 {
		o.Most = maxBatch
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Bounds of one node.
const (
	nodePosts  = 8           // posts at a time
	groupPosts = 4           // of one group, so that one receiver that hangs leaves room for others
	lookEvery  = time.Second // how often groups are looked for that are new, or other ones
	leaving    = 2 * time.Second
	// grace is how long posts that are on their way may take once the node stops.
	grace = 2 * time.Second
)

// Pusher posts the batches of all groups that have push, as far as they are this node's.
type Pusher struct {
	members Members
	batches Batches
	opt     Options
	sender  *sender
	slots   chan struct{} // has an element for each post of the node
	posts   map[Outcome]*atomic.Uint64

	all atomic.Int64 // works that run, of all groups
}

// New returns a pusher over the groups of a node.
func New(members Members, batches Batches, opt Options) *Pusher {
	opt.setDefaults()
	p := &Pusher{members: members, batches: batches, opt: opt, slots: make(chan struct{}, nodePosts), posts: map[Outcome]*atomic.Uint64{}}
	p.sender = newSender(&p.opt)
	for _, o := range Outcomes() {
		p.posts[o] = new(atomic.Uint64)
	}
	return p
}

// Posts returns how many posts had an outcome.
func (p *Pusher) Posts(o Outcome) uint64 { return p.posts[o].Load() }

// Run posts until ctx ends. Then it waits a moment for posts that are on their way, and leaves the groups. It returns nil.
func (p *Pusher) Run(ctx context.Context) error {
	posting, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cut) })()
	var all sync.WaitGroup
	running := map[string]*pushing{}
	for ctx.Err() == nil {
		if targets, err := p.opt.Targets(ctx); err == nil {
			there := map[string]bool{}
			for i := range targets {
				t := &targets[i]
				there[t.ID] = true
				of := running[t.ID]
				if of == nil {
					of = p.newPushing(ctx, posting)
					running[t.ID] = of
				}
				if of.target.Swap(t) == nil {
					all.Go(of.run)
				}
			}
			for id, of := range running {
				if !there[id] {
					of.stop()
					delete(running, id)
				}
			}
		}
		sleep(ctx, lookEvery)
	}
	all.Wait()
	return nil
}

// sleep waits for some time, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
