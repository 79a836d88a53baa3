package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/tests/suite"
)

// largePut is a write of a document of 100 kB.
func largePut(id string) *fanfold.Event {
	return &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "c", ID: id}, Body: []byte(`{"a":"` + strings.Repeat("x", 100_000) + `"}`)}
}

// compactionTo is a compaction up to an event, with a made-up base.
func compactionTo(seq uint64) *fanfold.Event {
	return &fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{Base: &fanfold.Compaction{
		Horizon: fanfold.Horizon{Seq: seq, Digest: fanfold.Digest{1}}, Base: fanfold.BaseFile{Name: "b", Bytes: 1}}}}
}

// purgeOptions has the log purged without a wait.
func purgeOptions(o *events.Options) { o.PurgeWait = time.Nanosecond }

// TestPurgeBesideReadersAndWriters: the log is purged again and again while others append and read. A reader misses nothing, the log stays
// whole, and so it is once its server was started again.
func TestPurgeBesideReadersAndWriters(t *testing.T) {
	suite.Concurrent(t)
	l, e, nc, msgs := embeddedLog(t, Always, purgeOptions)
	const writers, each = 3, 120
	var read atomic.Uint64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				_, err := l.Append(t.Context(), largePut(fmt.Sprintf("%d-%d", w, i)), fanfold.Expect{Set: true, Folded: read.Load()})
				for errors.Is(err, fanfold.ErrBehindHorizon) {
					_, err = l.Append(t.Context(), largePut(fmt.Sprintf("%d-%d", w, i)), fanfold.Expect{Set: true, Folded: read.Load()})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := l.Read(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer r.Close()
		for {
			ev, _, err := r.Next(ctx)
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("behind event %d: %v", read.Load(), err)
				}
				return
			}
			read.Store(ev.Seq)
		}
	})
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	purges := 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		seq := read.Load()
		if seq == 0 || seq <= l.Prefix().Base().Seq {
			continue
		}
		_, at := l.Prefix().Compaction()
		if _, err := l.Append(t.Context(), compactionTo(seq), fanfold.Exactly(fanfold.Revision(at))); err != nil {
			t.Fatal(err)
		}
		if err := l.Prefix().Purge(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if err := l.Check(t.Context(), events.Known{Seq: seq}); err != nil {
			t.Fatal(err)
		}
		purges++
	}
	end, err := l.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for read.Load() < end && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	reading.Wait()
	blocks, _, err := listBlocks(msgs)
	s, serr := l.State(t.Context())
	if err != nil || serr != nil || blocks[0].number < 4 || !s.Complete() || s.First < 100 {
		t.Errorf("after %d purges the log is %+v in blocks %+v, %v, %v", purges, s, blocks, err, serr)
	}
	t.Logf("%d purges; the log has %d-%d in %d of %d blocks", purges, s.First, s.Last, len(blocks), blocks[len(blocks)-1].number)
	nc.Close()
	if err := e.stop(); err != nil {
		t.Fatal(err)
	}
	reopen(t, e.opt.Dir, s.Last, s.Base)
}

// reopen opens the log in a directory as a node does, and checks that it ends with an event or later, is whole, and begins after base or
// later.
func reopen(t *testing.T, dir string, known, base uint64) (s events.State) {
	t.Helper()
	tails, err := CutTail(t.Context(), dir, known)
	if err != nil {
		t.Fatal(err)
	}
	for _, tail := range tails {
		if tail.Last < known {
			t.Fatalf("cut %+v, and event %d is known", tail, known)
		}
	}
	e, err := Start(t.Context(), Options{Dir: dir, Durability: Always, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	nc, err := e.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l, err := events.Open(t.Context(), nc, events.Options{Embedded: e, KnownSeq: known, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if l.Prefix().Base().Seq < base {
		t.Errorf("the log begins after %d, and did after %d", l.Prefix().Base().Seq, base)
	}
	if s, err = l.State(t.Context()); err != nil || !s.Complete() || s.Last < known {
		t.Errorf("the log is %+v, %v", s, err)
	}
	next := l.Prefix().Base().Seq
	if err := l.Scan(t.Context(), 1, s.Last, func(seq uint64, _ int, _ fanfold.Digest) error {
		if next++; seq != next {
			return fmt.Errorf("event %d instead of %d", seq, next)
		}
		return nil
	}); err != nil || next != s.Last {
		t.Errorf("scanned up to %d of %d: %v", next, s.Last, err)
	}
	return s
}

// purgingEnv is the directory in which this process purges a log until it is killed.
const purgingEnv = "FANFOLD_TEST_PURGING"

// TestPurgingUntilKilled is the process that TestKilledPurge kills.
func TestPurgingUntilKilled(t *testing.T) {
	dir := os.Getenv(purgingEnv)
	if dir == "" {
		t.Skip("another test starts it")
	}
	e, err := Start(t.Context(), Options{Dir: dir, Durability: Always, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := e.Connect()
	if err != nil {
		t.Fatal(err)
	}
	l, err := events.Open(t.Context(), nc, events.Options{Embedded: e, PurgeWait: time.Nanosecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for {
		var seq uint64
		for i := range 100 {
			if seq, err = l.Append(t.Context(), largePut(fmt.Sprint(i)), fanfold.Expect{}); err != nil {
				t.Fatal(err)
			}
		}
		_, at := l.Prefix().Compaction()
		compacted, err := l.Append(t.Context(), compactionTo(seq), fanfold.Exactly(fanfold.Revision(at)))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "..", "known"), fmt.Appendf(nil, "%d %d", compacted, seq), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := l.Prefix().Purge(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledPurge: a process that purges its log is killed at random moments. The log is whole each time.
func TestKilledPurge(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "nats")
	purged := 0
	for range 20 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPurgingUntilKilled$")
		cmd.Env = append(os.Environ(), purgingEnv+"="+dir)
		before := knownOf(t, top)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for knownOf(t, top) == before {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(60 * time.Millisecond))))
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		known := knownOf(t, top)
		if s := reopen(t, dir, known[0], known[1]); s.First > 1 {
			purged++
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("the log had been purged %d times", purged)
}

// knownOf returns the last compact event that was acknowledged, and its horizon.
func knownOf(t *testing.T, top string) (known [2]uint64) {
	text, err := os.ReadFile(filepath.Join(top, "known"))
	if err != nil {
		return known
	}
	for i, part := range strings.Fields(string(text)) {
		if known[i], err = strconv.ParseUint(part, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return known
}

// TestUnfinishedFilesGo: what a killed server has left of a block file that it was about to replace is gone before a server starts.
func TestUnfinishedFilesGo(t *testing.T) {
	_, e, nc, msgs := embeddedLog(t, Always, defaultOptions)
	nc.Close()
	if err := e.stop(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(msgs, "1.blk.tmp")
	if err := os.WriteFile(left, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := e.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestRemovalThatIsUndone: a file of purged events that a loss of power brings back, and that the server does not know, goes at the next purge.
func TestRemovalThatIsUndone(t *testing.T) {
	l, _, _, msgs := embeddedLog(t, Always, purgeOptions)
	for i := range 200 {
		if _, err := l.Append(t.Context(), largePut(strconv.Itoa(i)), fanfold.Expect{}); err != nil {
			t.Fatal(err)
		}
	}
	removed := filepath.Join(msgs, "1.blk")
	b, err := os.ReadFile(removed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), compactionTo(190), fanfold.Exactly(0)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Prefix().Purge(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(removed); !os.IsNotExist(err) {
			t.Fatalf("%s is still there: %v", removed, err)
		}
		if err := os.WriteFile(removed, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	blocks, _, err := listBlocks(msgs)
	if s, serr := l.State(t.Context()); err != nil || serr != nil || len(blocks) < 2 || !s.Complete() || s.Last != 201 {
		t.Errorf("%+v, %v, blocks %+v, %v", s, serr, blocks, err)
	}
}
