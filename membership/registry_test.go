package membership

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestLease: a node may write once it has registered and caught up. It may not after ten seconds without an acknowledged heartbeat. It may
// again once it has caught up after the next one.
func TestLease(t *testing.T) {
	suite.Concurrent(t)
	synctest.Test(t, func(t *testing.T) {
		kv := newMemoryKV()
		n := newTestNode(kv)
		n.connection.freeze()
		n.run(t)
		defer n.stop()
		if synctest.Wait(); n.writes() {
			t.Fatal("a node writes that has not registered")
		}
		n.connection.thaw()
		synctest.Wait()
		if !n.writes() || len(n.catches) != 1 || n.catches[0] == 0 {
			t.Fatalf("writes: %v, caught up at %v", n.writes(), n.catches)
		}
		time.Sleep(time.Minute)
		if !n.writes() || len(n.catches) != 1 {
			t.Fatalf("after a minute: %v, %v", n.writes(), n.catches)
		}
		n.connection.freeze()
		time.Sleep(7 * time.Second)
		if !n.writes() {
			t.Fatal("the lease has lapsed too early")
		}
		time.Sleep(3 * time.Second)
		if n.writes() || fanfold.CodeOf(n.MayWrite()) != fanfold.Unavailable {
			t.Fatalf("the lease has not lapsed: %v", n.MayWrite())
		}
		n.Acknowledged()
		if n.Late() != 1 || n.MayWrite() == nil {
			t.Errorf("%d late writes", n.Late())
		}
		n.mu.Lock()
		n.catchUpBlock = make(chan struct{})
		n.mu.Unlock()
		before := kv.lastRevision()
		n.connection.thaw()
		time.Sleep(30 * time.Second)
		if n.writes() {
			t.Fatal("a node writes that has not caught up")
		}
		close(n.catchUpBlock)
		synctest.Wait()
		if last := n.catches[len(n.catches)-1]; !n.writes() || last <= before {
			t.Fatalf("%v: caught up at %v, which is not behind %d", n.writes(), n.catches, before)
		}
	})
}

// TestLeaves: a node that ends takes its entry away, also one of a heartbeat whose acknowledgement it has not got.
func TestLeaves(t *testing.T) {
	suite.Concurrent(t)
	synctest.Test(t, func(t *testing.T) {
		for _, deaf := range []bool{false, true} {
			kv := newMemoryKV()
			n := startNode(t, kv)
			time.Sleep(3 * time.Second)
			n.connection.mu.Lock()
			n.connection.deaf = deaf
			n.connection.mu.Unlock()
			time.Sleep(3 * time.Second)
			n.stop()
			if left := kv.all(); len(left) > 0 {
				t.Errorf("unanswered: %v; it leaves %s", deaf, left[0].Value)
			}
		}
	})
}

// TestHoldRequest: a hold request returns once all others hold their writes, who go on once it is taken back and they have caught up.
func TestHoldRequest(t *testing.T) {
	suite.Concurrent(t)
	synctest.Test(t, func(t *testing.T) {
		kv := newMemoryKV()
		a, b, c := startNode(t, kv), startNode(t, kv), startNode(t, kv)
		defer a.stop()
		defer b.stop()
		defer c.stop()
		time.Sleep(3 * time.Second)
		release, err := a.RequestHold(t.Context())
		if err != nil || b.writes() || c.writes() || !b.HoldsWrites() {
			t.Fatalf("%v, b writes: %v, c writes: %v", err, b.writes(), c.writes())
		}
		if err := a.ConfirmHold(t.Context()); err != nil {
			t.Fatal(err)
		}
		late := startNode(t, kv)
		defer late.stop()
		if time.Sleep(3 * time.Second); late.writes() {
			t.Fatal("a node that joined meanwhile does not hold its writes")
		}
		asked := kv.lastRevision()
		release()
		time.Sleep(3 * time.Second)
		for name, n := range map[string]*testNode{"b": b, "c": c, "late": late} {
			if !n.writes() || n.catches[len(n.catches)-1] < asked {
				t.Errorf("%s: %v, %v", name, n.writes(), n.catches)
			}
		}
		if !a.writes() {
			t.Error("the node that asked does not write")
		}
	})
}

// TestHoldRequestsOfTwo: two nodes that ask at the same time both come to an end.
func TestHoldRequestsOfTwo(t *testing.T) {
	suite.Concurrent(t)
	synctest.Test(t, func(t *testing.T) {
		kv := newMemoryKV()
		a, b := startNode(t, kv), startNode(t, kv)
		defer a.stop()
		defer b.stop()
		time.Sleep(3 * time.Second)
		done := make(chan error, 2)
		for _, n := range []*testNode{a, b} {
			go func() {
				release, err := n.RequestHold(t.Context())
				if err == nil {
					time.Sleep(time.Second)
					release()
				}
				done <- err
			}()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if time.Sleep(3 * time.Second); !a.writes() || !b.writes() {
			t.Error("the nodes do not write again")
		}
	})
}

// TestHoldRequestWithFrozenNode: the others wait for a node that does not answer until its entry is gone, and use no clock of its own.
// They go on writing meanwhile. When it comes back it may not write before it has caught up.
func TestHoldRequestWithFrozenNode(t *testing.T) {
	suite.Concurrent(t)
	synctest.Test(t, func(t *testing.T) {
		kv := newMemoryKV()
		a, b, frozen := startNode(t, kv), startNode(t, kv), startNode(t, kv)
		defer a.stop()
		defer b.stop()
		defer frozen.stop()
		time.Sleep(3 * time.Second)
		frozen.connection.freeze()
		time.Sleep(6 * time.Second)
		began, done := time.Now(), make(chan error, 1)
		var release func()
		go func() {
			var err error
			release, err = a.RequestHold(t.Context())
			done <- err
		}()
		time.Sleep(10 * time.Second)
		if !b.writes() || len(a.WaitingFor()) != 1 || !strings.Contains(a.WaitingFor()[0], frozen.ID()) {
			t.Fatalf("b writes: %v; a waits for %v", b.writes(), a.WaitingFor())
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 12*time.Second || took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		frozen.connection.thaw()
		time.Sleep(5 * time.Second)
		if frozen.writes() || a.ConfirmHold(t.Context()) != nil {
			t.Errorf("the node that came back writes: %v; %v", frozen.writes(), a.ConfirmHold(t.Context()))
		}
		release()
		if time.Sleep(5 * time.Second); !frozen.writes() {
			t.Error("the node that came back does not write")
		}
	})
}

// TestHoldRequestOfFrozenNode: where the node that asks freezes, the others hold their writes until it is gone, and its request is not
// confirmed afterwards before they hold them again.
func TestHoldRequestOfFrozenNode(t *testing.T) {
	suite.Concurrent(t)
	synctest.Test(t, func(t *testing.T) {
		kv := newMemoryKV()
		a, b := startNode(t, kv), startNode(t, kv)
		defer a.stop()
		defer b.stop()
		time.Sleep(3 * time.Second)
		release, err := a.RequestHold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a.connection.freeze()
		time.Sleep(15 * time.Second)
		if b.writes() || a.MayWrite() == nil {
			t.Fatalf("b writes: %v; a may write: %v", b.writes(), a.MayWrite())
		}
		if time.Sleep(10 * time.Second); !b.writes() {
			t.Fatal("b holds its writes for a node that is gone")
		}
		a.connection.thaw()
		if err := a.ConfirmHold(t.Context()); err == nil {
			t.Error("the ask is confirmed although b has not held its writes all the time")
		}
		release()
	})
}

// TestHoldRequestEnds: a hold request ends with its ctx, and says for whom it waited; a refused one holds up nobody.
func TestHoldRequestEnds(t *testing.T) {
	suite.Concurrent(t)
	synctest.Test(t, func(t *testing.T) {
		kv := newMemoryKV()
		a, b := startNode(t, kv), startNode(t, kv)
		defer a.stop()
		defer b.stop()
		time.Sleep(3 * time.Second)
		b.connection.freeze()
		time.Sleep(6 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := a.RequestHold(ctx)
		if fanfold.CodeOf(err) != fanfold.Unavailable || !strings.Contains(err.Error(), b.ID()) {
			t.Errorf("%v does not name %s", err, b.ID())
		}
		b.connection.thaw()
		time.Sleep(5 * time.Second)
		if release, err := a.RequestHold(t.Context()); err != nil {
			t.Error(err)
		} else {
			release()
		}
	})
}

// TestLeaving: a node that ends takes its entry away, and one that is gone for an hour has its taken away.
func TestLeaving(t *testing.T) {
	suite.Concurrent(t)
	synctest.Test(t, func(t *testing.T) {
		kv := newMemoryKV()
		a, b, lost := startNode(t, kv), startNode(t, kv), startNode(t, kv)
		defer a.stop()
		time.Sleep(3 * time.Second)
		if live, err := a.Live(t.Context()); err != nil || len(live) != 3 {
			t.Fatalf("%v, %v", live, err)
		}
		b.stop()
		lost.connection.freeze()
		lost.stop()
		if live, err := a.Live(t.Context()); err != nil || len(live) != 2 {
			t.Fatalf("%v, %v", live, err)
		}
		time.Sleep(25 * time.Second)
		if live, err := a.Live(t.Context()); err != nil || len(live) != 1 || len(a.Nodes()) != 2 {
			t.Fatalf("%v, %v, %v", live, a.Nodes(), err)
		}
		if time.Sleep(time.Hour); len(kv.all()) != 1 {
			t.Fatalf("%v", kv.all())
		}
	})
}

// TestSameID: of two processes with one id, one takes another.
func TestSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := newMemoryKV()
		a := startNode(t, kv)
		defer a.stop()
		time.Sleep(3 * time.Second)
		b := &testNode{connection: newConnection(kv), held: true}
		b.Registry = New(b.connection, b, a.opt)
		b.run(t)
		defer b.stop()
		time.Sleep(5 * time.Second)
		if a.ID() == b.ID() || !a.writes() || !b.writes() || len(a.Nodes()) != 2 {
			t.Fatalf("%s %v, %s %v: %v", a.ID(), a.writes(), b.ID(), b.writes(), a.Nodes())
		}
	})
}

// TestOldAnswer: an answer that lacks the node's own heartbeat is an old one, by which nothing is decided.
func TestOldAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := newMemoryKV()
		a := startNode(t, kv)
		defer a.stop()
		time.Sleep(3 * time.Second)
		a.connection.mu.Lock()
		a.connection.lags = true
		a.connection.mu.Unlock()
		if _, err := a.Live(t.Context()); fanfold.CodeOf(err) != fanfold.Unavailable {
			t.Error(err)
		}
		if _, err := a.RequestHold(t.Context()); fanfold.CodeOf(err) != fanfold.Unavailable {
			t.Error(err)
		}
	})
}

// TestEntriesOfOthers: what the bucket has is read within bounds; an entry that cannot be read counts as a node that does
// not answer.
func TestEntriesOfOthers(t *testing.T) {
	suite.Concurrent(t)
	id := NewID()
	for name, value := range map[string]string{
		"too large":      `{"id":"` + id + `","version":"` + strings.Repeat("v", maxRecordBytes) + `"}`,
		"not JSON":       `{`,
		"long address":   `{"id":"` + id + `","address":"` + strings.Repeat("a", maxTextBytes+1) + `"}`,
		"another's":      `{"id":"` + NewID() + `"}`,
		"too many holds": `{"id":"` + id + `","holds":["x"` + strings.Repeat(`,"x"`, MaxNodes) + `]}`,
		"negative":       `{"id":"` + id + `","lagSeconds":-1}`,
	} {
		if _, err := readNodeRecord(fanfold.Entry{Key: prefix + "." + id, Value: []byte(value)}); fanfold.CodeOf(err) != fanfold.Invalid || len(err.Error()) > 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		kv := newMemoryKV()
		if _, err := kv.set(prefix+"."+id, []byte("garbage"), 0); err != nil {
			t.Fatal(err)
		}
		a := startNode(t, kv)
		defer a.stop()
		synctest.Wait()
		if nodes := a.Nodes(); len(nodes) != 2 || !a.writes() {
			t.Fatalf("%v, %v", nodes, a.writes())
		}
		began := time.Now()
		release, err := a.RequestHold(t.Context())
		if err != nil || time.Since(began) < 15*time.Second {
			t.Fatalf("%v after %v", err, time.Since(began))
		}
		release()
	})
}

// TestTooManyNodes: a node more than MaxNodes takes no writes.
func TestTooManyNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := newMemoryKV()
		for range MaxNodes {
			if _, err := kv.set(prefix+"."+NewID(), []byte("{}"), 0); err != nil {
				t.Fatal(err)
			}
		}
		a := startNode(t, kv)
		defer a.stop()
		if time.Sleep(5 * time.Second); a.writes() {
			t.Error("it writes")
		}
	})
}
