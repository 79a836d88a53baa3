package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/rebuild"
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

// compactedDisk compacts a store to its last event, and adds its bytes beside a limit's, 0 for what it had before.
func (b *bench) compactedDisk(ctx context.Context, n *node.Node, dir, name string, plain int64, limit string) error {
	logBefore, rowsBefore, err := storeDisk(dir)
	if err != nil {
		return err
	}
	last, err := n.Log.LastSeq(ctx)
	if err != nil {
		return err
	}
	took, err := compactTo(ctx, n, last)
	if err != nil {
		return err
	}
	logAfter, rowsAfter, err := storeDisk(dir)
	b.one(name, "bytes", float64(logAfter+rowsAfter), float64(cmp.Or(plain, logBefore+rowsBefore)), limit,
		fmt.Sprintf("log and base %d kB, before %d kB; read model %d kB, before %d kB; %d events, %.1f s", logAfter/1000, logBefore/1000, rowsAfter/1000, rowsBefore/1000, last, took.Seconds()))
	return err
}

// benchUpdatesOfOne measures the disk of a store in which one document was written again and again.
func benchUpdatesOfOne(ctx context.Context, b *bench) error {
	same := func(i int) string { return fmt.Sprintf(`{"id":"0","version":%d,"summary":"%0300d"}`, i, i) }
	s := benchStore{model: `{"collections":{"books":{}}}`, authors: 1, books: b.documents, text: same, oneBook: true}
	return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, _ *client.Client) error {
		return b.compactedDisk(ctx, n, b.dir, fmt.Sprintf("disk after %d updates of a document", b.documents), 0, "limit: before the compaction")
	}, purgeSoon)
}

// benchVersions measures the disk of a store whose documents have several versions, beside one that has the last ones alone.
func benchVersions(ctx context.Context, b *bench) error {
	s := benchStore{model: historyModel, authors: 1000, books: b.documents, text: bookOf(retentionVersions, 0)}
	ours, alone := filepath.Join(b.dir, "versions"), filepath.Join(b.dir, "last")
	if err := s.run(ctx, alone, leave, purgeSoon); err != nil {
		return err
	}
	log, rows, err := storeDisk(alone)
	if err != nil {
		return err
	}
	s.text = bookOf(1, 0)
	return s.run(ctx, ours, func(ctx context.Context, n *node.Node, c *client.Client) error {
		for version := 2; version <= retentionVersions; version++ {
			if err := importBooks(ctx, c, b.documents, bookOf(version, 0)); err != nil {
				return err
			}
		}
		return b.compactedDisk(ctx, n, ours, fmt.Sprintf("disk of %d documents after %d versions", b.documents, retentionVersions), log+rows, "limit: a store that has the last versions alone")
	}, purgeSoon)
}

// runReplayed runs fn on a node over books in one version each. fn has the log's last event and the seconds of a replay up to it.
func (b *bench) runReplayed(ctx context.Context, fn func(ctx context.Context, n *node.Node, last uint64, replay float64) error) error {
	s := benchStore{model: historyModel, authors: 1000, books: b.documents, text: bookOf(1, 0)}
	return s.run(ctx, b.dir, func(ctx context.Context, n *node.Node, _ *client.Client) error {
		last, replay, err := replaySeconds(ctx, n)
		if err != nil {
			return err
		}
		return fn(ctx, n, last, replay)
	}, purgeSoon)
}

// replaySeconds returns the log's last event, and how long a replay up to it takes.
func replaySeconds(ctx context.Context, n *node.Node) (last uint64, seconds float64, err error) {
	if last, err = n.Log.LastSeq(ctx); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	err = n.Projector.Rebuild(ctx, rebuild.ReplayTo(last))
	return last, time.Since(began).Seconds(), err
}

// benchCompact measures a compaction beside a replay of the same events, a replay from its base, and PUTs beside compactions.
func benchCompact(ctx context.Context, b *bench) error {
	return b.runReplayed(ctx, func(ctx context.Context, n *node.Node, last uint64, full float64) error {
		took, err := compactTo(ctx, n, last-last/suffixShare)
		if err != nil {
			return err
		}
		_, short, err := replaySeconds(ctx, n)
		if err != nil {
			return err
		}
		b.one(fmt.Sprintf("compaction of %d events", last), "ms", took.Seconds()*1000, full*1000, "limit: a replay of all events")
		b.one("replay from the base", "ms", short*1000, full*1000, "limit: a replay of all events", fmt.Sprintf("of the last tenth: %d events", last/suffixShare))
		return b.putsBeside(ctx, n, "a compaction", func(ctx context.Context) error {
			last, err := n.Log.LastSeq(ctx)
			if err == nil {
				_, err = compactTo(ctx, n, last)
			}
			if fanfold.CodeOf(err) == fanfold.Conflict { // the round before has not ended
				err = nil
			}
			return err
		})
	})
}

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

// benchErase measures erasures beside a replay of the same events, and PUTs beside erasures of a document each. Book 0 stays.
func benchErase(ctx context.Context, b *bench) error {
	return b.runReplayed(ctx, func(ctx context.Context, n *node.Node, last uint64, replay float64) error {
		for _, erased := range []struct{ from, count int }{{1, 1}, {b.documents - eraseMany, eraseMany}} {
			took, gone, err := eraseBooks(ctx, n, erased.from, erased.count)
			if err != nil {
				return err
			}
			limit := replay + float64(gone)*eraseMessage.Seconds()
			b.one(fmt.Sprintf("erasure of %d of %d events", gone, last), "ms", took.Seconds()*1000, limit*1000,
				fmt.Sprintf("limit: a replay of all events (%.1f s), and %v an event", replay, eraseMessage), fmt.Sprintf("%d documents", erased.count))
		}
		next := 1
		return b.putsBeside(ctx, n, "an erasure", func(ctx context.Context) error {
			next++
			_, _, err := eraseBooks(ctx, n, next, 1)
			return err
		})
	})
}

// putsBeside measures PUTs beside work, and counts GETs of book 0 that are refused.
func (b *bench) putsBeside(ctx context.Context, n *node.Node, what string, work func(ctx context.Context) error) error {
	var sent, refused atomic.Int64
	note := func() string { return fmt.Sprintf("%d of %d GETs beside it were refused", refused.Load(), sent.Load()) }
	return b.beside(ctx, "p99 of PUT beside "+what, n.Addr(), puts, note, func(ctx context.Context) error {
		go func() {
			for ctx.Err() == nil {
				if err := ask(context.WithoutCancel(ctx), n.URL()+"/v1/books/0"); err != nil {
					refused.Add(1)
				}
				sent.Add(1)
			}
		}()
		return work(ctx)
	})
}
