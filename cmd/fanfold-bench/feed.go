package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/node"
)

// benchFeedLatency measures the feed's latency at a rate of writes, 0 for one by one. The limit's messages go to a log of
// their own.
func benchFeedLatency(rate int) func(ctx context.Context, dir string, scale int) (bench.Result, error) {
	return func(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
		err = withRawLog(ctx, filepath.Join(dir, "raw"), func(raw bench.RawLog) error {
			s := benchStore{model: benchModel, authors: benchAuthors, books: 10_000 / scale}
			return s.run(ctx, filepath.Join(dir, "ours"), func(ctx context.Context, n *node.Node) (err error) {
				r, err = bench.FeedLatency(ctx, n.Addr(), raw, rate)
				return err
			})
		})
		return r, err
	}
}

// withRawLog calls fn with a log of its own in dir, which is not synced.
func withRawLog(ctx context.Context, dir string, fn func(raw bench.RawLog) error) (err error) {
	logger := slog.New(slog.DiscardHandler)
	server, err := embedded.Start(ctx, embedded.Options{Dir: dir, Durability: embedded.Interval, Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	nc, err := server.Connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	if _, err := events.Open(ctx, nc, events.Options{Logger: logger}); err != nil {
		return err
	}
	return fn(bench.RawLog{Conn: nc, Dir: dir, Subject: "fanfold.fanfold.doc.raw"})
}

// benchFeedMany measures many subscribers of a server of its own.
func benchFeedMany(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
	s := benchStore{model: benchModel, authors: benchAuthors, books: 10_000 / scale}
	if err := s.run(ctx, dir, func(context.Context, *node.Node) error { return nil }); err != nil {
		return r, err
	}
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	return bench.FeedMany(ctx, self, dir, scale)
}

// benchFeedReads measures reads beside consumers that begin anew, of a server of its own.
func benchFeedReads(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
	s := benchStore{model: benchModel, authors: benchAuthors, books: 100_000 / scale}
	if err := s.run(ctx, dir, func(context.Context, *node.Node) error { return nil }); err != nil {
		return r, err
	}
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	return bench.FeedReads(ctx, self, dir, scale, s.books)
}

// benchFeedRename measures a rename of a publisher until a subscriber has the row of every copy.
func benchFeedRename(copies int) func(ctx context.Context, dir string, scale int) (bench.Result, error) {
	return func(ctx context.Context, dir string, scale int) (r bench.Result, err error) {
		same := func(int) int { return 0 }
		s := benchStore{model: publisherModel, authors: benchAuthors, books: max(copies/scale, 1), secondAuthor: same, publisher: same}
		err = s.run(ctx, dir, func(ctx context.Context, n *node.Node) (err error) {
			c, err := connect(n.URL())
			if err != nil {
				return err
			}
			defer c.Close()
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
