package events_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/servers"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestMayPublish: what may not be published is not, by whatever way it comes, and nothing of it is stored; a fence is. An
// event that was let through is told of when it is acknowledged, and a message that may not be sent again has an unknown outcome.
func TestMayPublish(t *testing.T) {
	suite.Concurrent(t)
	url := natsserver.Start(t, 1)[0]
	proxy := natsserver.StartProxy(t, url)
	nc, err := servers.Connect(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	var forbidden atomic.Bool
	var asked, acknowledged atomic.Int64
	lapse := false // after the first publish
	l, err := events.Open(t.Context(), nc, events.Options{Attempt: 3 * time.Second, MayPublish: func() error {
		if asked.Add(1); forbidden.Load() {
			return fanfold.Errorf(fanfold.Unavailable, "forbidden")
		}
		if lapse {
			forbidden.Store(true)
		}
		return nil
	}, Acknowledged: func() { acknowledged.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), put("1", `{}`), fanfold.Expect{}); err != nil || acknowledged.Load() != 1 {
		t.Fatalf("%v, %d acknowledged", err, acknowledged.Load())
	}
	forbidden.Store(true)
	var wg sync.WaitGroup
	for range 60 { // enough for a round
		wg.Go(func() {
			if _, err := l.Append(t.Context(), put("2", `{}`), fanfold.Expect{}); fanfold.CodeOf(err) != fanfold.Unavailable {
				t.Errorf("a write that may not be published: %v", err)
			}
			if _, err := l.AppendAll(t.Context(), "tx", []fanfold.Write{{Event: put("3", `{}`)}, {Event: put("4", `{}`)}}); fanfold.CodeOf(err) != fanfold.Unavailable {
				t.Errorf("a transaction that may not be published: %v", err)
			}
			if _, err := l.Fence(t.Context()); err != nil {
				t.Errorf("a fence: %v", err)
			}
		})
	}
	wg.Wait()
	forbidden.Store(false)
	for _, id := range []string{"2", "3", "4"} {
		if rev, _, err := l.Last(t.Context(), fanfold.Key{Collection: "c", ID: id}); rev != 0 || err != nil {
			t.Errorf("%s was stored at %d, %v", id, rev, err)
		}
	}
	if _, err := l.AppendAll(t.Context(), "tx", []fanfold.Write{{Event: put("5", `{}`)}}); err != nil || acknowledged.Load() != 2 {
		t.Fatalf("%v, %d acknowledged", err, acknowledged.Load())
	}
	lapse = true
	proxy.DropAcks(1)
	if _, err := l.Append(t.Context(), put("6", `{}`), fanfold.Expect{}); fanfold.CodeOf(err) != fanfold.OutcomeUnknown {
		t.Errorf("a write whose answer was lost and that may not be sent again: %v", err)
	}
}
