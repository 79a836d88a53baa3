package faults_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
)

// lifeOfGroups: members acknowledge positions. No acknowledged position goes back.
func lifeOfGroups() *life {
	const partitions, documents = 4, 400
	var acked [partitions]atomic.Uint64
	return &life{
		name: "acknowledging positions", limit: 60, deaths: map[string]int{"kill": 4, "power": 12},
		begin: func(_ *lives, p *harness.Process) {
			for i := range documents {
				p.Want(http.StatusAccepted, "PUT", harness.Path("books", fmt.Sprint(i)), `{}`, "Prefer", "respond-async")
			}
			p.Want(http.StatusCreated, "PUT", "/v1/_groups/g", fmt.Sprintf(`{"partitions":%d,"lease":"1h"}`, partitions))
		},
		holds: func(l *lives, p *harness.Process) {
			for _, part := range harness.DescribeGroup(l.T, p.Client, "g").Parts {
				at, err := fanfold.ParsePosition(part.Checkpoint)
				if err != nil || at.Seq() < acked[part.Partition].Load() {
					l.Fatalf("partition %d is at %s, and %d was acknowledged: %v", part.Partition, part.Checkpoint, acked[part.Partition].Load(), err)
				}
			}
		},
		work: func(l *lives, p *harness.Process) {
			leases := harness.Lease(l.T, p.Client, "g", "m")
			if len(leases) != partitions {
				l.Fatalf("the member has %v", leases)
			}
			ackPowerless(l.T, p, leases, acked[:], l.limit, documents)
		},
		end: func(*lives, *harness.Process) {},
		lose: func(l *lives) {
			if index, err := filepath.Glob(filepath.Join(l.dir, "nats", "jetstream", "*", "streams", "KV_*", "msgs", "index.db")); err == nil && len(index) == 1 && l.rand.IntN(2) == 0 {
				must(l.T, os.RemoveAll(index[0]))
			}
		},
	}
}

// ackPowerless acknowledges positions in all partitions until there are so many, and kills the process.
func ackPowerless(t *testing.T, p *harness.Process, leases []harness.GroupLease, acked []atomic.Uint64, limit int64, last uint64) {
	t.Helper()
	var done atomic.Int64
	var wg sync.WaitGroup
	for _, l := range leases {
		wg.Go(func() {
			for seq := acked[l.Partition].Load() + 1; seq <= last; seq++ {
				r, err := p.Do("POST", "/v1/_groups/g/_ack", fmt.Appendf(nil, `{"partition":%d,"token":%q,"position":"%d-0"}`, l.Partition, l.Token, seq))
				if err != nil {
					return
				}
				if r.Status != http.StatusNoContent {
					t.Errorf("position %d: %d %s", seq, r.Status, r.Body)
					return
				}
				acked[l.Partition].Store(seq)
				if done.Add(1) == limit {
					_ = p.Cmd.Process.Kill()
				}
			}
		})
	}
	wg.Wait()
	p.Signal(syscall.SIGKILL)
}
