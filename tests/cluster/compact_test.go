package cluster_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// openKeeper starts a node of a log whose purges wait for nodes alone.
func openKeeper(t *testing.T, dir, url string) *harness.Store {
	t.Helper()
	leases := membership.Options{Interval: 100 * time.Millisecond, Lease: time.Minute, Gone: 2 * time.Minute}
	s := harness.Open(t, harness.Options{Dir: dir, NATS: url, Members: leases, Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Millisecond }})
	harness.AwaitReady(t, s, http.StatusOK)
	return s
}

// awaitBase waits until a node has built its read model anew from a base.
func awaitBase(t *testing.T, s *harness.Store, seq uint64) {
	t.Helper()
	harness.Await(t, "the read model to be built anew", time.Minute, func() bool {
		h, built, err := s.Node.Projector.Horizon()
		return err == nil && h.Seq == seq && built == seq
	})
}

// awaitPurged waits until the log has lost what was before a horizon.
func awaitPurged(t *testing.T, s *harness.Store, seq uint64) {
	t.Helper()
	harness.Await(t, "the log to be purged", time.Minute, func() bool {
		state, err := s.Node.Log.State(t.Context())
		return err == nil && state.First == seq+1
	})
}

// TestCompactionOnTwoNodes: the other node builds its read model anew, and the log is purged after that. A node that was away and a new one
// begin with the base. All of them go on writing, with a key since half of the writes, and have the same rows. So they show the same writers.
func TestCompactionOnTwoNodes(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	away := t.TempDir()
	a, b, c := openKeeper(t, t.TempDir(), url), openKeeper(t, t.TempDir(), url), openKeeper(t, away, url)
	defer a.Close()
	defer b.Close()
	a.Model(strings.Replace(snapshotModel, "{authorName:", "{by: {value: meta.updatedBy}, authorName:", 1))
	writeBooks(a, "x", 50)
	c.CatchUp()
	c.Close()
	a.CloseHouse()
	authorize(t, b, a.Key)
	writeBooks(b, "y", 50)
	a.CatchUp()
	horizon := a.Node.Store.Applied.Seq()
	writeBooks(b, "z", 20)
	a.CatchUp()
	a.Compact(horizon)
	awaitBase(t, b, horizon)
	awaitPurged(t, a, horizon)
	for i, s := range []*harness.Store{a, b} {
		writeBooks(s, "x", 10)
		s.Delete("books", "y"+fmt.Sprint(i))
	}
	c = openKeeper(t, away, url)
	defer c.Close()
	d := openKeeper(t, t.TempDir(), url)
	defer d.Close()
	awaitBase(t, c, horizon)
	awaitBase(t, d, horizon)
	authorize(t, c, a.Key)
	authorize(t, d, a.Key)
	writeBooks(c, "z", 10)
	for _, s := range []*harness.Store{a, b, c, d} {
		s.CatchUp()
		s.Verify()
	}
	for _, s := range []*harness.Store{b, c, d} {
		a.WantSameDigest(s)
		if doc := s.Get("books", "y40"); !strings.Contains(doc, `"by":"key:`) {
			t.Errorf("y40 is %s", doc)
		}
		if doc := s.Get("books", "x40"); strings.Contains(doc, `"by"`) {
			t.Errorf("x40 is %s", doc)
		}
	}
}

// authorize has a store's client send a key, once the node knows it.
func authorize(t *testing.T, s *harness.Store, key string) {
	t.Helper()
	s.Key = key
	harness.Await(t, "the key to be known", time.Minute, func() bool {
		r, err := s.Do(http.MethodGet, "/v1/_model", nil)
		return err == nil && r.Status == http.StatusOK
	})
}

// TestPurgeWaitsForLiveNodes: as long as a live node has an old read model the log keeps its events, and the compaction says for which node it waits.
func TestPurgeWaitsForLiveNodes(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	a := openKeeper(t, t.TempDir(), url)
	defer a.Close()
	writeBooks(a, "x", 30)
	b, hold := freezable(t, url, membership.Options{Interval: 100 * time.Millisecond, Lease: time.Minute, Gone: 2 * time.Minute})
	awaitStatus(t, a.Client, "two nodes", func(s node.Status) bool { return liveNodes(s) == 2 })
	a.CatchUp()
	horizon := a.Node.Store.Applied.Seq()
	b.CatchUp()
	hold.Renew()
	a.Compact(horizon)
	harness.Await(t, "a node to be waited for", time.Minute, func() bool {
		c := a.Node.Forget.Compactor.Compaction()
		return c != nil && c.Phase == "purging" && len(c.WaitingFor) == 1
	})
	if state, err := a.Node.Log.State(t.Context()); err != nil || state.First != 1 {
		t.Fatalf("%+v, %v", state, err)
	}
	hold.Release()
	awaitBase(t, b, horizon)
	awaitPurged(t, a, horizon)
}
