package group

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
)

// numbered returns changes of as many documents, one an event.
func numbered(n int) (all memoryModel) {
	for i := range n {
		all = append(all, fanfold.Change{Position: fanfold.At(uint64(i+1), 0), Ordinal: int64(i + 1), Key: fanfold.Key{Collection: "books", ID: fmt.Sprint(i)}, Time: begin})
	}
	return all
}

// TestBehind: a group is late where a partition has yet to acknowledge a change up to a position. A checkpoint alone that is before it does not
// count: nothing of the partition may have come between. PassOver moves such checkpoints on, and leaves the others.
func TestBehind(t *testing.T) {
	all := numbered(20)
	g := newGroups(newMemoryKV(), all, all, Options{Now: fixed})
	ctx := context.Background()
	tokens := map[string][]wire.Lease{}
	for _, name := range []string{"done", "late", "none", "parked"} {
		settings := Settings{Partitions: 4, MaxAttempts: 1}
		if name == "none" {
			settings.Collections = []string{"others"}
		}
		_, err := g.Put(ctx, name, settings)
		want(t, "", err)
		leases, err := g.Lease(ctx, name, "m", 0)
		want(t, "", err)
		tokens[name] = leases
	}
	at := fanfold.At(10, 0)
	last := map[int]fanfold.Position{} // of each partition, up to at
	for _, ch := range all[:10] {
		last[ch.Key.Partition(4)] = ch.Position
	}
	for n, upTo := range last {
		b := Batch{Partition: n, Token: tokens["done"][n].Token, Position: upTo.String()}
		want(t, "", g.Ack(ctx, "done", b))
		b.Token = tokens["parked"][n].Token
		want(t, "", g.Ack(ctx, "parked", b))
		if len(last) > 1 && n == all[0].Key.Partition(4) {
			continue
		}
		b.Token = tokens["late"][n].Token
		want(t, "", g.Ack(ctx, "late", b))
	}
	names, err := g.Behind(ctx, at)
	want(t, "", err)
	if !slices.Equal(names, []string{"late"}) {
		t.Errorf("behind are %v", names)
	}
	want(t, "", g.PassOver(ctx, at))
	late := all[0].Key.Partition(4)
	for _, name := range []string{"done", "late", "none", "parked"} {
		d, err := g.Describe(ctx, name)
		want(t, "", err)
		for _, p := range d.Partitions {
			if moved := p.Checkpoint == at.String(); moved == (name == "late" && p.Partition == late) {
				t.Errorf("partition %d of %s stands at %s", p.Partition, name, p.Checkpoint)
			}
		}
	}
	next := all[10]
	n := next.Key.Partition(4)
	want(t, "", g.Nack(ctx, "parked", Batch{Partition: n, Token: tokens["parked"][n].Token, Position: next.Position.String()}, "it fails"))
	if names, err = g.Behind(ctx, next.Position); err != nil || !slices.Contains(names, "parked") {
		t.Errorf("with a parked batch, behind are %v, %v", names, err)
	}
}

// TestGonePartition: a partition before the oldest position says so, and its lag is not known. The others have theirs. It is late until it is
// reset, and keeps nothing else up.
func TestGonePartition(t *testing.T) {
	kv, all := newMemoryKV(), numbered(20)
	ctx := context.Background()
	g := newGroups(kv, all, all, Options{Now: fixed})
	_, err := g.Put(ctx, "g", Settings{Partitions: 2})
	want(t, "", err)
	leases, err := g.Lease(ctx, "g", "m", 0)
	want(t, "", err)
	want(t, "", g.Ack(ctx, "g", Batch{Partition: 1, Token: leases[1].Token, Position: "15-0"}))
	g = newGroups(kv, all[12:], all[12:], Options{Now: fixed})
	want(t, "", g.PassOver(ctx, all[12].Position))
	if names, err := g.Behind(ctx, all[13].Position); err != nil || !slices.Equal(names, []string{"g"}) {
		t.Errorf("behind are %v, %v", names, err)
	}
	d, err := g.Describe(ctx, "g")
	want(t, "", err)
	if p := d.Partitions[0]; !p.Gone || p.Lag.Changes != nil {
		t.Errorf("partition 0 is %+v", p)
	}
	if p := d.Partitions[1]; p.Gone || p.Lag.Changes == nil {
		t.Errorf("partition 1 is %+v", p)
	}
	if d.Lag.Changes != nil || d.Lag.Most != nil || d.Partitions[0].Lag.Most != nil {
		t.Errorf("the group's lag is %+v", d.Lag)
	}
}

// TestForgetParked: what consumers have said of changes goes, and what is parked stays so.
func TestForgetParked(t *testing.T) {
	all := numbered(20)
	kv := newMemoryKV()
	g := newGroups(kv, all, all, Options{Now: fixed})
	ctx := context.Background()
	for name, attempts := range map[string]int{"parked": 1, "failed": 3} {
		_, err := g.Put(ctx, name, Settings{Partitions: 1, MaxAttempts: attempts})
		want(t, "", err)
		leases, err := g.Lease(ctx, name, "m", 0)
		want(t, "", err)
		want(t, "", g.Nack(ctx, name, Batch{Partition: 0, Token: leases[0].Token, Position: all[0].Position.String()}, "no such address: ada@example.com"))
	}
	before, err := g.Parked(ctx, "parked")
	want(t, "", err)
	want(t, "", g.ForgetParked(ctx))
	after, err := g.Parked(ctx, "parked")
	want(t, "", err)
	if len(before) != 1 || before[0].Error == "" || len(after) != 1 || after[0].Error != "" || after[0].From != before[0].From || after[0].To != before[0].To {
		t.Errorf("before %+v, after %+v", before, after)
	}
	for key, e := range kv.entries {
		if strings.Contains(string(e.Value), "ada@") {
			t.Errorf("%s has %s", key, e.Value)
		}
	}
	d, err := g.Describe(ctx, "failed")
	if want(t, "", err); d.Partitions[0].Attempts != 1 || d.Partitions[0].Error != "" {
		t.Errorf("%+v", d.Partitions[0])
	}
}
