package faults_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestGroupPowerLoss: members acknowledge positions, the process is killed, and the files of its log and of its groups are
// made what a loss of power may leave of them. No acknowledged position goes back.
func TestGroupPowerLoss(t *testing.T) {
	suite.PlainOnly(t, suite.OtherProcess)
	suite.Parallel(t)
	const lives, partitions, documents = 12, 4, 400
	dir, r := t.TempDir(), rand.New(rand.NewPCG(rand.Uint64(), 0))
	p := startNoting(t, dir)
	for i := range documents {
		p.Want(http.StatusAccepted, "PUT", harness.Path("books", fmt.Sprint(i)), `{}`, "Prefer", "respond-async")
	}
	p.Want(http.StatusCreated, "PUT", "/v1/_groups/g", fmt.Sprintf(`{"partitions":%d,"lease":"1h"}`, partitions))
	var acked [partitions]atomic.Uint64
	var lost int64
	total := 0
	for range lives {
		leases := harness.Lease(t, p.Client, "g", "m")
		if len(leases) != partitions {
			t.Fatalf("the member has %v", leases)
		}
		total += ackPowerless(t, p, leases, acked[:], r.Int64N(60)+1, documents)
		took, _ := losePower(t, dir, r)
		lost += took
		if index, err := filepath.Glob(filepath.Join(dir, "nats", "jetstream", "*", "streams", "KV_*", "msgs", "index.db")); err == nil && len(index) == 1 && r.IntN(2) == 0 {
			if err := os.Remove(index[0]); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(filepath.Join(dir, syncNotes)); err != nil {
			t.Fatal(err)
		}
		p = startNoting(t, dir)
		for _, part := range harness.DescribeGroup(t, p.Client, "g").Parts {
			at, err := fanfold.ParsePosition(part.Checkpoint)
			if err != nil || at.Seq() < acked[part.Partition].Load() {
				t.Fatalf("partition %d is at %s, and %d was acknowledged: %v", part.Partition, part.Checkpoint, acked[part.Partition].Load(), err)
			}
		}
	}
	t.Logf("%d losses of power took or changed %d bytes; %d positions were acknowledged", lives, lost, total)
}

// ackPowerless acknowledges positions in all partitions until there are so many, and kills the process. It returns how many
// were acknowledged.
func ackPowerless(t *testing.T, p *harness.Process, leases []harness.GroupLease, acked []atomic.Uint64, limit int64, last uint64) int {
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
	return int(done.Load())
}
