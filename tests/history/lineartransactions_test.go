package history_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/linear"
	"github.com/fanfold/fanfold/tests/suite"
)

// uniqueKeys is a model by which each write of a document brings guards with it.
const uniqueKeys = "collections: {docs: {unique: [k]}}"

// largeTransactions says how large transactions become: 1,000 documents at most. With guards it is as many messages.
func largeTransactions(guarded bool) linear.Width {
	sizes := []int{2, 998, 1, 60, 7, 1, 300}
	if guarded {
		sizes = []int{2, 300, 1, 60, 7, 1}
	}
	return func(group int) int { return sizes[group%len(sizes)] }
}

// TestLinearizableTransactions: transactions of 2 to 1,000 documents beside single writes, on a node with an embedded log. Requests
// and answers are lost now and then. Nobody reads or follows a part of a transaction, or is refused by one.
func TestLinearizableTransactions(t *testing.T) {
	suite.Concurrent(t)
	for name, model := range map[string]string{"plain": "", "guarded": uniqueKeys} {
		t.Run(name, func(t *testing.T) {
			suite.Parallel(t)
			var appends atomic.Int64
			var ended atomic.Bool
			s := harness.Open(t, harness.Options{KeepFold: true, Dir: t.TempDir(), Sync: true, FailAppend: func(bool) error {
				if appends.Add(1)%23 == 0 && !ended.Load() {
					return errors.New("injected fault")
				}
				return nil
			}})
			defer s.Close()
			if model != "" {
				s.Model(model)
			}
			began, wide := time.Now(), largeTransactions(model != "")
			clients := linearClients(t, 1, began, wide)
			var ops, working atomic.Int64
			groups := int64(suite.Amount(7, 28))
			var wg sync.WaitGroup
			for _, l := range clients {
				l.HTTP = s.Client
				working.Add(1)
				wg.Go(func() {
					defer working.Add(-1)
					work(l, &ops, func() bool { return ops.Load() < groups*linear.GroupOps-linear.Writers })
				})
			}
			changes := 0
			for f := (feedOfWholes{t: t, seen: map[string]bool{}}); f.read(s.Client, 20) || working.Load() > 0; changes = f.changes {
			}
			wg.Wait()
			ended.Store(true)
			history, unknown := historyOf(clients, linear.ReadAll(t, s.Client, began, wide, int(groups)))
			t.Logf("%d operations in %d groups, %d of unknown outcome, %d changes followed", len(history), groups, unknown, changes)
			requireLinear(t, history)
			s.Verify()
			before := s.Digest()
			if s.Replay(); s.Digest() != before {
				t.Error("the replay's rows differ")
			}
		})
	}
}

// TestLinearizableOverKills: the process is killed under such a load, again and again on the same data. The history is linearizable over
// all of its lives.
func TestLinearizableOverKills(t *testing.T) {
	for name, model := range map[string]string{"plain": "", "guarded": uniqueKeys} {
		t.Run(name, func(t *testing.T) {
			suite.Parallel(t)
			dir := t.TempDir()
			began, wide := time.Now(), largeTransactions(model != "")
			clients := linearClients(t, 1, began, wide)
			rng := rand.New(rand.NewPCG(1, 0))
			var ops atomic.Int64
			lives := suite.Amount(4, 15)
			for life := range lives {
				p := harness.StartProcess(t, "--data", dir, "--durability", []string{"always", "interval"}[life%2])
				if life == 0 && model != "" {
					p.Model(model)
				}
				requireWholeFeed(t, p.Client)
				workUntilKilled(clients, p, &ops, ops.Load()+20+rng.Int64N(2*linear.GroupOps))
			}
			p := harness.StartProcess(t, "--data", dir)
			requireWholeFeed(t, p.Client)
			groups := int(ops.Load())/linear.GroupOps + 1
			history, unknown := historyOf(clients, linear.ReadAll(t, p.Client, began, wide, groups))
			t.Logf("%d operations in %d groups, %d of unknown outcome, %d kills", len(history), groups, unknown, lives)
			requireLinear(t, history)
			p.Verify(t)
		})
	}
}

// workUntilKilled has clients do operations, and kills the process when so many were begun.
func workUntilKilled(clients []*linear.Client, p *harness.Process, ops *atomic.Int64, most int64) {
	var killed atomic.Bool
	var wg sync.WaitGroup
	for _, l := range clients {
		l.HTTP = p.Client
		wg.Go(func() {
			work(l, ops, func() bool {
				if ops.Load() >= most && killed.CompareAndSwap(false, true) {
					_ = p.Cmd.Process.Kill()
				}
				return !killed.Load()
			})
		})
	}
	wg.Wait()
	p.Signal(syscall.SIGKILL)
}

// requireWholeFeed fails the test where the feed shows a part of a transaction.
func requireWholeFeed(t *testing.T, c *harness.Client) {
	t.Helper()
	for f := (feedOfWholes{t: t, seen: map[string]bool{}}); f.read(c, 1); {
	}
}

// feedOfWholes reads the feed, and fails the test where an answer has a part of a transaction.
type feedOfWholes struct {
	t       *testing.T
	since   string
	seen    map[string]bool // transactions of earlier answers
	changes int
}

// read reads the feed's next answer, for which it waits so many milliseconds. It returns whether there was a change.
func (f *feedOfWholes) read(c *harness.Client, wait int) bool {
	f.t.Helper()
	rows, last := c.Changes("mode=all&include_docs=true&feed=longpoll&limit=10&timeout=" + strconv.Itoa(wait) + "&since=" + cmp.Or(f.since, "0"))
	written, of := map[string]int{}, map[string]int{}
	for _, row := range rows {
		if row.Tx == "" || len(row.Doc) == 0 {
			continue
		}
		var doc struct{ Of int }
		if err := json.Unmarshal(row.Doc, &doc); err != nil {
			f.t.Fatal(err)
		}
		written[row.Tx]++
		of[row.Tx] = doc.Of
	}
	for tx, n := range written {
		if n != of[tx] || f.seen[tx] {
			f.t.Errorf("an answer of the feed has %d of %d changes of a transaction; an earlier one has some: %v", n, of[tx], f.seen[tx])
		}
		f.seen[tx] = true
	}
	f.changes += len(rows)
	f.since = last
	return len(rows) > 0
}
