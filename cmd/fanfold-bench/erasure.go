package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
	"github.com/fanfold/fanfold/node"
)

// Erasures that are measured.
const (
	eraseMany    = 1000
	eraseMessage = 10 * time.Millisecond // that a message may take besides a replay
)

// eraseBooks erases books from one on, and returns how long that took until nothing of them was left, and how many events that were.
func eraseBooks(ctx context.Context, n *node.Node, from, count int) (took time.Duration, erased int64, err error) {
	var asked fanfold.EraseRequest
	for i := from; i < from+count; i++ {
		asked.Documents = append(asked.Documents, fanfold.Key{Collection: "books", ID: strconv.Itoa(i)})
	}
	began := time.Now()
	state, err := n.Forget.Eraser.Erase(ctx, asked, "")
	if err == nil {
		err = await(ctx, func() (over bool, err error) {
			if state.Phase != "done" {
				state, err = n.Forget.Eraser.Erasure(ctx, state.Number)
			}
			return err == nil && state.Phase == "done", err
		})
	}
	if err != nil {
		return 0, 0, err
	}
	return time.Since(began), state.Events, nil
}

// benchErase measures erasures beside a replay of the same events, and requests beside them. Book 0 stays.
func benchErase(ctx context.Context, dir string, documents int) (results []bench.Result, err error) {
	err = runReplayed(ctx, dir, documents, func(ctx context.Context, n *node.Node, last uint64, replay float64) error {
		for _, erased := range []struct{ from, count int }{{1, 1}, {documents - eraseMany, eraseMany}} {
			took, gone, err := eraseBooks(ctx, n, erased.from, erased.count)
			if err != nil {
				return err
			}
			limit := replay + float64(gone)*eraseMessage.Seconds()
			results = append(results, bench.One(fmt.Sprintf("erasure of %d of %d events", gone, last), "ms", took.Seconds()*1000, limit*1000,
				fmt.Sprintf("limit: a replay of all events (%.1f s), and %v an event", replay, eraseMessage), fmt.Sprintf("%d documents", erased.count)))
		}
		beside, err := besideErasure(ctx, n)
		results = append(results, beside)
		return err
	})
	return results, err
}

// besideErasure measures PUTs beside erasures, one document each, and counts GETs that are refused.
func besideErasure(ctx context.Context, n *node.Node) (bench.Result, error) {
	var next atomic.Int64
	next.Store(1)
	return putsBeside(ctx, n, "p99 of PUT beside an erasure", "an erasure of a document", func(ctx context.Context) error {
		_, _, err := eraseBooks(ctx, n, int(next.Add(1)), 1)
		return err
	})
}

// getCount counts GETs of a document, and those that are refused.
type getCount struct{ sent, refused atomic.Int64 }

// run sends one GET after the other until ctx ends.
func (g *getCount) run(ctx context.Context, n *node.Node) {
	for ctx.Err() == nil {
		resp, err := http.Get(n.URL() + "/v1/books/0") //nolint:noctx // it is short
		if g.sent.Add(1); err != nil || resp.StatusCode != http.StatusOK {
			g.refused.Add(1)
		}
		if err == nil {
			_ = resp.Body.Close() // nothing is lost by it
		}
	}
}

// note says how many were refused.
func (g *getCount) note() string {
	return fmt.Sprintf("%d of %d GETs beside it were refused", g.refused.Load(), g.sent.Load())
}
