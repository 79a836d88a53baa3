package main

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/node"
)

// benchFeedLatency measures the feed's latency at a rate of writes, 0 for one by one. The limit's messages go to a log of
// their own.
func benchFeedLatency(rate int) func(ctx context.Context, dir string, scale int) (bench.Result, error) {
	return func(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
		err = withRawLog(ctx, filepath.Join(dir, "raw"), func(raw bench.RawLog) error {
			s := benchStore{model: benchModel, authors: benchAuthors, books: 10_000 / scale}
			return s.run(ctx, filepath.Join(dir, "ours"), func(ctx context.Context, n *node.Node, _ *client.Client) (err error) {
				r, err = bench.FeedLatency(ctx, n.Addr(), raw, rate)
				return err
			})
		})
		return r, err
	}
}

// withRawLog calls fn with a log of its own in dir, which is not synced.
func withRawLog(ctx context.Context, dir string, fn func(raw bench.RawLog) error) error {
	return withLog(ctx, dir, func(nc *nats.Conn, _ *events.Log) error {
		return fn(bench.RawLog{Conn: nc, Dir: dir, Subject: "fanfold.fanfold.doc.raw"})
	})
}

// benchFeedMany measures many subscribers of a server of its own.
func benchFeedMany(ctx context.Context, dir string, scale int) (bench.Result, error) {
	s := benchStore{model: benchModel, authors: benchAuthors, books: 10_000 / scale}
	return s.leave(ctx, dir, func() (bench.Result, error) { return bench.FeedMany(ctx, dir, scale) })
}

// benchFeedReads measures reads beside consumers that begin anew, of a server of its own.
func benchFeedReads(ctx context.Context, dir string, scale int) (bench.Result, error) {
	s := benchStore{model: benchModel, authors: benchAuthors, books: 100_000 / scale}
	return s.leave(ctx, dir, func() (bench.Result, error) { return bench.FeedReads(ctx, dir, scale, s.books) })
}

// feedCopies is how many copies the largest rename on the feed has, unless --documents asks for more.
const feedCopies = 100_000

// benchFeedMore measures the rename that --documents asks for, where it is larger than the others.
func benchFeedMore(ctx context.Context, dir string, q benchRequest) ([]bench.Result, error) {
	if q.documents <= feedCopies {
		return nil, nil
	}
	return scaled(benchFeedRename(q.documents))(ctx, dir, q)
}

// benchFeedRename measures a rename of a publisher until a subscriber has the row of every copy.
func benchFeedRename(copies int) func(ctx context.Context, dir string, scale int) (bench.Result, error) {
	return func(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
		same := func(int) int { return 0 }
		s := benchStore{model: publisherModel, authors: benchAuthors, books: max(copies/scale, 1), secondAuthor: same, publisher: same}
		err = s.run(ctx, dir, func(ctx context.Context, n *node.Node, c *client.Client) (err error) {
			publishers := client.Collection[json.RawMessage](c, "publishers")
			r, err = bench.FeedRename(ctx, n.Addr(), s.books, func(name string) error {
				_, err := publishers.Patch(ctx, "0", json.RawMessage(`{"name":"`+name+`"}`), patient)
				return err
			})
			return err
		})
		return r, err
	}
}
