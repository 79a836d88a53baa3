package cluster_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestBackupWhileTheLeaderIsLost: three nodes are written to over three servers. Another node makes backups into one directory while the leader
// of the log is stopped and comes back. Each backup that ends is whole, and the last has every acknowledged write.
func TestBackupWhileTheLeaderIsLost(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	cluster := natsserver.StartCluster(t, 3, false)
	var nodes []*harness.Store
	for range 3 {
		n := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: strings.Join(cluster.URLs(), ","), Replicas: 3})
		defer n.Close()
		harness.AwaitReady(t, n, http.StatusOK)
		nodes = append(nodes, n)
	}
	nodes[0].Want(http.StatusCreated, http.MethodPut, "/v1/_groups/mail", `{"partitions":2}`)
	stop, stored := make(chan struct{}), make([]int, 2)
	var writers sync.WaitGroup
	for w := range stored {
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				path, key := fmt.Sprintf("/v1/books/w%d-%d", w, n), fmt.Sprintf("%d-%d", w, n)
				harness.Await(t, "PUT "+path, time.Minute, func() bool {
					r, err := nodes[w].Do(http.MethodPut, path, []byte(`{}`), "Idempotency-Key", key)
					return err == nil && r.Status < 300 && r.Status != http.StatusAccepted
				})
				stored[w]++
			}
		})
	}
	dir := t.TempDir()
	run := func() bool {
		w, err := backup.OpenWriter(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}()
		r, err := nodes[2].Do(http.MethodGet, fmt.Sprintf("/v1/_backup?after=%d", w.After().Seq), nil)
		if err == nil && r.Status == http.StatusOK {
			_, err = w.Receive(t.Context(), bytes.NewReader(r.Body), nil)
		}
		return err == nil && r.Status == http.StatusOK
	}
	done := 0
	for range 2 {
		leader := cluster.Leader("fanfold")
		cluster.Stop(leader)
		for range 3 {
			if run() {
				done++
			}
		}
		cluster.Restart(leader)
		cluster.AwaitWhole("fanfold", func() bool { return t.Failed() })
	}
	close(stop)
	writers.Wait()
	last, err := nodes[0].Node.Log.LastSeq(t.Context())
	if err == nil {
		err = nodes[2].Node.Store.Applied.Wait(t.Context(), last)
	}
	if err != nil || !run() {
		t.Fatalf("the last backup failed: %v", err)
	}
	b, err := backup.Open(dir)
	if err == nil {
		err = b.Check(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	if err := b.Events(t.Context(), 0, func(ev *backup.Event) error {
		seen[ev.Subject[strings.LastIndex(ev.Subject, ".")+1:]] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for w, n := range stored {
		for i := range n {
			if id := fmt.Sprintf("w%d-%d", w, i); !seen[id] {
				t.Errorf("the backup lacks %s, which was acknowledged", id)
			}
		}
	}
	if len(b.Groups) != 1 || b.Position < last {
		t.Errorf("the backup goes up to %d of %d and has %d groups", b.Position, last, len(b.Groups))
	}
	t.Logf("%d backups while a leader was lost, %d writes", done, stored[0]+stored[1])
}
