package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/client"
)

const (
	killRounds   = 100             // how often kills kills a node
	killsGoal    = 2 * time.Second // within which a node is to be ready
	killsWriters = 8               // clients that write when the node is killed
)

// benchKills measures how long a node with documents takes from its start after a kill until it is ready. The limit is the goal.
func benchKills(ctx context.Context, b *bench) error {
	store := benchStore{model: benchModel, authors: benchAuthors, books: max(0, b.documents-benchAuthors)}
	s, err := startServer(ctx, b.dir)
	if err != nil {
		return err
	}
	if err := withClient(s.url(), func(c *client.Client) error { return store.load(ctx, c) }); err != nil {
		return errors.Join(err, s.stop())
	}
	var took, cpu []float64
	within, rounds := 0, killRounds/b.scale
	for range rounds {
		s.killWriting(ctx)
		began := time.Now()
		if s, err = startServer(ctx, b.dir); err != nil {
			return err
		}
		if err := s.awaitReady(ctx); err != nil {
			return errors.Join(err, s.stop())
		}
		ready := time.Since(began)
		if ready <= killsGoal {
			within++
		}
		took, cpu = append(took, ready.Seconds()*1000), append(cpu, s.cpu().Seconds()*1000)
	}
	slices.Sort(took)
	b.one(fmt.Sprintf("ready after a kill, %d documents, p99", b.documents), "ms", percentile(took, 99), killsGoal.Seconds()*1000, "limit: the goal",
		fmt.Sprintf("%d of %d starts within %v; p50 %.0f ms, longest %.0f ms; processor time until then: p50 %.0f ms", within, rounds, killsGoal,
			percentile(took, 50), took[len(took)-1], median(cpu)))
	return s.stop()
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
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, s.url()+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	_, _, err = answer(http.DefaultClient, req)
	return err
}

// awaitReady returns once the server is ready. The error is ctx's, or says that the server does not answer.
func (s *server) awaitReady(ctx context.Context) error {
	return await(ctx, func() (bool, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url()+"/readyz", nil)
		if err != nil {
			return false, err
		}
		status, _, err := answer(http.DefaultClient, req)
		return status == http.StatusOK, err
	})
}

// await calls over again and again until it says so, or fails.
func await(ctx context.Context, over func() (bool, error)) error {
	for {
		if ok, err := over(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
