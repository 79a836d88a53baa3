package faults_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

const shortKills, longKills, killWriters = 6, 12, 16

// TestKill writes with 16 clients and kills the process with SIGKILL, again and again on the same
// data, under both durabilities: everything acknowledged is there, and every promise holds. Under -soak it begins
// again with other data.
func TestKill(t *testing.T) {
	suite.PlainOnly(t, suite.OtherProcess)
	suite.Parallel(t)
	for s, n := suite.Begin(t, suite.ShareKills), 0; s.GoesOn(n, 1) && !t.Failed(); n++ {
		t.Run(strconv.Itoa(n), func(t *testing.T) { killAgainAndAgain(t, s) })
	}
}

func killAgainAndAgain(t *testing.T, s suite.Budget) {
	dir := t.TempDir()
	acked := make([]atomic.Int64, killWriters)
	sent := make([]atomic.Int64, killWriters)
	round := 0
	for rounds := suite.Amount(shortKills, longKills); round < rounds && (s.Long == 0 || s.Left() > 0); round++ {
		p := harness.StartProcess(t, "--data", dir, "--durability", []string{"always", "interval"}[round%2])
		if round == 0 {
			p.Model(harness.CrashModel)
		}
		checkAcked(t, p, acked, sent)
		checkTransactions(t, p)
		writeUntilKilled(t, p, acked, sent)
	}
	p := harness.StartProcess(t, "--data", dir)
	checkAcked(t, p, acked, sent)
	checkTransactions(t, p)
	before := p.Get("authors", "0")
	p.Want(http.StatusAccepted, "POST", "/v1/_replay", "")
	waitReplay(t, p)
	p.Verify(t)
	if after := p.Get("authors", "0"); after != before {
		t.Fatalf("after the replay %s, before %s", after, before)
	}
	total := int64(0)
	for i := range acked {
		total += acked[i].Load()
	}
	t.Logf("%d acknowledged writes in %d rounds", total, round)
	suite.Done(int64(round), "kills")
	suite.Done(total, "acknowledged writes between kills")
}

// checkAcked compares every writer's document with what was acknowledged and sent.
func checkAcked(t *testing.T, p *harness.Process, acked, sent []atomic.Int64) {
	t.Helper()
	for i := range acked {
		r, err := p.Do("GET", harness.Path("authors", fmt.Sprint(i))+"?consistency=strong", nil, "Fanfold-Timeout", "60")
		if err != nil || r.Status != http.StatusOK && r.Status != http.StatusNotFound {
			t.Fatalf("writer %d: %+v, %v", i, r, err)
		}
		var doc struct{ N int64 }
		if r.Status == http.StatusOK {
			if err := json.Unmarshal(r.Body, &doc); err != nil {
				t.Fatal(err)
			}
		}
		if doc.N < acked[i].Load() || doc.N > sent[i].Load() {
			t.Fatalf("writer %d: the document says %d, acknowledged were %d, sent %d", i, doc.N, acked[i].Load(), sent[i].Load())
		}
		acked[i].Store(doc.N)
		sent[i].Store(doc.N)
	}
	p.Verify(t)
}

// writeUntilKilled counts up one author, one book and the documents of a transaction a writer, and kills the process once
// enough was acknowledged.
func writeUntilKilled(t *testing.T, p *harness.Process, acked, sent []atomic.Int64) {
	t.Helper()
	var done atomic.Int64
	limit := 40 + rand.Int64N(200)
	var wg sync.WaitGroup
	for i := range acked {
		wg.Go(func() {
			for {
				n := sent[i].Add(1)
				body := fmt.Sprintf(`{"name":"Author %d.%d","n":%d}`, i, n, n)
				r, err := p.Do("PUT", harness.Path("authors", fmt.Sprint(i)), []byte(body))
				if err != nil {
					return
				}
				if r.Status != http.StatusCreated && r.Status != http.StatusNoContent && r.Status != http.StatusAccepted {
					t.Errorf("writer %d: %d %s", i, r.Status, r.Body)
					return
				}
				acked[i].Store(n)
				book := fmt.Sprintf(`{"authors":[{"id":"%d"},{"id":%d}]}`, i, (i+int(n))%killWriters)
				if _, err := p.Do("PUT", harness.Path("books", fmt.Sprint(int64(i)*10_000+n%50)), []byte(book)); err != nil {
					return
				}
				if _, err := p.Do("POST", "/v1/_transactions", transactionOf(i, n), "Content-Type", "application/json"); err != nil {
					return
				}
				if done.Add(1) == limit {
					_ = p.Cmd.Process.Kill()
				}
			}
		})
	}
	wg.Wait()
	p.Signal(syscall.SIGKILL)
}

// waitReplay waits until a replay has ended, for as long as it comes on. It asks now and then, for whoever asks all the time takes
// the processor from the replay.
func waitReplay(t *testing.T, p *harness.Process) {
	t.Helper()
	var at uint64
	for moved := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		var s struct {
			Replay struct {
				Running bool
				Seq     uint64
				Error   string
			}
		}
		if err := json.Unmarshal(p.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &s); err != nil || s.Replay.Error != "" {
			t.Fatalf("%v %+v", err, s)
		}
		if !s.Replay.Running {
			return
		}
		if s.Replay.Seq != at {
			at, moved = s.Replay.Seq, time.Now()
		}
		if time.Since(moved) > time.Minute {
			t.Fatalf("the replay stands at event %d", at)
		}
	}
}
