package faults_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// killWriters is how many clients write.
const killWriters = 16

// lifeOfWrites: clients write documents and transactions. Everything that was acknowledged is there, a transaction is there as a whole or not at all, and
// the read model shows what the log has.
func lifeOfWrites() *life {
	of := writing("writing", killWriters, 160, nil)
	of.deaths = map[string]int{"kill": suite.Amount(4, 12), "power": 25}
	return of
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
