package cluster_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/membership"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestSlowerCompactionEndsWithoutEvent: while a node compacts, another one lets the store begin yet later. The slower compaction appends nothing, and the store goes on beginning where it does, also for a node that starts anew.
func TestSlowerCompactionEndsWithoutEvent(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	a := openKeeper(t, t.TempDir(), url)
	defer a.Close()
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	dir := t.TempDir()
	b := harness.Open(t, harness.Options{Dir: dir, NATS: url, Members: membership.Options{Interval: 100 * time.Millisecond, Lease: time.Minute, Gone: 2 * time.Minute}, Configure: func(cfg *node.Config) {
		cfg.PurgeWait = time.Millisecond
		cfg.Steps.Compact = func(step string) error {
			if step == rebuild.StepCompared {
				once.Do(func() { close(reached); <-release })
			}
			return nil
		}
	}})
	harness.AwaitReady(t, b, http.StatusOK)
	writeBooks(a, "x", 30)
	b.CatchUp()
	earlier := b.Node.Store.Applied.Seq()
	b.Want(http.StatusAccepted, http.MethodPost, "/v1/_compact", fmt.Sprintf(`{"before":"%d"}`, earlier), "Content-Type", "application/json")
	<-reached
	writeBooks(a, "y", 30)
	a.CatchUp()
	horizon := a.Node.Store.Applied.Seq()
	a.Compact(horizon)
	b.CatchUp()
	close(release)
	harness.Await(t, "the end of the slower compaction", time.Minute, func() bool {
		c := b.Node.Projector.Compaction()
		return c != nil && !c.Running
	})
	if c := b.Node.Projector.Compaction(); c.Error == "" {
		t.Errorf("the slower compaction has not failed: %+v", c)
	}
	awaitBase(t, b, horizon)
	awaitPurged(t, a, horizon)
	b.Close()
	b = openKeeper(t, dir, url)
	defer b.Close()
	c := openKeeper(t, t.TempDir(), url)
	defer c.Close()
	for _, s := range []*harness.Store{a, b, c} {
		if at := s.Node.Log.Prefix().Base().Seq; at != horizon {
			t.Errorf("the log begins after event %d, want %d", at, horizon)
		}
		writeBooks(s, "z", 5)
		s.CatchUp()
		s.Verify()
	}
	a.WantSameDigest(b)
	a.WantSameDigest(c)
}
