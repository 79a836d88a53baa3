package buckets_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// openBucket starts an embedded server on a directory, and returns a bucket beside its log and what closes all of it.
func openBucket(t *testing.T, dir string, fsync func(*os.File) error) (kv *buckets.KeyValue, stop func()) {
	t.Helper()
	e, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, Durability: embedded.Always, Fsync: fsync})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := e.Connect()
	if err != nil {
		t.Fatal(err)
	}
	l, err := events.Open(t.Context(), nc, events.Options{Embedded: e})
	if err != nil {
		t.Fatal(err)
	}
	return buckets.NewKeyValue(l, "test"), func() {
		nc.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// wantValue fails the test unless a key has a value, "" for none.
func wantValue(t *testing.T, kv *buckets.KeyValue, key, value string) fanfold.Entry {
	t.Helper()
	e, err := kv.Get(t.Context(), key)
	if err != nil || string(e.Value) != value || (value == "") != (e.Value == nil) {
		t.Fatalf("%s has %q, %v; want %q", key, e.Value, err, value)
	}
	return e
}

// TestKeyValue: every change is a compare-and-set on the key's revision, deletes included, and all of it is there after a new
// start and after the log's end was looked at.
func TestKeyValue(t *testing.T) {
	dir := t.TempDir()
	kv, stop := openBucket(t, dir, nil)
	wantValue(t, kv, "a.1", "")
	if all, err := kv.All(t.Context(), "a"); err != nil || len(all) != 0 {
		t.Fatalf("before the first value there are %v, %v", all, err)
	}
	first, err := kv.Set(t.Context(), "a.1", []byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range []uint64{0, first + 1} {
		if _, err := kv.Set(t.Context(), "a.1", []byte("y"), revision); fanfold.CodeOf(err) != fanfold.Stale {
			t.Fatalf("a change of revision %d of a key at %d: %v", revision, first, err)
		}
	}
	second, err := kv.Set(t.Context(), "a.1", nil, first)
	if err != nil || wantValue(t, kv, "a.1", "").Revision != second {
		t.Fatalf("the delete has revision %d, %v", second, err)
	}
	if _, err := kv.Set(t.Context(), "a.1", []byte("z"), second); err != nil {
		t.Fatal(err)
	}
	for i := range 300 { // the server keeps the last of them, so that its files have gaps
		if _, err := kv.Set(t.Context(), "a.2", fmt.Append(nil, i), wantRevision(t, kv, "a.2")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := kv.Set(t.Context(), "ab", []byte("other"), 0); err != nil {
		t.Fatal(err)
	}
	check := func() {
		all, err := kv.All(t.Context(), "a")
		if err != nil || len(all) != 2 || all[0].Key != "a.1" || string(all[0].Value) != "z" || all[1].Key != "a.2" || string(all[1].Value) != "299" {
			t.Fatalf("below a are %v, %v", all, err)
		}
	}
	check()
	stop()
	if tails, err := embedded.CutTail(t.Context(), dir, 0); err != nil || len(tails) != 0 {
		t.Fatalf("the end of the log is cut: %v, %v", tails, err)
	}
	kv, stop = openBucket(t, dir, nil)
	defer stop()
	check()
	if err := kv.Drop(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wantValue(t, kv, "a.1", "")
	wantValue(t, kv, "ab", "other")
}

// wantRevision returns a key's revision.
func wantRevision(t *testing.T, kv *buckets.KeyValue, key string) uint64 {
	t.Helper()
	e, err := kv.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return e.Revision
}

// TestKeyValueIsSynced: a change is answered, and what was read is told, once the bucket's files are synced, and never again
// after an fsync that failed.
func TestKeyValueIsSynced(t *testing.T) {
	var synced atomic.Int64
	var failing atomic.Bool
	dir := t.TempDir()
	kv, stop := openBucket(t, dir, func(f *os.File) error {
		if strings.Contains(f.Name(), "KV_") {
			if failing.Load() {
				return errors.New("injected fault")
			}
			synced.Add(1)
		}
		return f.Sync()
	})
	defer stop()
	for i := range 3 {
		before := synced.Load()
		if _, err := kv.Set(t.Context(), "k", fmt.Append(nil, i), wantRevision(t, kv, "k")); err != nil || synced.Load() == before {
			t.Fatalf("change %d is answered without an fsync: %v", i, err)
		}
	}
	last := wantRevision(t, kv, "k")
	failing.Store(true)
	if _, err := kv.Set(t.Context(), "k", []byte("lost"), last); fanfold.CodeOf(err) != fanfold.Unavailable {
		t.Fatalf("a change that is not durable is answered with %v", err)
	}
	failing.Store(false)
	if e, err := kv.Get(t.Context(), "k"); err == nil {
		t.Fatalf("what is not durable is told: %s", e.Value)
	}
	if _, err := kv.Set(t.Context(), "j", []byte("x"), 0); fanfold.CodeOf(err) != fanfold.Unavailable {
		t.Fatalf("after an fsync that failed a change is answered with %v", err)
	}
}

// TestKeyValueCounts: of many who count up at the same time nobody loses one.
func TestKeyValueCounts(t *testing.T) {
	suite.Concurrent(t)
	kv, stop := openBucket(t, t.TempDir(), nil)
	defer stop()
	const workers, increments = 8, 20
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for done := 0; done < increments; {
				e, err := kv.Get(t.Context(), "n")
				n := 0
				if err == nil && e.Value != nil {
					_, err = fmt.Sscan(string(e.Value), &n)
				}
				if err == nil {
					_, err = kv.Set(t.Context(), "n", fmt.Append(nil, n+1), e.Revision)
				}
				switch fanfold.CodeOf(err) {
				case "":
					done++
				case fanfold.Stale:
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	wantValue(t, kv, "n", fmt.Sprint(workers*increments))
}

// TestRemoveAndWatch: a key is taken away without a trace unless it has changed, and who watches hears of changes.
func TestRemoveAndWatch(t *testing.T) {
	kv := buckets.NewKeyValue(open(t, natsserver.Start(t, 1)[0], 1), "test")
	if err := kv.Remove(t.Context(), "a.1", 1); err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 10)
	stop, err := kv.Watch("a", func(value []byte) { heard <- string(value) })
	if err != nil {
		t.Fatal(err)
	}
	first, err := kv.Set(t.Context(), "a.1", []byte("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != "x" {
		t.Errorf("heard %q", got)
	}
	second, err := kv.Set(t.Context(), "a.1", []byte("y"), first)
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.Remove(t.Context(), "a.1", first); err != nil {
		t.Fatal(err)
	}
	wantValue(t, kv, "a.1", "y")
	if err := kv.Remove(t.Context(), "a.1", second); err != nil {
		t.Fatal(err)
	}
	if e := wantValue(t, kv, "a.1", ""); e.Revision != 0 {
		t.Errorf("a trace is left at %d", e.Revision)
	}
	stop()
}
