package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kills measures how long a node takes from its start after a kill until it is ready.
type Kills struct {
	Dir       string // of the node
	Documents int
	Rounds    int // how often it is killed
	Load      func(ctx context.Context, url string) error
}

// killsGoal is within what time a node is to be ready.
const killsGoal = 2 * time.Second

// killsWriters is how many clients write when the node is killed.
const killsWriters = 8

// Run measures. The limit is the goal. It returns why the documents cannot be loaded, or the node cannot start.
func (k Kills) Run(ctx context.Context) (Result, error) {
	s, err := startServer(ctx, k.Dir)
	if err != nil {
		return Result{}, err
	}
	if err := k.Load(ctx, "http://"+s.addr); err != nil {
		return Result{}, errors.Join(err, s.stop())
	}
	var took, cpu []float64
	within := 0
	for range k.Rounds {
		s.killWriting(ctx)
		began := time.Now()
		if s, err = startServer(ctx, k.Dir); err != nil {
			return Result{}, err
		}
		if err := s.awaitReady(ctx); err != nil {
			return Result{}, errors.Join(err, s.stop())
		}
		ready := time.Since(began)
		if ready <= killsGoal {
			within++
		}
		took, cpu = append(took, ready.Seconds()*1000), append(cpu, s.cpu().Seconds()*1000)
	}
	slices.Sort(took)
	slices.Sort(cpu)
	goal := killsGoal.Seconds() * 1000
	p99 := percentile(took, 99)
	return One(fmt.Sprintf("ready after a kill, %d documents, p99", k.Documents), "ms", p99, goal, "limit: the goal",
		fmt.Sprintf("%d of %d starts within %v; p50 %.0f ms, longest %.0f ms; processor time until then: p50 %.0f ms", within, k.Rounds, killsGoal,
			percentile(took, 50), took[len(took)-1], percentile(cpu, 50))), s.stop()
}

// killWriting kills the server while clients write, and waits for its end.
func (s *server) killWriting(ctx context.Context) {
	var writing sync.WaitGroup
	for i := range killsWriters {
		writing.Go(func() {
			for n := 0; ; n++ {
				if err := s.put(ctx, fmt.Sprintf("/v1/books/killed-%d-%d", i, n%10), fmt.Sprintf(`{"n":%d}`, n)); err != nil {
					return
				}
				if i == 0 && n == 20 {
					_ = s.cmd.Process.Kill()
				}
			}
		})
	}
	writing.Wait()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// put sends a document. It returns an error if the server does not answer.
func (s *server) put(ctx context.Context, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	_, _, err = answer(http.DefaultClient, req)
	return err
}

// awaitReady returns once the server is ready. The error is ctx's, or says that the server does not answer.
func (s *server) awaitReady(ctx context.Context) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/readyz", nil)
		if err != nil {
			return err
		}
		if status, _, err := answer(http.DefaultClient, req); err != nil || status == http.StatusOK {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
