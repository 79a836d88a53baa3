package cluster_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// shortReplicaWait is how long a node waits for replicas where a test does not look into their Raft logs.
const shortReplicaWait = 50 * time.Millisecond

// openOnThree starts a node of a log with three replicas.
func openOnThree(t *testing.T, dir string, cluster *natsserver.Cluster, configure func(cfg *node.Config)) *harness.Store {
	t.Helper()
	s := harness.Open(t, harness.Options{Dir: dir, NATS: strings.Join(cluster.URLs(), ","), Replicas: 3, Configure: configure})
	harness.AwaitReady(t, s, http.StatusOK)
	return s
}

// raftLog tells whether a file is of what servers have agreed on, which they keep for some minutes.
func raftLog(path string) bool { return strings.Contains(path, "/_js_/") }

// askErasure begins the erasure of the secret, and returns where it is shown.
func askErasure(t *testing.T, s *harness.Store) (location string) {
	t.Helper()
	harness.Await(t, "an erasure to begin", time.Minute, func() bool {
		r, err := s.Do(http.MethodPost, "/v1/authors/erased/_erase", []byte("{}"), "Content-Type", "application/json")
		location = r.Header.Get("Location")
		return err == nil && r.Status == http.StatusAccepted
	})
	return location
}

// erasureAt returns how far an erasure is.
func erasureAt(s *harness.Store, location string) (e wire.Erasure, ok bool) {
	r, err := s.Do(http.MethodGet, location, nil)
	if err != nil || r.Status != http.StatusOK {
		return e, false
	}
	return e, json.Unmarshal(r.Body, &e) == nil
}

// awaitErased waits until a node says that an erasure is over. No file of the servers may have the secret then. Their Raft logs may, unless raftLogs says that
// the node waits for them as it does by itself. After shortReplicaWait a busy server may not have deleted yet.
func awaitErased(t *testing.T, s *harness.Store, location string, limit time.Duration, dirs []string, raftLogs bool) {
	t.Helper()
	began, forgot := time.Now(), time.Duration(0)
	harness.Await(t, "the erasure to be over", limit, func() bool {
		if raftLogs && forgot == 0 && len(holdsSecret(t, dirs...)) == 0 {
			forgot = time.Since(began)
			t.Logf("no file has the secret after %v", forgot.Round(time.Second))
		}
		e, ok := erasureAt(s, location)
		return ok && e.Phase == wire.PhaseDone
	})
	t.Logf("over after %v", time.Since(began).Round(time.Millisecond))
	var found []string
	forgotten := func() bool {
		found = slices.DeleteFunc(holdsSecret(t, dirs...), func(path string) bool { return !raftLogs && raftLog(path) })
		return len(found) == 0
	}
	for end := time.Now().Add(suite.Deadline(harness.WaitTime)); !forgotten() && !raftLogs && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if len(found) > 0 {
		t.Errorf("the erasure is over, and the secret is in %v", found)
	}
}

// TestErasureWithLeaderKilled: the server that leads the log goes, and the node that deletes, while an erasure is under way. It is over only once the server is
// back, and then no server has what is erased.
func TestErasureWithLeaderKilled(t *testing.T) {
	suite.Parallel(t)
	for _, step := range []string{forget.StepErasurePrepared, forget.StepErased, forget.StepEraseSwitched, forget.StepDeleted, forget.StepRemade} {
		t.Run(step, func(t *testing.T) {
			cluster := natsserver.StartCluster(t, 3, false)
			var stopped atomic.Bool
			killed := make(chan int, 1)
			dir := t.TempDir()
			configure := func(cfg *node.Config) {
				cfg.PurgeWait, cfg.ReplicaWait = time.Millisecond, shortReplicaWait
				cfg.Steps.Erase = func(at string) error {
					if at != step || stopped.Swap(true) {
						return nil
					}
					leader := cluster.Leader("fanfold")
					cluster.Stop(leader)
					killed <- leader
					return errors.New("stopped by the test")
				}
			}
			a := openOnThree(t, dir, cluster, configure)
			defer func() { a.Close() }()
			a.Model(snapshotModel)
			for range 20 {
				writeSecrets(a)
			}
			location := askErasure(t, a)
			leader := <-killed
			a = a.Reopen()
			harness.Await(t, "the node to wait for the server", time.Minute, func() bool {
				e, ok := erasureAt(a, location)
				if e.Phase == wire.PhaseDone {
					t.Fatalf("the erasure is over, and a server is away: %+v", e)
				}
				return ok && len(e.Residue) > 0 && strings.Contains(e.Residue[0].Where, "Raft")
			})
			cluster.Restart(leader)
			awaitErased(t, a, location, 2*time.Minute, append(cluster.Dirs(), dir), false)
			a.Verify()
		})
	}
}

// TestErasureWhileLeadersChange: the server that leads the log is killed again and again while messages are deleted.
func TestErasureWhileLeadersChange(t *testing.T) {
	suite.Parallel(t)
	cluster := natsserver.StartCluster(t, 3, false)
	a := openOnThree(t, t.TempDir(), cluster, func(cfg *node.Config) { cfg.PurgeWait, cfg.ReplicaWait = time.Millisecond, shortReplicaWait })
	defer a.Close()
	a.Model(snapshotModel)
	for range suite.Amount(150, 2000) {
		a.Put("authors", "erased", fmt.Sprintf(`{"name":%q}`, erasedText))
	}
	location := askErasure(t, a)
	for range 2 {
		harness.Await(t, "messages to be deleted", time.Minute, func() bool {
			e, ok := erasureAt(a, location)
			return ok && (e.Phase == wire.PhaseDeleting || e.Phase == wire.PhaseDone)
		})
		cluster.AwaitLeader("fanfold")
		leader := cluster.Leader("fanfold")
		cluster.Stop(leader)
		cluster.Restart(leader)
		cluster.AwaitWhole("fanfold", t.Failed)
	}
	awaitErased(t, a, location, 2*time.Minute, cluster.Dirs(), false)
	a.Verify()
}

// TestErasureOnThreeServers: an erasure is over once no server has what is erased. The servers' Raft logs have it for some minutes, so only
// the long test looks into them, and waits as a node does by itself.
func TestErasureOnThreeServers(t *testing.T) {
	suite.Parallel(t)
	cluster := natsserver.StartCluster(t, 3, false)
	wait := suite.Amount(shortReplicaWait, 0)
	dirs := append(cluster.Dirs(), t.TempDir(), t.TempDir())
	configure := func(cfg *node.Config) { cfg.PurgeWait, cfg.ReplicaWait = time.Millisecond, wait }
	a, b := openOnThree(t, dirs[3], cluster, configure), openOnThree(t, dirs[4], cluster, configure)
	defer func() { a.Close(); b.Close() }()
	a.Model(snapshotModel)
	writeSecrets(a)
	writeBooks(b, "x", 30)
	if len(holdsSecret(t, cluster.Dirs()...)) < 3 {
		t.Fatal("the secret is nowhere before the erasure")
	}
	location := askErasure(t, a)
	limit := suite.Amount(time.Minute, 10*time.Minute)
	awaitErased(t, b, location, limit, dirs, wait == 0)
	awaitErased(t, a, location, limit, dirs, wait == 0)
	writeBooks(b, "y", 10)
	for _, s := range []*harness.Store{a, b} {
		s.CatchUp()
		s.Verify()
	}
	a.WantSameDigest(b)
}

// TestErasureWaitsForReplicas: every node waits until replicas have had the time to forget, one that deleted nothing and one that was started anew, too. Once
// it is over, it stays so after a start.
func TestErasureWaitsForReplicas(t *testing.T) {
	suite.Parallel(t)
	cluster := natsserver.StartCluster(t, 3, false)
	var wait atomic.Int64
	wait.Store(int64(time.Hour))
	configure := func(cfg *node.Config) { cfg.PurgeWait, cfg.ReplicaWait = time.Millisecond, time.Duration(wait.Load()) }
	dir := t.TempDir()
	a, b := openOnThree(t, dir, cluster, configure), openOnThree(t, t.TempDir(), cluster, configure)
	defer func() { a.Close(); b.Close() }()
	a.Model(snapshotModel)
	writeSecrets(a)
	location := askErasure(t, a)
	waits := func(s *harness.Store) {
		t.Helper()
		harness.Await(t, "the node to wait for replicas", time.Minute, func() bool {
			e, ok := erasureAt(s, location)
			if e.Phase == wire.PhaseDone {
				t.Fatalf("the erasure is over before replicas had time to forget: %+v", e)
			}
			return ok && e.Phase == wire.PhaseDeleting && len(e.Residue) > 0 && strings.Contains(e.Residue[0].Where, "Raft")
		})
	}
	waits(a)
	waits(b)
	a = a.Reopen()
	waits(a)
	wait.Store(int64(shortReplicaWait))
	a = a.Reopen()
	awaitErased(t, a, location, time.Minute, cluster.Dirs(), false)
	waits(b)
	wait.Store(int64(time.Hour))
	a = a.Reopen()
	awaitErased(t, a, location, time.Minute, cluster.Dirs(), false)
}
