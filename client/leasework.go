package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// leaseWork is the work on one lease.
type leaseWork struct {
	*consuming
	lease    wire.Lease
	reading  context.Context // ends when no more batches are to be read
	stop     func()          // ends reading
	handling context.Context // ends when the lease is lost
	lose     func()          // ends it
	expiry   *time.Timer
	done     chan struct{}
	position string // up to which everything was acknowledged
}

// newLeaseWork returns the work on a lease, to be started with run.
func (r *consuming) newLeaseWork(l wire.Lease) *leaseWork {
	h := &leaseWork{consuming: r, lease: l, done: make(chan struct{}), position: l.Checkpoint}
	var cancel context.CancelCauseFunc
	h.handling, cancel = context.WithCancelCause(r.handling)
	h.lose = func() { cancel(errLeaseLost) }
	h.reading, h.stop = context.WithCancel(h.handling)
	h.expiry = time.AfterFunc(time.Hour, h.lose)
	return h
}

// renew records that the lease lasts for some time from when it was asked for. It may have been written up to a quarter of that
// earlier.
func (h *leaseWork) renew(requested time.Time, duration time.Duration) {
	h.expiry.Reset(time.Until(requested.Add(duration * 3 / 4)))
}

// run handles batches until it is told to stop, or the lease is lost.
func (h *leaseWork) run() {
	defer close(h.done)
	defer h.lose()
	defer h.stop()
	defer h.expiry.Stop()
	for pause := newBackOff(); h.reading.Err() == nil; {
		err := h.next()
		switch {
		case err == nil:
			pause.reset()
			continue
		case errors.Is(err, LeaseLost) || h.handling.Err() != nil:
			return
		case final(err):
			h.end(&failedForGood{fmt.Errorf("partition %d: %w", h.lease.Partition, err)})
			return
		case h.reading.Err() == nil:
			h.opt.Failed(fmt.Errorf("partition %d: %w", h.lease.Partition, err))
			sleep(h.reading, pause.next(0))
		}
	}
	err := h.c.sendAlone(h.handling, http.MethodPost, h.path("_release"), wire.ReleaseBody{Partition: &h.lease.Partition, Token: h.lease.Token})
	if err != nil {
		h.opt.Failed(fmt.Errorf("partition %d: %w", h.lease.Partition, err)) // the lease ends by itself
	}
}

// next reads a batch, calls the handler, and tells the server what became of it. It blocks until there is something, or for
// readFor. It returns the errors of reading and of settle; settle sends the handler's error to the server.
func (h *leaseWork) next() error {
	b, err := h.read()
	if err != nil {
		return err
	}
	if len(b.Changes) == 0 {
		if b.Position == h.position {
			return nil
		}
		return h.settle("_ack", b, nil) // what the group asks for seldom changes
	}
	select {
	case h.slots <- struct{}{}:
	case <-h.reading.Done():
		return nil // nobody has seen the batch
	}
	failed := h.opt.Handler(h.handling, b)
	<-h.slots
	switch {
	case failed == nil:
		return h.settle("_ack", b, nil)
	case h.handling.Err() != nil:
		return context.Cause(h.handling) // it may have failed because of that: the batch comes again, to whoever holds the partition
	}
	h.opt.Failed(fmt.Errorf("partition %d: the batch up to %s: %w", h.lease.Partition, b.Position, failed))
	return h.settle("_nack", b, failed)
}

// Bounds of settle.
const (
	maxSettleTime = 10 * time.Second // how long it is tried
	maxErrorText  = 2000             // bytes of an error
)

// settle acknowledges a batch, or reports that the handler failed.
func (h *leaseWork) settle(route string, b *Batch, failed error) error {
	body := wire.NackBody{Partition: &b.Partition, Token: b.Token, Position: b.Position} // without an error it is a wire.AckBody
	if failed != nil {
		text := failed.Error()
		body.Error = text[:min(len(text), maxErrorText)]
	}
	// A handler that has done its work is acknowledged also where its time is over: whether the lease is lost, the server knows.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.handling), maxSettleTime)
	defer cancel()
	err := h.c.sendAlone(ctx, http.MethodPost, h.path(route), body)
	if err == nil && failed == nil {
		h.position = b.Position
	}
	return err
}

// Bounds of reading.
const (
	readFor    = 20 * time.Second // how long a request waits for a change
	silentFor  = 30 * time.Second // how long an answer may be overdue, or stand still
	maxInBatch = 10_000           // changes, from which on a batch ends within an event
	maxOfBatch = 64 << 20         // bytes, likewise
)

// read waits for changes and returns them; there are none where the time is over.
func (h *leaseWork) read() (*Batch, error) {
	b := &Batch{Partition: h.lease.Partition, Token: h.lease.Token, Position: h.position}
	size := 0
	f := &follower{c: h.c, path: h.path("_changes"), since: h.position, pause: newBackOff()}
	f.yield = func(change Change, _ error) bool {
		b.Changes = append(b.Changes, change)
		b.Position = change.Seq
		size += len(change.Raw)
		return len(b.Changes) < maxInBatch && size < maxOfBatch
	}
	r := newRequest(http.MethodGet, f.path)
	r.query = url.Values{"partition": {strconv.Itoa(b.Partition)}, "token": {b.Token}, "feed": {"longpoll"},
		"limit": {strconv.Itoa(h.opt.BatchSize)}, "timeout": {strconv.FormatInt(readFor.Milliseconds(), 10)}}
	if h.opt.IncludeDocs {
		r.query.Set("include_docs", "true")
	}
	ctx, cancel := context.WithCancel(h.reading)
	defer cancel()
	watch := time.AfterFunc(readFor+silentFor, cancel)
	defer watch.Stop()
	resp, failure := h.c.open(ctx, r, nil)
	if failure != nil {
		return nil, failure
	}
	defer resp.Body.Close()
	switch err := f.readAnswer(&watchedReader{r: resp.Body, alive: func() { watch.Reset(silentFor) }, pause: func() { watch.Stop() }}); {
	case errors.Is(err, errStop) && size < maxOfBatch && len(b.Changes) < maxInBatch: // the answer's end
		b.Position = f.since
	case err != nil && !errors.Is(err, errStop) && len(b.Changes) == 0:
		return nil, err
	}
	return b, nil
}
