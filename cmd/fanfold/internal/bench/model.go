package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Model measures a model that is applied to a full store while clients write: the writes of four
// clients, each waiting for its fold, beside those of the same clients before. write stores one
// document of client's; apply returns once the model applies, with how many documents it changed and
// for how many seconds nothing was folded.
func Model(ctx context.Context, write func(ctx context.Context, client, n int) error, apply func(ctx context.Context) (documents int64, seconds float64, err error)) (r Result, err error) {
	const clients, idle = 4, 5 * time.Second
	n := 0
	run := func(until func() error) (lats []float64, took time.Duration, err error) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		var mu sync.Mutex
		var wg sync.WaitGroup
		var failed error
		began := time.Now()
		n += 1 << 20
		for c := range clients {
			wg.Go(func() {
				for i := n; ctx.Err() == nil; i++ {
					start := time.Now()
					err := write(context.WithoutCancel(ctx), c, i)
					mu.Lock()
					lats = append(lats, time.Since(start).Seconds())
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
		took = time.Since(began)
		stop()
		wg.Wait()
		if err == nil {
			err = failed
		}
		slices.Sort(lats)
		return lats, took, err
	}
	before, idled, err := run(func() error { time.Sleep(idle); return nil })
	if err != nil {
		return r, err
	}
	var documents int64
	var seconds float64
	during, took, err := run(func() (err error) { documents, seconds, err = apply(ctx); return err })
	if err != nil {
		return r, err
	}
	r = result(fmt.Sprintf("writes while a model changes %d", documents), "writes/s", []float64{float64(len(during)) / took.Seconds()}, []float64{float64(len(before)) / idled.Seconds()})
	last := func(lats []float64) float64 { return lats[len(lats)-1] }
	r.Notes = append(r.Notes, fmt.Sprintf("limit: the same %d clients before; the model took %.1f s, of which nothing was folded for %.2f s", clients, took.Seconds(), seconds),
		fmt.Sprintf("a write waited %.1f ms in the median, %.1f ms in 99 of 100, %.2f s at most (before: %.1f, %.1f, %.2f)", 1000*percentile(during, 50), 1000*percentile(during, 99), last(during),
			1000*percentile(before, 50), 1000*percentile(before, 99), last(before)))
	return r, nil
}
