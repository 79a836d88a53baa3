package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// Batch is what a handler gets: changes of one partition, in order. All changes of a document are in one partition.
type Batch struct {
	Partition int
	Changes   []Change
	// Token is the lease's. It begins with a number that grows whenever the partition changes hands. A handler's target can
	// keep the highest number and refuse lower ones, of members that were frozen and do not know it.
	Token    string
	Position string // everything up to here is in this batch, or before
}

// Handler handles a batch. Once it has returned nil, the batch is acknowledged. If it returns an error, the batch comes
// again after a pause. If it fails too often, it is parked, and the group goes on. The same changes may come twice, also
// to another member, because an acknowledgement can be lost.
//
// ctx ends when the lease is lost, and some time after the consumer is told to stop: ConsumerOptions.Grace. After that
// another member may handle the same changes.
type Handler func(ctx context.Context, b *Batch) error

// ConsumerOptions say how a member of a group works.
type ConsumerOptions struct {
	Group       string        // must be there: PutGroup
	Member      string        // a name that no other member has; default a random one
	Handler     Handler       // called for several partitions at the same time, and for one after the other
	Concurrency int           // how many handlers run at a time; default 4
	Partitions  int           // how many partitions this member wants at most; default its share
	BatchSize   int           // changes from which on a batch ends, after the event; default 100
	IncludeDocs bool          // see ChangesOptions
	Grace       time.Duration // how long handlers may go on once the consumer is told to stop; default 10 s
	// Failed is called with what is tried again: lost connections, and errors of the handler. Default nil: nothing is said.
	Failed func(err error)
}

// Consumer is a member of a consumer group: see Run.
type Consumer struct {
	c           *Client
	leaseClient *Client // asks for leases, which a late answer does not renew
	opt         ConsumerOptions
}

// NewConsumer returns a member of a group. Nothing is asked of the server. The error is Invalid.
func NewConsumer(c *Client, opt ConsumerOptions) (*Consumer, error) {
	if opt.Group == "" || opt.Handler == nil || opt.Concurrency < 0 || opt.BatchSize < 0 || opt.Partitions < 0 || opt.Grace < 0 {
		return nil, &Error{Code: Invalid, Detail: "a consumer needs a Group and a Handler, and numbers that are not negative"}
	}
	if opt.Member == "" {
		opt.Member = rand.Text()
	}
	if opt.Concurrency == 0 {
		opt.Concurrency = 4
	}
	if opt.BatchSize == 0 {
		opt.BatchSize = 100
	}
	if opt.Grace == 0 {
		opt.Grace = 10 * time.Second
	}
	if opt.Failed == nil {
		opt.Failed = func(error) {}
	}
	asking := &Client{base: c.base, opt: c.opt}
	asking.opt.RetryFor, asking.opt.Attempt = -1, min(c.opt.Attempt, maxLeaseRequest)
	return &Consumer{c: c, leaseClient: asking, opt: opt}, nil
}

// maxLeaseRequest is how long an answer to a request for leases may take.
const maxLeaseRequest = 10 * time.Second

// Run leases partitions, calls the handler with their changes, acknowledges what it has handled, and renews the leases,
// until ctx ends. Then it waits for running handlers, for Grace at most, acknowledges their batches, gives the leases
// back, and returns nil. Lost connections and restarts of the server are tried again for as long as it takes. An error is
// what trying again does not help: NotFound where there is no such group, Invalid, PositionGone, StoreChanged.
func (k *Consumer) Run(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	handling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stopGrace := context.AfterFunc(ctx, func() { time.AfterFunc(k.opt.Grace, cancel) })
	defer stopGrace()
	r := &consuming{Consumer: k, handling: handling, end: end, slots: make(chan struct{}, k.opt.Concurrency), work: map[int]*leaseWork{}}
	r.keepLeases(ctx)
	for _, h := range r.work {
		h.stop()
	}
	r.wait.Wait()
	leaving, done := context.WithTimeout(context.WithoutCancel(ctx), k.opt.Grace)
	defer done()
	if err := k.leaseClient.sendAlone(leaving, http.MethodPost, k.path("_release"), wire.LeaveBody{Member: k.opt.Member}); err != nil {
		k.opt.Failed(err) // the leases end by themselves
	}
	if failed := new(failedForGood); errors.As(context.Cause(ctx), &failed) {
		return failed.err
	}
	return nil
}

// path returns the path of what is below the group.
func (k *Consumer) path(below string) string { return groupPath(k.opt.Group, below) }

// failedForGood is why a Run ends by itself.
type failedForGood struct{ err error }

// Error returns the error's text.
func (f *failedForGood) Error() string { return f.err.Error() }

// final tells whether an error stays the same, however often it is tried.
func final(err error) bool {
	var failure *Error
	return errors.As(err, &failure) && (failure.Code == BadAnswer || failure.Code == AnswerLimit || failure.Status >= http.StatusBadRequest && failure.Status < http.StatusInternalServerError &&
		failure.Code != Busy && failure.Code != TooSlow)
}

// consuming is one Run of a consumer.
type consuming struct {
	*Consumer
	handling context.Context // of handlers
	end      func(cause error)
	slots    chan struct{} // one for each handler that runs
	wait     sync.WaitGroup
	work     map[int]*leaseWork // by partition; of keepLeases alone
}

// keepLeases asks for leases again and again, and starts and stops the work on them, until ctx ends.
func (r *consuming) keepLeases(ctx context.Context) {
	pause := newBackOff()
	for duration := time.Duration(0); ; {
		requested := time.Now()
		wait := pause.next(0)
		leases, err := r.lease(ctx)
		if err == nil && duration == 0 {
			var g *Group
			if g, err = r.leaseClient.Group(ctx, r.opt.Group); err == nil {
				duration = g.Settings.Lease
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			r.updateWork(leases, requested, duration)
			pause.reset()
			// A lease is written anew when a quarter of its time is over.
			wait = max(duration/4, 100*time.Millisecond)
		case final(err):
			r.end(&failedForGood{err})
			return
		default:
			r.opt.Failed(err)
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

// lease returns the leases that the member has now.
func (r *consuming) lease(ctx context.Context) ([]wire.Lease, error) {
	req, err := groupRequest(http.MethodPost, r.path("_lease"), wire.LeaseBody{Member: r.opt.Member, Max: r.opt.Partitions})
	if err != nil {
		return nil, err
	}
	var answer wire.LeaseList
	return answer.Leases, r.leaseClient.sendJSON(ctx, req, &answer)
}

// updateWork starts the work on leases that are new. It ends it on those that were not renewed, after the batch at hand.
func (r *consuming) updateWork(leases []wire.Lease, requested time.Time, duration time.Duration) {
	now := map[int]string{}
	for _, l := range leases {
		now[l.Partition] = l.Token
	}
	for n, h := range r.work {
		select {
		case <-h.done:
			delete(r.work, n)
			continue
		default:
		}
		switch token, has := now[n]; {
		case has && token == h.lease.Token:
			h.renew(requested, duration)
		case has: // it was lost, and is ours again: the work on it begins once the old one has ended
			h.lose()
		default:
			h.stop()
		}
	}
	for _, l := range leases {
		if r.work[l.Partition] == nil {
			h := r.newLeaseWork(l)
			h.renew(requested, duration)
			r.work[l.Partition] = h
			r.wait.Go(h.run)
		}
	}
}

// errLeaseLost says that the lease is another member's by now.
var errLeaseLost = fmt.Errorf("%w: the lease ended before it was renewed", LeaseLost)
