package group

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/tests/suite"
)

// want fails the test unless an error has a code, "" for none.
func want(t *testing.T, code fanfold.Code, err error) {
	t.Helper()
	if fanfold.CodeOf(err) != code {
		t.Fatalf("the error is %v, want %q", err, code)
	}
}

// TestGroupCounts: a database has MaxGroups groups, a group MaxMembers members, and one member leases MaxPartitions partitions.
func TestGroupCounts(t *testing.T) {
	g := newGroups(newMemoryKV(), memoryModel{}, memoryModel{}, Options{Now: fixed})
	ctx := context.Background()
	for i := range MaxGroups {
		created, err := g.Put(ctx, fmt.Sprint("g", i), Settings{})
		if err != nil || !created {
			t.Fatalf("group %d: %v, %v", i, created, err)
		}
	}
	_, err := g.Put(ctx, "more", Settings{})
	want(t, fanfold.Unprocessable, err)
	_, err = g.Put(ctx, "g0", Settings{MaxAttempts: 1})
	want(t, "", err)
	want(t, "", g.Delete(ctx, "g1"))
	_, err = g.Put(ctx, "more", Settings{Partitions: MaxPartitions})
	want(t, "", err)
	if leases, err := g.Lease(ctx, "more", "m", 0); err != nil || len(leases) != MaxPartitions {
		t.Fatalf("%d leases, %v", len(leases), err)
	}
	for i := range MaxMembers {
		_, err := g.Lease(ctx, "g0", fmt.Sprint("m", i), 1)
		want(t, "", err)
	}
	_, err = g.Lease(ctx, "g0", "more", 1)
	want(t, fanfold.Unprocessable, err)
}

// TestParkingIsBounded: a batch that would be one too many parked ones comes again instead, until there is room.
func TestParkingIsBounded(t *testing.T) {
	kv := newMemoryKV()
	g := newGroups(kv, memoryModel{}, memoryModel{}, Options{Now: fixed})
	ctx := context.Background()
	_, err := g.Put(ctx, "g", Settings{Partitions: 11, MaxAttempts: 1})
	want(t, "", err)
	leases, err := g.Lease(ctx, "g", "m", 0)
	want(t, "", err)
	parked := func() int {
		list, err := g.Parked(ctx, "g")
		want(t, "", err)
		return len(list)
	}
	fail := func(n, seq int) {
		want(t, "", g.Nack(ctx, "g", Batch{Partition: n, Token: leases[n].Token, Position: fmt.Sprintf("%d-0", seq)}, "e"))
	}
	for seq := range maxParkedHere + 1 {
		fail(0, seq+1)
	}
	if n := parked(); n != maxParkedHere {
		t.Fatalf("%d batches of a partition are parked", n)
	}
	for n := 1; n < 11; n++ {
		for seq := range maxParkedHere {
			fail(n, seq+1)
		}
	}
	if n := parked(); n != MaxParked {
		t.Fatalf("%d batches of a group are parked", n)
	}
	want(t, "", g.DropParked(ctx, "g", "0-5"))
	want(t, fanfold.NotFound, g.DropParked(ctx, "g", "0-5"))
	want(t, fanfold.NotFound, g.Retry(ctx, "g", "0-5"))
	fail(10, 500)
	if n := parked(); n != MaxParked {
		t.Fatalf("with room for one more, %d batches are parked", n)
	}
	want(t, "", g.Delete(ctx, "g"))
	for key, e := range kv.entries {
		if e.Value != nil {
			t.Errorf("a deleted group leaves %s", key)
		}
	}
}

// TestLagIsBounded: a lag is counted if no more than LagBound changes are after the checkpoint, and with a filter no more than
// FilterBound. Otherwise it has a bound.
func TestLagIsBounded(t *testing.T) {
	for _, c := range []struct {
		settings Settings
		opt      Options
	}{{Settings{Partitions: 2}, Options{Now: fixed, LagBound: 10}}, {Settings{Partitions: 2, Filter: "true"}, Options{Now: fixed, FilterBound: 10}}} {
		lagIsBounded(t, c.settings, c.opt)
	}
}

func lagIsBounded(t *testing.T, settings Settings, opt Options) {
	t.Helper()
	var model memoryModel
	for i := range 30 {
		model = append(model, fanfold.Change{Position: fanfold.At(uint64(i+1), 0), Ordinal: int64(i + 1), Key: fanfold.Key{Collection: "books", ID: fmt.Sprint(i)}, Time: begin.Add(time.Duration(i-60) * time.Second)})
	}
	g := newGroups(newMemoryKV(), model, model, opt)
	ctx := context.Background()
	_, err := g.Put(ctx, "g", settings)
	want(t, "", err)
	leases, err := g.Lease(ctx, "g", "m", 0)
	want(t, "", err)
	d, err := g.Describe(ctx, "g")
	if err != nil || d.Lag.Changes != nil || d.Partitions[0].Lag.Changes != nil || *d.Lag.Most != 30 || *d.Partitions[0].Lag.Most != 30 {
		t.Fatalf("with too much behind it, %+v, %v", d, err)
	}
	want(t, "", g.Ack(ctx, "g", Batch{Partition: 1, Token: leases[1].Token, Position: "25-0"}))
	count, oldest := int64(0), 0.0
	for _, ch := range model[25:] {
		if ch.Key.Partition(2) == 1 {
			if count++; count == 1 {
				oldest = begin.Sub(ch.Time).Seconds()
			}
		}
	}
	d, err = g.Describe(ctx, "g")
	if err != nil || d.Lag.Changes != nil || *d.Lag.Most != 30 || d.Partitions[0].Lag.Changes != nil || d.Partitions[1].Lag.Most != nil || *d.Partitions[1].Lag.Changes != count || *d.Partitions[1].Lag.Seconds != oldest {
		t.Fatalf("with one partition further on, %+v, %v; want %d, %v", d, err, count, oldest)
	}
}

// TestRandomClocks lets members on two nodes, whose clocks jump, lease, acknowledge, fail and release at the same time. Every
// value that a partition ever had follows from the one before. The checkpoint never goes back, only the lease that the
// partition has moves it, and no token is given twice.
func TestRandomClocks(t *testing.T) {
	suite.Concurrent(t)
	const partitions, workers, rounds = 4, 6, 150
	kv := newMemoryKV()
	jumping := func() time.Time { return begin.Add(time.Duration(rand.IntN(7200)-3600) * time.Second) }
	nodes := []*Groups{newGroups(kv, memoryModel{}, memoryModel{}, Options{Now: jumping}), newGroups(kv, memoryModel{}, memoryModel{}, Options{Now: jumping})}
	ctx := context.Background()
	_, err := nodes[0].Put(ctx, "g", Settings{Partitions: partitions, MaxAttempts: 2})
	want(t, "", err)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range rounds {
				g := nodes[rand.IntN(len(nodes))]
				leases, err := g.Lease(ctx, "g", fmt.Sprint("m", w), 0)
				if err != nil && fanfold.CodeOf(err) != fanfold.Busy {
					t.Error(err)
				}
				for _, l := range leases {
					b := Batch{Partition: l.Partition, Token: l.Token, Position: fmt.Sprintf("%d-0", rand.IntN(1000)+1)}
					switch rand.IntN(6) {
					case 0:
						err = g.Nack(ctx, "g", b, "e")
					case 1:
						err = g.Release(ctx, "g", b.Partition, b.Token)
					default:
						err = g.Ack(ctx, "g", b)
					}
					if code := fanfold.CodeOf(err); code != "" && code != fanfold.LeaseLost && code != fanfold.Busy {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	values := 0
	for key, history := range kv.history {
		if strings.Contains(key, ".partition.") {
			values += len(history)
			checkHistory(t, key, history)
		}
	}
	if values < rounds {
		t.Errorf("the partitions had %d values only", values)
	}
}

// TestClockThatWasAhead: a node whose clock was an hour ahead has written leases, members and a batch's back-off. Once the clock is right
// again, these hold nobody up for longer than a lease or a back-off.
func TestClockThatWasAhead(t *testing.T) {
	now := begin
	g := newGroups(newMemoryKV(), memoryModel{}, memoryModel{}, Options{Now: func() time.Time { return now }})
	ctx := context.Background()
	_, err := g.Put(ctx, "g", Settings{Partitions: 4, Lease: Duration(10 * time.Second)})
	want(t, "", err)
	lease := func(member string) []wire.Lease {
		t.Helper()
		leases, err := g.Lease(ctx, "g", member, 0)
		want(t, "", err)
		return leases
	}
	lease("m0")
	lease("m1")
	now = now.Add(time.Hour)
	all := lease("m0")
	if len(all) != 4 {
		t.Fatalf("an hour ahead, one member has %d partitions", len(all))
	}
	want(t, "", g.Nack(ctx, "g", Batch{Partition: 3, Token: all[3].Token, Position: "1-0"}, "e"))
	lease("gone")
	now = now.Add(-time.Hour)
	var had [2]int
	for range 22 {
		now = now.Add(time.Second)
		had = [2]int{len(lease("m0")), len(lease("m1"))}
	}
	if had != [2]int{2, 2} {
		t.Errorf("two leases after the clock was set right, two members have %v partitions", had)
	}
	token := ""
	for _, l := range append(lease("m0"), lease("m1")...) {
		if l.Partition == 3 {
			token = l.Token
		}
	}
	_, scope, err := g.read(ctx, "g", 3, token)
	want(t, "", err)
	if scope.Wait > maxBackOff {
		t.Errorf("the batch waits for %v", scope.Wait)
	}
}

// checkHistory holds every value that a partition had against the one before.
func checkHistory(t *testing.T, key string, history [][]byte) {
	t.Helper()
	before, tokens := partition{}, map[string]bool{}
	for i, value := range history {
		var p partition
		if err := json.Unmarshal(value, &p); err != nil {
			t.Fatal(err)
		}
		switch {
		case p.Checkpoint < before.Checkpoint:
			t.Fatalf("%s, value %d: the checkpoint goes back from %v to %v", key, i, before.Checkpoint, p.Checkpoint)
		case p.Checkpoint != before.Checkpoint && (p.Token != before.Token || p.Token == ""):
			t.Fatalf("%s, value %d: the checkpoint moves without the lease", key, i)
		case p.Token != before.Token && tokens[p.Token]:
			t.Fatalf("%s, value %d: token %s is given twice", key, i, p.Token)
		}
		if before = p; p.Token != "" {
			tokens[p.Token] = true
		}
	}
}

// TestGroupOfAnotherStore: a group whose positions are of another store answers nothing, and can be deleted and made anew.
func TestGroupOfAnotherStore(t *testing.T) {
	kv, ctx := newMemoryKV(), context.Background()
	_, err := newGroups(kv, memoryModel{}, memoryModel{}, Options{Now: fixed, Issuer: fanfold.Issuer{Store: "aaaaaaaa"}}).Put(ctx, "g", Settings{})
	want(t, "", err)
	g := newGroups(kv, memoryModel{}, memoryModel{}, Options{Now: fixed, Issuer: fanfold.Issuer{Store: "bbbbbbbb"}})
	_, err = g.Lease(ctx, "g", "m", 0)
	want(t, fanfold.StoreChanged, err)
	_, err = g.Put(ctx, "g", Settings{})
	want(t, fanfold.StoreChanged, err)
	want(t, "", g.Delete(ctx, "g"))
	_, err = g.Put(ctx, "g", Settings{})
	want(t, "", err)
}
