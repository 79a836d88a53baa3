package buckets_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// names says which snapshots are listed: a letter for a base or a copy, and the last event.
func names(t *testing.T, s *buckets.Snapshots) (out string) {
	t.Helper()
	list, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, snap := range list {
		out += fmt.Sprint(map[bool]string{true: " base ", false: " copy "}[snap.Base], snap.Seq)
		var got bytes.Buffer
		if err := s.Get(t.Context(), snap, &got); err != nil || got.String() != fmt.Sprint("state at ", snap.Seq) {
			t.Errorf("%+v has %q, %v", snap.BaseFile, &got, err)
		}
	}
	return strings.TrimSpace(out)
}

// TestBasesAndCopiesShareAStore: a new copy takes the place of older copies alone. A purge takes bases and copies from before the horizon, and an erasure
// all but the base.
func TestBasesAndCopiesShareAStore(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	l := open(t, url, 1)
	s := buckets.NewSnapshots(l)
	put := func(snap buckets.Snapshot) buckets.Snapshot {
		t.Helper()
		snap.Store = l.Store()
		snap, err := s.Put(t.Context(), snap, strings.NewReader(fmt.Sprint("state at ", snap.Seq)))
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	put(base(3, 3))
	put(buckets.Snapshot{Seq: 4})
	keep := put(base(6, 6))
	put(buckets.Snapshot{Seq: 5})
	put(buckets.Snapshot{Seq: 7})
	put(base(9, 9))
	if got := names(t, s); got != "base 9 copy 7 base 6 copy 5 base 3" {
		t.Errorf("after three copies: %s", got)
	}
	if found, err := s.FindBase(t.Context(), 7, fanfold.Digest{}, ""); fanfold.CodeOf(err) != fanfold.LogDamaged {
		t.Errorf("a copy is taken for a base: %+v, %v", found, err)
	}
	if err := s.Remove(t.Context(), fanfold.BaseFile{Name: "other"}, 6); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s); got != "base 9 copy 7 base 6 copy 5 base 3" {
		t.Errorf("where the base to keep is not there: %s", got)
	}
	if err := s.Remove(t.Context(), keep.BaseFile, 6); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s); got != "base 9 copy 7 base 6" {
		t.Errorf("after a purge: %s", got)
	}
	if err := s.Remake(t.Context(), keep.BaseFile, 1); err != nil { // all that is there is as of no erasure
		t.Fatal(err)
	}
	if got := names(t, s); got != "base 6" {
		t.Errorf("after an erasure: %s", got)
	}
}

// TestRemovedStoreEndsPut: a snapshot that is being sent ends at once where an erasure brings the base into the other object store, and nothing of it is there.
func TestRemovedStoreEndsPut(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	l := open(t, url, 1)
	s := buckets.NewSnapshots(l)
	keep, err := s.Put(t.Context(), base(6, 6), strings.NewReader("state at 6"))
	if err != nil {
		t.Fatal(err)
	}
	moved := false
	began := time.Now()
	_, err = s.Put(t.Context(), buckets.Snapshot{Store: l.Store(), Seq: 7}, &reading{strings.NewReader("state at 7"), func() {
		if !moved {
			moved = true
			if err := s.Remake(t.Context(), keep.BaseFile, 1); err != nil {
				t.Error(err)
			}
		}
	}})
	if took := time.Since(began); fanfold.CodeOf(err) != fanfold.Conflict || took > 25*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
	if got := names(t, s); got != "base 6" {
		t.Errorf("there are %s", got)
	}
}

// TestFormerSnapshots: what former programs kept in two object stores is read, counts as every other snapshot, and its object store goes once nothing in it is
// needed.
func TestFormerSnapshots(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	l := open(t, url, 1)
	s := buckets.NewSnapshots(l)
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	digest := strings.Repeat("00", 32)
	former := func(bucket string, seq int, more map[string]string) {
		t.Helper()
		store, err := js.CreateOrUpdateObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: "fanfold_fanfold_" + bucket})
		if err != nil {
			t.Fatal(err)
		}
		meta := map[string]string{"fanfold-seq": fmt.Sprint(seq), "fanfold-digest": digest}
		for key, value := range more {
			meta[key] = value
		}
		if _, err := store.Put(t.Context(), jetstream.ObjectMeta{Name: fmt.Sprint(seq, "-x"), Metadata: meta}, strings.NewReader(fmt.Sprint("state at ", seq))); err != nil {
			t.Fatal(err)
		}
	}
	copied := map[string]string{"fanfold-store": string(l.Store()), "fanfold-fold": "f", "fanfold-event": digest}
	former("base", 3, nil)
	former("snapshots", 4, copied)
	former("snapshots", 5, copied)
	if got := names(t, s); got != "copy 5 copy 4 base 3" {
		t.Fatalf("there are %s", got)
	}
	if _, err := s.FindBase(t.Context(), 3, fanfold.Digest{}, "3-x"); err != nil {
		t.Error(err)
	}
	putCopy(t, s, buckets.Snapshot{Store: l.Store(), Seq: 6})
	if got := names(t, s); got != "copy 6 copy 5 base 3" || !there(t, js) {
		t.Errorf("there are %s; the former object store: %v", got, there(t, js))
	}
	putCopy(t, s, buckets.Snapshot{Store: l.Store(), Seq: 7})
	if got := names(t, s); got != "copy 7 copy 6 base 3" || there(t, js) {
		t.Errorf("there are %s; the former object store: %v", got, there(t, js))
	}
	former("snapshots", 8, copied)
	if err := s.Remake(t.Context(), fanfold.BaseFile{}, 0); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s); got != "" || there(t, js) {
		t.Errorf("after an erasure there are %s; the former object store: %v", got, there(t, js))
	}
}

// putCopy puts a copy.
func putCopy(t *testing.T, s *buckets.Snapshots, snap buckets.Snapshot) {
	t.Helper()
	if _, err := s.Put(t.Context(), snap, strings.NewReader(fmt.Sprint("state at ", snap.Seq))); err != nil {
		t.Fatal(err)
	}
}

// there tells whether the object store is there in which former programs kept copies.
func there(t *testing.T, js jetstream.JetStream) bool {
	t.Helper()
	_, err := js.Stream(t.Context(), "OBJ_fanfold_fanfold_snapshots")
	return err == nil
}
