package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/cmd/fanfold-bench/internal/bench"
	"github.com/fanfold/fanfold/node"
)

// retentionVersions is how often each document of the second part is written.
const retentionVersions = 5

// suffixShare says which share of the events comes after the horizon where a new node begins with the base.
const suffixShare = 10

// purgeSoon lets a node purge its log at once after a compaction.
func purgeSoon(cfg *node.Config) { cfg.PurgeWait = time.Nanosecond }

// compactTo compacts the store to an event, and returns how long that took until the store begins there. It waits for the purge besides.
func compactTo(ctx context.Context, n *node.Node, seq uint64) (time.Duration, error) {
	began := time.Now()
	if _, err := n.Forget.Compactor.Compact(ctx, fanfold.Moment{Position: fanfold.At(seq, 0)}, false, ""); err != nil {
		return 0, err
	}
	took := time.Duration(0)
	err := await(ctx, func() (bool, error) {
		state := n.Forget.Compactor.Compaction()
		switch {
		case state == nil:
			return false, errors.New("no compaction runs")
		case state.Error != "":
			return false, errors.New(state.Error)
		case !state.Running && took == 0:
			took = time.Since(began)
		}
		return state.Phase == "done" && !state.Running, nil
	})
	return took, err
}

// compactedDisk compacts a store to its last event, and returns its bytes before and after with a note of both.
func compactedDisk(ctx context.Context, n *node.Node, dir string) (before, after int64, note string, err error) {
	logBefore, rowsBefore, err := bench.StoreDisk(dir)
	if err != nil {
		return 0, 0, "", err
	}
	last, err := n.Log.LastSeq(ctx)
	if err != nil {
		return 0, 0, "", err
	}
	took, err := compactTo(ctx, n, last)
	if err != nil {
		return 0, 0, "", err
	}
	logAfter, rowsAfter, err := bench.StoreDisk(dir)
	note = fmt.Sprintf("log and base %d kB, before %d kB; read model %d kB, before %d kB; %d events, %.1f s", logAfter/1000, logBefore/1000, rowsAfter/1000, rowsBefore/1000, last, took.Seconds())
	return logBefore + rowsBefore, logAfter + rowsAfter, note, err
}

// benchUpdatesOfOne measures the disk of a store in which one document was written again and again.
func benchUpdatesOfOne(ctx context.Context, dir string, documents int) (results []bench.Result, err error) {
	same := func(i int) string { return fmt.Sprintf(`{"id":"0","version":%d,"summary":"%0300d"}`, i, i) }
	s := benchStore{model: `{"collections":{"books":{}}}`, authors: 1, books: documents, text: same, oneBook: true}
	err = s.runWith(ctx, dir, purgeSoon, func(ctx context.Context, n *node.Node, _ *client.Client) error {
		before, after, note, err := compactedDisk(ctx, n, dir)
		results = append(results, bench.One(fmt.Sprintf("disk after %d updates of a document", documents), "bytes", float64(after), float64(before), "limit: before the compaction", note))
		return err
	})
	return results, err
}

// benchVersions measures the disk of a store whose documents have several versions, beside one that has the last ones alone.
func benchVersions(ctx context.Context, dir string, documents int) (results []bench.Result, err error) {
	book := func(version int) func(i int) string { return func(i int) string { return historyBook(i, version) } }
	s := benchStore{model: historyModel, authors: 1000, books: documents, text: book(retentionVersions)}
	ours, alone := filepath.Join(dir, "versions"), filepath.Join(dir, "last")
	var plain int64
	err = s.runWith(ctx, alone, purgeSoon, func(context.Context, *node.Node, *client.Client) error {
		log, rows, err := bench.StoreDisk(alone)
		plain = log + rows
		return err
	})
	if err != nil {
		return nil, err
	}
	s.text = book(1)
	err = s.runWith(ctx, ours, purgeSoon, func(ctx context.Context, n *node.Node, c *client.Client) error {
		for version := 2; version <= retentionVersions; version++ {
			if err := writeAgain(ctx, c, documents, book(version)); err != nil {
				return err
			}
		}
		_, after, note, err := compactedDisk(ctx, n, ours)
		results = append(results, bench.One(fmt.Sprintf("disk of %d documents after %d versions", documents, retentionVersions), "bytes", float64(after), float64(plain), "limit: a store that has the last versions alone", note))
		return err
	})
	return results, err
}

// runReplayed runs fn on a node over books in one version each. fn has the log's last event and the seconds of a replay up to it.
func runReplayed(ctx context.Context, dir string, documents int, fn func(ctx context.Context, n *node.Node, last uint64, replay float64) error) error {
	s := benchStore{model: historyModel, authors: 1000, books: documents, text: func(i int) string { return historyBook(i, 1) }}
	return s.runWith(ctx, dir, purgeSoon, func(ctx context.Context, n *node.Node, _ *client.Client) error {
		last, err := n.Log.LastSeq(ctx)
		if err != nil {
			return err
		}
		replay, err := replaySeconds(ctx, n)
		if err != nil {
			return err
		}
		return fn(ctx, n, last, replay)
	})
}

// benchCompact measures a compaction beside a replay of the same events, requests beside it, and a replay from its base.
func benchCompact(ctx context.Context, dir string, documents int) (results []bench.Result, err error) {
	err = runReplayed(ctx, dir, documents, func(ctx context.Context, n *node.Node, last uint64, full float64) error {
		took, err := compactTo(ctx, n, last-last/suffixShare)
		if err != nil {
			return err
		}
		short, err := replaySeconds(ctx, n)
		if err != nil {
			return err
		}
		beside, err := besideCompact(ctx, n)
		results = append(results,
			bench.One(fmt.Sprintf("compaction of %d events", last), "ms", took.Seconds()*1000, full*1000, "limit: a replay of all events"),
			bench.One("replay from the base", "ms", short*1000, full*1000, "limit: a replay of all events", fmt.Sprintf("of the last tenth: %d events", last/suffixShare)), beside)
		return err
	})
	return results, err
}

// replaySeconds returns how long a replay takes.
func replaySeconds(ctx context.Context, n *node.Node) (float64, error) {
	last, err := n.Log.LastSeq(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = n.Projector.ReplayTo(ctx, last)
	return time.Since(began).Seconds(), err
}

// besideCompact measures PUTs beside compactions, and counts GETs that are refused.
func besideCompact(ctx context.Context, n *node.Node) (bench.Result, error) {
	return putsBeside(ctx, n, "p99 of PUT beside a compaction", "a compaction of what was written", func(ctx context.Context) error {
		last, err := n.Log.LastSeq(ctx)
		if err == nil {
			_, err = compactTo(ctx, n, last)
		}
		if fanfold.CodeOf(err) == fanfold.Conflict { // the round before has not ended
			err = nil
		}
		return err
	})
}

// putsBeside measures PUTs beside work, and counts GETs that are refused.
func putsBeside(ctx context.Context, n *node.Node, name, what string, work func(ctx context.Context) error) (bench.Result, error) {
	var gets getCount
	r, err := bench.Beside(ctx, name, n.Addr(), bench.Puts, what, func(ctx context.Context) error {
		go gets.run(ctx, n)
		return work(ctx)
	})
	r.Notes = append(r.Notes, gets.note())
	return r, err
}

// await calls over again and again until it says so, or fails.
func await(ctx context.Context, over func() (bool, error)) error {
	for {
		if ok, err := over(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
