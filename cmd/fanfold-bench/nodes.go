package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
)

// nodesWanted says on which nodes a benchmark runs that starts them as processes of their own.
type nodesWanted struct {
	nats  string // URL of the servers that keep their log; "" for the first node's
	count int
	steps int // of bystanders

	replicas int // of the log on these servers
}

// maxBenchNodes is how many nodes a benchmark starts at most.
const maxBenchNodes = 16

// check returns Invalid where the flags are out of range.
func (w nodesWanted) check() error {
	if w.count < 1 || w.count > maxBenchNodes {
		return fanfold.Errorf(fanfold.Invalid, "--nodes is a number from 1 to %d, not %d", maxBenchNodes, w.count)
	}
	if w.count > 1 && w.nats == "" {
		return fanfold.Errorf(fanfold.Invalid, "several nodes need --nats, a server for their log: that of a node alone takes the writes of nobody else")
	}
	if w.steps < 1 || w.steps > benchAuthors/2 {
		return fanfold.Errorf(fanfold.Invalid, "--steps is a number from 1 to %d, not %d", benchAuthors/2, w.steps)
	}
	return nil
}

// run starts the nodes in dir, fills their log from a store, calls fn once they have folded it, and stops them. A log on servers of its own
// must be empty, and what it was filled with is left there.
func (w nodesWanted) run(ctx context.Context, dir string, s benchStore, fn func(n *nodes) error) (err error) {
	if err := w.check(); err != nil {
		return err
	}
	n, err := startNodes(ctx, dir, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.stop()) }()
	if err := n.caughtUp(ctx); err != nil {
		return err
	}
	err = withClient(n.servers[0].url(), func(c *client.Client) error {
		status, err := c.Status(ctx)
		if err == nil && status.Model != 0 {
			err = fanfold.Errorf(fanfold.Invalid, "the log on %s is not empty: a benchmark fills it, and needs servers of its own", w.nats)
		}
		if err != nil {
			return err
		}
		return s.load(ctx, c)
	})
	if err == nil {
		err = n.caughtUp(ctx)
	}
	if err != nil {
		return err
	}
	return fn(n)
}

// benchNodes measures reads and writes of one node, of two, and so on.
func benchNodes(ctx context.Context, b *bench) error {
	s := benchStore{model: benchModel, authors: benchAuthors, books: 20_000 / b.scale}
	return b.nodes.run(ctx, b.dir, s, func(n *nodes) error {
		err := n.spread(ctx, b, "GET from", "requests/s", func(string) request { return books(s.books) })
		if err != nil {
			return err
		}
		return n.spread(ctx, b, "PUT to", "writes/s", puts)
	})
}

// nodesConns is how many connections read or write, over all nodes together.
const nodesConns = 64

// spread measures requests to the first nodes, 1 up to all, which have them between them. The limit is what one node
// answers. All nodes run all the time: those without requests follow. They share the processors with the client and, where it is here, the log.
func (n *nodes) spread(ctx context.Context, b *bench, name, unit string, requests func(round string) request) error {
	var one float64
	for use := range len(n.servers) + 1 {
		first := n.servers[:max(1, use)] // the first round is a warm-up
		before, began := n.cpu(), time.Now()
		rate, p99, err := shared(first, func(i int, addr string) (float64, []float64, error) {
			return send(ctx, addr, nodesConns/len(first), requests(fmt.Sprintf("p%d-%d", use, i)))
		})
		count := rate * time.Since(began).Seconds()
		if err = errors.Join(err, n.caughtUp(ctx)); err != nil {
			return err
		}
		if use == 0 {
			continue
		}
		if use == 1 {
			one = rate
		}
		all, each := time.Duration(0), ""
		for i, after := range n.cpu() {
			all += after - before[i]
			each += fmt.Sprintf(" %.0f µs", (after-before[i]).Seconds()*1e6/count)
		}
		b.one(fmt.Sprintf("%s %d nodes, %d connections", name, use, nodesConns), unit, rate, one, fmt.Sprintf("limit: one node; all on %d processors; p99 %.1f ms. CPU of each: %.0f µs; of the nodes in turn:%s",
			runtime.NumCPU(), p99, all.Seconds()*1e6/count, each))
	}
	return nil
}

// shared calls fn for each of the servers, all at a time, and returns the sum of the rates and the
// greatest of the 99th percentiles of latencies.
func shared(servers []*server, fn func(i int, addr string) (rate float64, lats []float64, err error)) (rate, p99 float64, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() {
			r, lats, failed := fn(i, s.addr)
			mu.Lock()
			defer mu.Unlock()
			rate, p99, err = rate+r, max(p99, percentile(lats, 99)), errors.Join(err, failed)
		})
	}
	wg.Wait()
	return rate, p99, err
}
