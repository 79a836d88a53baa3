package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"
)

// nodesConns is how many connections read or write, over all nodes together.
const nodesConns = 64

// Reads measures reads of books from the first nodes, 1 up to all, which have them between them. The limit is what one node
// answers. All nodes run all the time, and share the processors with the client and, where it is here, the log.
func (n *Nodes) Reads(ctx context.Context, books int) (results []Result, err error) {
	var one float64
	for use := range len(n.servers) + 1 {
		readers := max(1, use) // the first round is a warm-up
		before := n.cpu()
		began := time.Now()
		rate, p99, err := n.shared(readers, func(addr string) (float64, float64, error) {
			rate, lats, err := Send(ctx, addr, nodesConns/readers, Books(books))
			return rate, percentile(lats, 99), err
		})
		if err != nil || use == 0 {
			if err != nil {
				return nil, err
			}
			continue
		}
		cpu := time.Duration(0)
		for i, after := range n.cpu()[:use] {
			cpu += after - before[i]
		}
		if use == 1 {
			one = rate
		}
		took := time.Since(began).Seconds()
		results = append(results, One(fmt.Sprintf("GET from %d nodes, %d connections", use, nodesConns), "requests/s", rate, one, fmt.Sprintf("limit: one node; all on %d processors. CPU of a node for a read: %.0f µs; p99 %.1f ms", runtime.NumCPU(), cpu.Seconds()*1e6/(rate*took), p99)))
	}
	return results, nil
}

// Writes measures durable writes of new books to the first nodes, 1 up to all, each waiting for its fold on the node that
// took it. The limit is what one node takes. The nodes that take none follow.
func (n *Nodes) Writes(ctx context.Context) (results []Result, err error) {
	var one float64
	for use := range len(n.servers) + 1 {
		writers := max(1, use)
		before := n.cpu()
		began := time.Now()
		var mu sync.Mutex
		round := use * 1000
		rate, p99, err := n.shared(writers, func(addr string) (float64, float64, error) {
			mu.Lock()
			round++
			mine := round
			mu.Unlock()
			rate, lats, err := Send(ctx, addr, nodesConns/writers, Puts(fmt.Sprint("p", mine)))
			return rate, percentile(lats, 99), err
		})
		took := time.Since(began).Seconds()
		if err = errors.Join(err, n.CaughtUp(ctx)); err != nil {
			return nil, err
		}
		if use == 0 {
			continue
		}
		if use == 1 {
			one = rate
		}
		note := fmt.Sprintf("limit: one node; p99 %.1f ms. CPU for a write, of the nodes in turn:", p99)
		for i, after := range n.cpu() {
			note += fmt.Sprintf(" %.0f µs", (after-before[i]).Seconds()*1e6/(rate*took))
		}
		results = append(results, One(fmt.Sprintf("PUT to %d nodes, %d connections", use, nodesConns), "writes/s", rate, one, note))
	}
	return results, nil
}

// shared calls fn with the address of each of the first nodes, all at a time, and returns the sum of the rates and the
// greatest of the percentiles.
func (n *Nodes) shared(first int, fn func(addr string) (rate, p99 float64, err error)) (rate, p99 float64, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, s := range n.servers[:first] {
		wg.Go(func() {
			r, p, failed := fn(s.addr)
			mu.Lock()
			defer mu.Unlock()
			rate, p99, err = rate+r, max(p99, p), errors.Join(err, failed)
		})
	}
	wg.Wait()
	return rate, p99, err
}

// CaughtUp returns once every node shows everything acknowledged before.
func (n *Nodes) CaughtUp(ctx context.Context) error {
	web := &http.Client{Transport: &http.Transport{}}
	defer web.CloseIdleConnections()
	for i := 0; i < len(n.servers); {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.URL(i)+"/v1/books/0?consistency=strong", http.NoBody)
		if err != nil {
			return err
		}
		req.Header.Set("Fanfold-Timeout", "60")
		status, _, err := answer(web, req, http.StatusOK, http.StatusNotFound, http.StatusGatewayTimeout)
		if err != nil {
			return err
		}
		if status != http.StatusGatewayTimeout { // else it is asked again
			i++
		}
	}
	return nil
}
