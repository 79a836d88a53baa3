package cluster_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// replicasOf returns how many replicas each stream is to have, as the servers say.
func replicasOf(t *testing.T, url string) map[string]int {
	t.Helper()
	nc := natsserver.Connect(t, url)
	defer nc.Close() // it is called again and again
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	list := js.ListStreams(t.Context())
	for info := range list.Info() {
		out[info.Config.Name] = info.Config.Replicas
	}
	if list.Err() != nil {
		t.Fatal(list.Err())
	}
	return out
}

// TestReplicasChange: the log and the bucket of groups go from one replica to three and back while writes go on. The log with three
// outlives its leader, and no acknowledged write is lost.
func TestReplicasChange(t *testing.T) {
	suite.Concurrent(t, "events/servers")
	suite.Parallel(t)
	cluster := natsserver.StartCluster(t, 3, false)
	url := strings.Join(cluster.URLs(), ",")
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer s.Close()
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{"partitions":1}`)
	harness.Await(t, "the log and its buckets", time.Minute, func() bool {
		return fmt.Sprint(replicasOf(t, url)) == "map[KV_fanfold_fanfold_groups:1 KV_fanfold_fanfold_nodes:1 fanfold:1]"
	})
	stop, stored := make(chan struct{}), make([]int, 4)
	var writers sync.WaitGroup
	for w := range stored {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := s.Do("PUT", fmt.Sprintf("/v1/books/%d-%d", w, stored[w]), []byte(`{"x":1}`))
				if err == nil && (r.Status == http.StatusCreated || r.Status == http.StatusAccepted || r.Status == http.StatusNoContent) {
					stored[w]++
				}
			}
		})
	}
	change := func(n int) {
		t.Helper()
		for { // 202: some are not current yet
			r, err := s.Do("PUT", "/v1/_replicas", fmt.Appendf(nil, `{"replicas":%d}`, n))
			if err != nil || r.Status == http.StatusAccepted || r.Status == http.StatusServiceUnavailable {
				continue
			}
			if want := fmt.Sprintf(`{"replicas":%d,"current":%[1]d,"streams":[{"stream":"fanfold"`, n); r.Status != http.StatusOK || !strings.HasPrefix(string(r.Body), want) {
				t.Errorf("%d replicas: %d %s", n, r.Status, r.Body)
			}
			break
		}
		if got := fmt.Sprint(replicasOf(t, url)); got != fmt.Sprintf("map[KV_fanfold_fanfold_groups:%d KV_fanfold_fanfold_nodes:%[1]d fanfold:%[1]d]", n) {
			t.Errorf("with %d replicas there are %s", n, got)
		}
	}
	change(3)
	putUntilDecided(t, s.Client, "before", "/v1/books/0-0", `{"x":1}`)
	cluster.AwaitLeader("fanfold")
	leader := cluster.Leader("fanfold")
	cluster.Stop(leader)
	putUntilDecided(t, s.Client, "after", "/v1/books/0-0", `{"x":1}`)
	cluster.Restart(leader)
	cluster.AwaitWhole("fanfold", func() bool { return false })
	change(1)
	close(stop)
	writers.Wait()
	if status := s.Want(http.StatusOK, "GET", "/v1/_status", ""); !strings.Contains(string(status.Body), `"replicas":{"configured":1,"current":1}`) {
		t.Errorf("_status says %s", status.Body)
	}
	s.CatchUp()
	for w, n := range stored {
		if n < 10 {
			t.Errorf("writer %d stored %d documents", w, n)
		}
		for i := range n {
			s.WantDoc("books", fmt.Sprintf("%d-%d", w, i), fmt.Sprintf(`{"id":"%d-%d","x":1}`, w, i))
		}
	}
	t.Log("stored", stored)
	s.Want(http.StatusOK, "POST", "/v1/_verify?log=true", "")
	s.Verify()
}

// TestReplicasByThemselves: without a given number a new log has three replicas where there are three servers, and else one. A number that
// the servers cannot give is refused, and the error says how many there are.
func TestReplicasByThemselves(t *testing.T) {
	suite.Parallel(t)
	for servers, want := range map[int]int{1: 1, 2: 1, 3: 3} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			url := natsserver.Start(t, servers)[0]
			s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url, Replicas: -1})
			defer s.Close()
			if got := replicasOf(t, url)["fanfold"]; got != want {
				t.Errorf("on %d servers the log has %d replicas; want %d", servers, got, want)
			}
			told := fmt.Sprintf("5 replicas need as many NATS servers in one cluster with JetStream, and %d can be reached", servers)
			harness.Await(t, told, time.Minute, func() bool { // servers tell clients of one another, which may take them a moment
				return strings.Contains(string(s.Want(http.StatusConflict, "PUT", "/v1/_replicas", `{"replicas":5}`).Body), told)
			})
			if got := replicasOf(t, url)["fanfold"]; got != want {
				t.Errorf("after a refusal the log has %d replicas; want %d", got, want)
			}
		})
	}
}

// TestTooFewServersAtTheStart: where a server of the list does not answer, a new log is not made with fewer replicas than it
// would have with that one.
func TestTooFewServersAtTheStart(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 2)[0] + ",nats://127.0.0.1:1"
	if _, err := harness.Start(t, harness.Options{Dir: t.TempDir(), NATS: url, Replicas: -1}); err == nil || !strings.Contains(err.Error(), "of its servers 2 answer, and 1 known ones do not") {
		t.Errorf("the node says %v", err)
	}
	if _, err := harness.Start(t, harness.Options{Dir: t.TempDir(), NATS: url, Replicas: 3}); err == nil || !strings.Contains(err.Error(), "and 2 can be reached (1 known ones do not answer)") {
		t.Errorf("with --replicas 3 the node says %v", err)
	}
}
