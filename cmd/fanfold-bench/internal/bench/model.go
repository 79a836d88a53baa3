package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	modelClients = 4               // that write while a model is applied
	quietTime    = 5 * time.Second // for which they write before
)

// Model measures a model that is applied to a full store while four clients write, each waiting for its fold, beside
// the writes of the same clients before. write stores document n of a client's; apply returns once the model applies,
// with how many documents it changed and for how many seconds nothing was folded. The errors are theirs.
func Model(ctx context.Context, write func(ctx context.Context, client, n int) error,
	apply func(ctx context.Context) (documents int64, seconds float64, err error)) (r Result, err error) {
	before, err := writeUntil(ctx, write, 1<<20, func() error { time.Sleep(quietTime); return nil })
	if err != nil {
		return r, err
	}
	var documents int64
	var seconds float64
	during, err := writeUntil(ctx, write, 2<<20, func() (err error) { documents, seconds, err = apply(ctx); return err })
	if err != nil {
		return r, err
	}
	r = result(fmt.Sprintf("writes while a model changes %d", documents), "writes/s",
		[]float64{during.rate()}, []float64{before.rate()})
	r.Notes = append(r.Notes,
		fmt.Sprintf("limit: the same %d clients before; the model took %.1f s, of which nothing was folded for %.2f s",
			modelClients, during.took.Seconds(), seconds),
		fmt.Sprintf("a write waited %.1f ms in the median, %.1f ms in 99 of 100, %.2f s at most (before: %.1f, %.1f, %.2f)",
			during.millis(50), during.millis(99), during.longest(), before.millis(50), before.millis(99), before.longest()))
	return r, nil
}

// writePhase is what clients wrote in some time.
type writePhase struct {
	latencies []float64 // of each write in seconds, sorted
	took      time.Duration
}

// rate returns writes a second.
func (p writePhase) rate() float64 { return float64(len(p.latencies)) / p.took.Seconds() }

// millis returns a percentile of the latencies in ms.
func (p writePhase) millis(percent int) float64 { return 1000 * percentile(p.latencies, percent) }

// longest returns the greatest latency in seconds.
func (p writePhase) longest() float64 { return p.latencies[len(p.latencies)-1] }

// writeUntil lets the clients write, each one document after the other from number first on, until until returns. The
// error is until's, or else the first of a write, which ends its client.
func writeUntil(ctx context.Context, write func(ctx context.Context, client, n int) error, first int,
	until func() error) (p writePhase, err error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	began := time.Now()
	for c := range modelClients {
		wg.Go(func() {
			for n := first; running.Err() == nil; n++ {
				start := time.Now()
				err := write(context.WithoutCancel(ctx), c, n)
				mu.Lock()
				p.latencies = append(p.latencies, time.Since(start).Seconds())
				if err != nil && failed == nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	err = until()
	p.took = time.Since(began)
	stop()
	wg.Wait()
	if err == nil {
		err = failed
	}
	slices.Sort(p.latencies)
	return p, err
}
