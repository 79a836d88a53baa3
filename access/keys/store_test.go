package keys_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// openLog starts an embedded server on a directory, and returns its log and what closes both.
func openLog(t testing.TB, dir string, durability embedded.Durability) (l *events.Log, stop func()) {
	t.Helper()
	e, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, Durability: durability})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := e.Connect()
	if err != nil {
		t.Fatal(err)
	}
	if l, err = events.Open(t.Context(), nc, events.Options{Embedded: e}); err != nil {
		t.Fatal(err)
	}
	return l, sync.OnceFunc(func() {
		nc.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}

// newLog is openLog on a directory of the test's.
func newLog(t *testing.T) *events.Log {
	t.Helper()
	l, stop := openLog(t, t.TempDir(), embedded.Interval)
	t.Cleanup(stop)
	return l
}

// bucketOf returns a log's bucket of keys, as a node of its own has it.
func bucketOf(l *events.Log) *buckets.KeyValue { return buckets.NewKeyValue(l, "keys") }

// clock is a time of day that a test moves.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) move(d time.Duration) { c.ahead.Add(int64(d)) }

// open opens a store.
func open(t *testing.T, b keys.Bucket, opt keys.Options) *keys.Store {
	t.Helper()
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := keys.Open(t.Context(), b, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// running is open, and runs the store until the test's end.
func running(t *testing.T, b keys.Bucket, opt keys.Options) *keys.Store {
	t.Helper()
	s := open(t, b, opt)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// create makes a key.
func create(t *testing.T, s *keys.Store, roles ...string) access.Key {
	t.Helper()
	_, key, err := s.Create(t.Context(), keys.Settings{Name: "a key", Roles: roles})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// enter sends a key.
func enter(s *keys.Store, key access.Key) (*access.Principal, error) {
	return s.Authenticate([]string{"Bearer " + key.Text()})
}

// want fails the test unless an error has a code, "" for none.
func want(t *testing.T, code fanfold.Code, err error) {
	t.Helper()
	if fanfold.CodeOf(err) != code {
		t.Fatalf("the error is %v, want %q", err, code)
	}
}

// wantIn fails the test unless a key lets in with some roles; none is for a key that does not work.
func wantIn(t *testing.T, s *keys.Store, key access.Key, roles ...string) *access.Principal {
	t.Helper()
	p, err := enter(s, key)
	if len(roles) == 0 {
		if want(t, fanfold.Unauthenticated, err); p != nil {
			t.Fatalf("%v was let in", p)
		}
		return nil
	}
	if err != nil || p.ID != key.ID || !slices.Equal(p.Roles, roles) || !s.Valid(p) {
		t.Fatalf("%s is %+v, %v; want the roles %v", key, p, err, roles)
	}
	return p
}

// TestFirstKeyClosesTheHouse: everybody is let in before the first key, which must be an admin's. From then on nobody enters without
// one: on every node, after a restart, and when no key is left that works.
func TestFirstKeyClosesTheHouse(t *testing.T) {
	suite.Concurrent(t)
	dir, c := t.TempDir(), &clock{}
	l, stop := openLog(t, dir, embedded.Always)
	s := open(t, bucketOf(l), keys.Options{Now: c.now})
	other := running(t, bucketOf(l), keys.Options{Now: c.now})
	p, err := s.Authenticate([]string{"Bearer x"})
	if err != nil || p != access.Open || s.Closed() || !s.Valid(p) {
		t.Fatalf("an open store knows %v, %v", p, err)
	}
	_, _, err = s.Create(t.Context(), keys.Settings{Name: "first", Roles: []string{"read", "write"}})
	if want(t, fanfold.Unprocessable, err); s.Closed() {
		t.Fatal("a refused key closed the store")
	}
	end := c.now().Add(time.Hour)
	e, key, err := s.Create(t.Context(), keys.Settings{Name: "first", Roles: []string{"write", "admin"}, Expires: &end})
	if err != nil || e.ID != key.ID || e.Name != "first" || !slices.Equal(e.Roles, []string{"admin", "write"}) || len(e.Secrets) != 1 {
		t.Fatalf("the first key is %+v, %v", e, err)
	}
	if s.Valid(access.Open) || !s.Closed() {
		t.Fatal("the store is open, still")
	}
	wantIn(t, s, key, "admin", "write")
	harness.Await(t, "the other node to know the key", harness.WaitTime, other.Closed)
	wantIn(t, other, key, "admin", "write")
	_, err = other.Authenticate(nil)
	want(t, fanfold.Unauthenticated, err)
	stop()
	l, stop = openLog(t, dir, embedded.Always)
	defer stop()
	s = open(t, bucketOf(l), keys.Options{Now: c.now})
	wantIn(t, s, key, "admin", "write")
	c.move(2 * time.Hour)
	s = open(t, bucketOf(l), keys.Options{Now: c.now})
	if wantIn(t, s, key); !s.Closed() {
		t.Fatal("the store opened by itself")
	}
}

// TestChangesOfKeys: name, roles and end change as asked, revoking keeps the record, a second time forgets it, and a key that is
// revoked does not change.
func TestChangesOfKeys(t *testing.T) {
	l, c := newLog(t), &clock{}
	s := open(t, bucketOf(l), keys.Options{Now: c.now})
	create(t, s, "admin")
	key := create(t, s, "read")
	before := wantIn(t, s, key, "read")
	ctx, name, roles, end := t.Context(), "another name", []string{"write", "support"}, c.now().Add(time.Hour).In(time.FixedZone("", 7200))
	never := (*time.Time)(nil)
	ends := &end
	e, err := s.Change(ctx, key.ID, keys.Patch{Name: &name})
	if err != nil || e.Name != name || !slices.Equal(e.Roles, []string{"read"}) || !s.Valid(before) {
		t.Fatalf("%+v, %v", e, err)
	}
	e, err = s.Change(ctx, key.ID, keys.Patch{Roles: &roles, Expires: &ends})
	if err != nil || e.Name != name || e.Expires == nil || !e.Expires.Equal(end) || e.Expires.Location() != time.UTC || s.Valid(before) {
		t.Fatalf("%+v, %v", e, err)
	}
	after := wantIn(t, s, key, "support", "write")
	if e, err = s.Change(ctx, key.ID, keys.Patch{Expires: &never}); err != nil || e.Expires != nil || !s.Valid(after) {
		t.Fatalf("%+v, %v", e, err)
	}
	_, err = s.Change(ctx, "nosuchkey000", keys.Patch{})
	want(t, fanfold.NotFound, err)
	want(t, "", s.Revoke(ctx, key.ID))
	wantIn(t, s, key)
	if e, err = s.Get(key.ID); err != nil || e.Revoked == nil || e.Name != name || !slices.Equal(e.Roles, []string{"support", "write"}) || len(e.Secrets) != 0 || s.Valid(after) {
		t.Fatalf("the record is %+v, %v", e, err)
	}
	_, err = s.Change(ctx, key.ID, keys.Patch{Roles: &roles})
	want(t, fanfold.Conflict, err)
	_, _, err = s.Rotate(ctx, key.ID, 0)
	want(t, fanfold.Conflict, err)
	want(t, "", s.Revoke(ctx, key.ID))
	_, err = s.Get(key.ID)
	want(t, fanfold.NotFound, err)
	want(t, fanfold.NotFound, s.Revoke(ctx, key.ID))
	if wantIn(t, s, key); len(s.List()) != 1 || s.Len() != 1 {
		t.Fatalf("there are %v", s.List())
	}
	all, err := bucketOf(l).All(ctx, "keys")
	if err != nil || len(all) != 3 || slices.ContainsFunc(all, func(e fanfold.Entry) bool { return bytes.Contains(e.Value, []byte(name)) }) {
		t.Fatalf("the bucket has %v, %v", all, err)
	}
}

// TestSecretsAreNotKept: the bucket has no secret, neither of a key that was made nor of one that was rotated.
func TestSecretsAreNotKept(t *testing.T) {
	l := newLog(t)
	s := open(t, bucketOf(l), keys.Options{})
	key := create(t, s, "admin")
	_, next, err := s.Rotate(t.Context(), key.ID, time.Hour)
	want(t, "", err)
	all, err := bucketOf(l).All(t.Context(), "keys")
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, e := range all {
		for _, k := range []access.Key{key, next} {
			if secret := k.Text()[17:60]; bytes.Contains(e.Value, []byte(secret)) || bytes.Contains(e.Value, []byte(base64.StdEncoding.EncodeToString([]byte(secret)))) {
				t.Errorf("%s has a secret: %s", e.Key, e.Value)
			}
		}
	}
}

// TestLastAdmin: the last working key with admin keeps its role, and neither ends nor is revoked, until there is another one.
func TestLastAdmin(t *testing.T) {
	c := &clock{}
	s := open(t, bucketOf(newLog(t)), keys.Options{Now: c.now, MaxAge: 24 * time.Hour})
	ctx, none, name, later := t.Context(), []string{"read"}, "x", c.now().Add(time.Hour)
	ends, still := &later, []string{"admin", "read"}
	key := create(t, s, "admin")
	create(t, s, "read")
	refused := func(key access.Key) {
		t.Helper()
		want(t, fanfold.Conflict, s.Revoke(ctx, key.ID))
		_, err := s.Change(ctx, key.ID, keys.Patch{Roles: &none})
		want(t, fanfold.Conflict, err)
		_, err = s.Change(ctx, key.ID, keys.Patch{Expires: &ends})
		want(t, fanfold.Conflict, err)
		wantIn(t, s, key, "admin")
	}
	refused(key)
	_, err := s.Change(ctx, key.ID, keys.Patch{Name: &name, Roles: &still})
	want(t, "", err)
	still = still[:1]
	_, err = s.Change(ctx, key.ID, keys.Patch{Roles: &still})
	want(t, "", err)
	soon := c.now().Add(time.Minute)
	_, short, err := s.Create(ctx, keys.Settings{Name: "short", Roles: []string{"admin"}, Expires: &soon})
	want(t, "", err)
	c.move(time.Hour / 2) // one that has ended does not count
	refused(key)
	want(t, "", s.Revoke(ctx, short.ID))
	refused(key)
	second := create(t, s, "admin")
	want(t, "", s.Revoke(ctx, key.ID))
	refused(second)
	wantIn(t, s, key)
}

// TestAdminsRevokedAtOnce: of two keys with admin one stays, however many revoke them on two nodes at once.
func TestAdminsRevokedAtOnce(t *testing.T) {
	suite.Concurrent(t)
	l := newLog(t)
	stores := []*keys.Store{open(t, bucketOf(l), keys.Options{}), open(t, bucketOf(l), keys.Options{})}
	admins := []access.Key{create(t, stores[0], "admin"), create(t, stores[0], "admin")}
	for round := range 5 {
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				err := stores[i%2].Revoke(t.Context(), admins[i/2%2].ID)
				if code := fanfold.CodeOf(err); code != "" && code != fanfold.Conflict && code != fanfold.NotFound {
					t.Errorf("a revoke: %v", err)
				}
			})
		}
		all.Wait()
		fresh := open(t, bucketOf(l), keys.Options{})
		var left []access.Key
		for _, key := range admins {
			if _, err := enter(fresh, key); err == nil {
				left = append(left, key)
			}
		}
		if len(left) != 1 || len(fresh.List()) != 1 {
			t.Fatalf("round %d: %d keys work, of %d", round, len(left), len(fresh.List()))
		}
		admins = []access.Key{left[0], create(t, stores[round%2], "admin")}
	}
}

// faultyBucket fails where a test says so.
type faultyBucket struct {
	keys.Bucket
	mu   sync.Mutex
	fail func(call, key string) (before, after error)
}

var errInjected = fanfold.Errorf(fanfold.Unavailable, "injected fault")

// set sets what fails, nil for nothing.
func (b *faultyBucket) set(fail func(call, key string) (before, after error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = fail
}

func (b *faultyBucket) errs(call, key string) (before, after error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail == nil {
		return nil, nil
	}
	return b.fail(call, key)
}

func (b *faultyBucket) Get(ctx context.Context, key string) (fanfold.Entry, error) {
	if err, _ := b.errs("get", key); err != nil {
		return fanfold.Entry{}, err
	}
	return b.Bucket.Get(ctx, key)
}

func (b *faultyBucket) Set(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	before, after := b.errs("set", key)
	if before != nil {
		return 0, before
	}
	seq, err := b.Bucket.Set(ctx, key, value, revision)
	return seq, cmp.Or(err, after)
}

func (b *faultyBucket) Remove(ctx context.Context, key string, revision uint64) error {
	if err, _ := b.errs("remove", key); err != nil {
		return err
	}
	return b.Bucket.Remove(ctx, key, revision)
}

// entriesFail fails every write of a key's own entry, as if the node were killed between the two writes of a change.
func entriesFail(call, key string) (before, after error) {
	if call != "get" && !strings.HasSuffix(key, "_state") {
		return errInjected, nil
	}
	return nil, nil
}

// TestKilledBetweenTheWrites: a change counts as made once its first write was made: for whoever reads, after a new start, and
// after the next change by another node.
func TestKilledBetweenTheWrites(t *testing.T) {
	l := newLog(t)
	b := &faultyBucket{Bucket: bucketOf(l)}
	s, ctx := open(t, b, keys.Options{}), t.Context()
	admin, name := create(t, s, "admin"), "renamed"
	kept := create(t, s, "read")
	var made, next access.Key
	for _, step := range []struct {
		what  string
		do    func() error
		holds func(s *keys.Store) bool
	}{
		{"create", func() (err error) {
			_, made, err = s.Create(ctx, keys.Settings{Name: "new", Roles: []string{"read"}})
			return err
		}, func(s *keys.Store) bool { _, err := enter(s, made); return err == nil && s.Len() == 3 }},
		{"change", func() error { _, err := s.Change(ctx, kept.ID, keys.Patch{Name: &name}); return err },
			func(s *keys.Store) bool { e, err := s.Get(kept.ID); return err == nil && e.Name == name }},
		{"rotate", func() (err error) { _, next, err = s.Rotate(ctx, kept.ID, 0); return err },
			func(s *keys.Store) bool {
				_, old := enter(s, kept)
				_, err := enter(s, next)
				return old != nil && err == nil
			}},
		{"revoke", func() error { return s.Revoke(ctx, made.ID) },
			func(s *keys.Store) bool {
				e, err := s.Get(made.ID)
				_, in := enter(s, made)
				return err == nil && e.Revoked != nil && in != nil
			}},
		{"forget", func() error { return s.Revoke(ctx, made.ID) },
			func(s *keys.Store) bool { _, err := s.Get(made.ID); return err != nil && s.Len() == 2 }},
	} {
		b.set(entriesFail)
		want(t, "", step.do())
		b.set(nil)
		other := open(t, bucketOf(l), keys.Options{})
		if !step.holds(s) || !step.holds(other) {
			t.Fatalf("%s does not hold: here %v, after a new start %v", step.what, step.holds(s), step.holds(other))
		}
		// Another node changes something else, by which the state names another change.
		if _, err := other.Change(ctx, admin.ID, keys.Patch{Name: &name}); err != nil {
			t.Fatal(err)
		}
		if again := open(t, bucketOf(l), keys.Options{}); !step.holds(again) || !step.holds(other) {
			t.Fatalf("%s was lost by the next change", step.what)
		}
	}
}

// TestChangeWithoutAnAnswer: a change whose first write has no answer is an outcome that is not known. It is there once the bucket
// is read again. A change that was not sent is not.
func TestChangeWithoutAnAnswer(t *testing.T) {
	suite.Concurrent(t)
	l := newLog(t)
	b := &faultyBucket{Bucket: bucketOf(l)}
	s := running(t, b, keys.Options{})
	create(t, s, "admin")
	key := create(t, s, "read")
	b.set(func(call, _ string) (before, after error) {
		if call == "set" {
			return nil, errInjected
		}
		return nil, nil
	})
	want(t, fanfold.OutcomeUnknown, s.Revoke(t.Context(), key.ID))
	b.set(nil)
	harness.Await(t, "the change", harness.WaitTime, func() bool { _, err := enter(s, key); return err != nil })
	b.set(func(string, string) (before, after error) { return errInjected, nil })
	_, _, err := s.Create(t.Context(), keys.Settings{Name: "x", Roles: []string{"read"}})
	want(t, fanfold.Unavailable, err)
	b.set(nil)
	if fresh := open(t, bucketOf(l), keys.Options{}); fresh.Len() != 2 {
		t.Fatalf("there are %d keys", fresh.Len())
	}
}

// TestRandomChangesOnTwoNodes: changes by two nodes at once leave both with the same keys as a node that has just started.
// Some changes fail between their writes.
func TestRandomChangesOnTwoNodes(t *testing.T) {
	suite.Concurrent(t)
	l := newLog(t)
	faults := []*faultyBucket{{Bucket: bucketOf(l)}, {Bucket: bucketOf(l)}}
	var counts atomic.Int64
	for _, b := range faults {
		b.set(func(call, key string) (before, after error) {
			if n := counts.Add(1); n%3 == 0 {
				return entriesFail(call, key)
			}
			return nil, nil
		})
	}
	stores := []*keys.Store{running(t, faults[0], keys.Options{}), running(t, faults[1], keys.Options{})}
	var all sync.WaitGroup
	create(t, stores[0], "admin")
	harness.Await(t, "the other node to know the key", harness.WaitTime, stores[1].Closed)
	for i, s := range stores {
		all.Go(func() {
			for n := range 40 {
				list := s.List()
				id, name := list[n%len(list)].ID, fmt.Sprint("by ", i, " ", n)
				var err error
				switch n % 4 {
				case 0, 1:
					_, _, err = s.Create(t.Context(), keys.Settings{Name: name, Roles: []string{"read"}})
				case 2:
					_, err = s.Change(t.Context(), id, keys.Patch{Name: &name})
				case 3:
					err = s.Revoke(t.Context(), id)
				}
				if code := fanfold.CodeOf(err); code != "" && code != fanfold.NotFound && code != fanfold.Conflict && code != fanfold.Unavailable {
					t.Errorf("%v", err)
				}
			}
		})
	}
	all.Wait()
	for _, b := range faults {
		b.set(nil)
	}
	text := func(s *keys.Store) string {
		out, err := json.Marshal(s.List())
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	fresh := open(t, bucketOf(l), keys.Options{})
	if fresh.Len() < 10 {
		t.Fatalf("only %d keys are left", fresh.Len())
	}
	for _, s := range stores {
		harness.Await(t, "a node to have the keys of the bucket", harness.WaitTime, func() bool { return text(s) == text(fresh) })
	}
}

// TestExpiry: a key works until its end, to the millisecond, and its principal is valid as long.
func TestExpiry(t *testing.T) {
	c := &clock{}
	s := open(t, bucketOf(newLog(t)), keys.Options{Now: c.now, MaxAge: 24 * time.Hour})
	create(t, s, "admin")
	end := c.now().Add(time.Hour)
	e, key, err := s.Create(t.Context(), keys.Settings{Name: "short", Roles: []string{"read"}, Expires: &end})
	want(t, "", err)
	p := wantIn(t, s, key, "read")
	version := s.Version()
	c.move(time.Hour - time.Minute)
	if wantIn(t, s, key, "read"); !p.Expires.Equal(*e.Expires) || !s.Valid(p) || s.Version() != version {
		t.Fatalf("before its end: %v, valid %v", p, s.Valid(p))
	}
	c.move(time.Minute)
	if wantIn(t, s, key); s.Valid(p) || s.Version() == version || s.Results()["expired"] != 1 {
		t.Fatalf("after its end: valid %v, %v", s.Valid(p), s.Results())
	}
}

// TestRotation: both secrets work for the overlap, a third one ends the first, and an overlap of 0 all older ones.
func TestRotation(t *testing.T) {
	c := &clock{}
	s := open(t, bucketOf(newLog(t)), keys.Options{Now: c.now, MaxAge: 24 * time.Hour})
	first := create(t, s, "admin")
	rotate := func(overlap time.Duration) access.Key {
		t.Helper()
		e, key, err := s.Rotate(t.Context(), first.ID, overlap)
		if err != nil || key.ID != first.ID || key == first || len(e.Secrets) > 2 || e.Secrets[0].Until != nil {
			t.Fatalf("%+v, %v", e, err)
		}
		return key
	}
	old := wantIn(t, s, first, "admin")
	second := rotate(time.Hour)
	wantIn(t, s, first, "admin")
	p := wantIn(t, s, second, "admin")
	if !s.Valid(old) || !p.Ends.IsZero() {
		t.Fatal("the old secret's principal ended at once, or the new one will")
	}
	third := rotate(time.Hour)
	wantIn(t, s, first)
	wantIn(t, s, second, "admin")
	wantIn(t, s, third, "admin")
	if s.Valid(old) {
		t.Fatal("the first secret's principal is valid")
	}
	version := s.Version()
	c.move(time.Hour + time.Second)
	wantIn(t, s, second)
	wantIn(t, s, third, "admin")
	if s.Version() == version || s.Valid(p) {
		t.Fatal("nobody is told of the end of the overlap")
	}
	fourth := rotate(time.Hour)
	fifth := rotate(0)
	wantIn(t, s, third)
	wantIn(t, s, fourth)
	wantIn(t, s, fifth, "admin")
	_, _, err := s.Rotate(t.Context(), "nosuchkey000", 0)
	want(t, fanfold.NotFound, err)
}

// TestMaxAge: a node that cannot read the bucket goes by what it has read for so long, and then lets nobody in, until it reads
// again. An open store stays open.
func TestMaxAge(t *testing.T) {
	suite.Concurrent(t)
	l, c := newLog(t), &clock{}
	b := &faultyBucket{Bucket: bucketOf(l)}
	s := running(t, b, keys.Options{Now: c.now, MaxAge: time.Minute, Anonymous: true})
	fails := func(string, string) (before, after error) { return errInjected, nil }
	b.set(fails)
	c.move(time.Hour)
	if p, err := s.Authenticate(nil); err != nil || p != access.Open {
		t.Fatalf("an open store is %v, %v", p, err)
	}
	b.set(nil)
	harness.Await(t, "the bucket to be read", harness.WaitTime, func() bool { return s.Age() < time.Second })
	key := create(t, s, "admin")
	b.set(fails)
	p := wantIn(t, s, key, "admin")
	c.move(time.Minute / 2)
	wantIn(t, s, key, "admin")
	version := s.Version()
	c.move(time.Minute / 2)
	_, err := enter(s, key)
	want(t, fanfold.RightsStale, err)
	_, err = s.Authenticate(nil)
	if want(t, fanfold.RightsStale, err); s.Valid(p) || s.Valid(access.Anonymous) || s.Version() == version {
		t.Fatal("somebody is valid on a node that knows no keys")
	}
	b.set(nil)
	harness.Await(t, "the bucket to be read", harness.WaitTime, func() bool { _, err := enter(s, key); return err == nil })
	if !s.Valid(p) {
		t.Fatal("a principal is not valid after the outage")
	}
}

// TestLostBucket: whoever takes the bucket away does not open the store of a node that runs.
func TestLostBucket(t *testing.T) {
	suite.Concurrent(t)
	l := newLog(t)
	s := running(t, bucketOf(l), keys.Options{})
	key := create(t, s, "admin")
	want(t, "", bucketOf(l).Drop(t.Context(), "keys"))
	harness.Await(t, "the node to miss the bucket", harness.WaitTime, func() bool { return s.Age() > time.Second })
	_, err := s.Authenticate(nil)
	want(t, fanfold.Unauthenticated, err)
	wantIn(t, s, key, "admin")
	_, _, err = s.Create(t.Context(), keys.Settings{Name: "x", Roles: []string{"admin"}})
	want(t, fanfold.Unavailable, err)
}

// TestOtherNodesLearn: a change on one node holds on another within a second.
func TestOtherNodesLearn(t *testing.T) {
	suite.Concurrent(t)
	l := newLog(t)
	s, other := running(t, bucketOf(l), keys.Options{}), running(t, bucketOf(l), keys.Options{})
	create(t, s, "admin")
	var took []time.Duration
	for range 5 {
		key := create(t, s, "read")
		for _, known := range []bool{true, false} {
			begun := time.Now()
			harness.Await(t, "the other node to know the key", harness.WaitTime, func() bool { _, err := enter(other, key); return (err == nil) == known })
			if took = append(took, time.Since(begun)); known {
				want(t, "", s.Revoke(t.Context(), key.ID))
			}
		}
	}
	if slices.Sort(took); took[len(took)/2] > time.Second {
		t.Errorf("half of the changes took longer than %v", took[len(took)/2])
	}
}

// TestWithoutHints: a node that hears nothing of changes learns of them all the same.
func TestWithoutHints(t *testing.T) {
	suite.Concurrent(t)
	l := newLog(t)
	s, other := open(t, bucketOf(l), keys.Options{}), running(t, deafBucket{bucketOf(l)}, keys.Options{})
	create(t, s, "admin")
	harness.Await(t, "the other node to know of the key", harness.WaitTime, other.Closed)
}

// deafBucket cannot be watched.
type deafBucket struct{ keys.Bucket }

func (deafBucket) Watch(string, func([]byte)) (func(), error) { return nil, errors.New("not watched") }

// TestCredentials: keys come as Bearer, or as the password of Basic. Whatever else comes is refused, with one message for every
// reason, and counted by its reason.
func TestCredentials(t *testing.T) {
	c := &clock{}
	s := open(t, bucketOf(newLog(t)), keys.Options{Now: c.now})
	key, stranger := create(t, s, "admin"), access.NewKey()
	revoked := create(t, s, "read")
	want(t, "", s.Revoke(t.Context(), revoked.ID))
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	same := access.Rotated(key.ID) // the right id, and another secret
	messages := map[string]bool{}
	for _, one := range []struct{ header, result string }{
		{"Bearer " + key.Text(), "ok"}, {"bearer  " + key.Text(), "ok"}, {"BEARER " + key.Text(), "ok"}, {basic("any:" + key.Text()), "ok"}, {basic(":" + key.Text()), "ok"},
		{"", "missing"}, {key.Text(), "malformed"}, {"Bearer", "malformed"}, {"Bearer ", "malformed"}, {"Bearer x", "malformed"}, {"Basic x", "malformed"}, {basic(key.Text()), "malformed"},
		{"Digest " + key.Text(), "malformed"}, {"Bearer " + key.Text() + " x", "malformed"}, {"Bearer " + key.Text()[:66], "malformed"}, {"Bearer " + strings.Repeat(" ", keys.MaxAuthorization) + key.Text(), "malformed"},
		{"Bearer " + stranger.Text(), "unknown"}, {"Bearer " + same.Text(), "unknown"}, {basic("any:" + stranger.Text()), "unknown"}, {"Bearer " + revoked.Text(), "revoked"},
	} {
		counted := s.Results()[one.result]
		p, err := s.Authenticate([]string{one.header})
		if (err == nil) != (one.result == "ok") || s.Results()[one.result] != counted+1 {
			t.Errorf("%q is %v, %v; want it to count as %s: %v", one.header, p, err, one.result, s.Results())
		}
		if err != nil {
			messages[err.Error()] = true
			want(t, fanfold.Unauthenticated, err)
		}
	}
	if len(messages) != 1 {
		t.Errorf("the reasons have messages of their own: %v", messages)
	}
	if at := "Bearer " + strings.Repeat(" ", keys.MaxAuthorization-len(key.Text())-7) + key.Text(); len(at) != keys.MaxAuthorization {
		t.Fatal(len(at))
	} else if _, err := s.Authenticate([]string{at}); err != nil {
		t.Errorf("a header of %d bytes: %v", len(at), err)
	}
	_, err := s.Authenticate([]string{"Bearer " + key.Text(), "Bearer " + key.Text()})
	want(t, fanfold.Invalid, err)
	if p, err := s.Authenticate(nil); fanfold.CodeOf(err) != fanfold.Unauthenticated || p != nil {
		t.Errorf("nobody is %v, %v", p, err)
	}
}

// TestAnonymous: where that is allowed, whoever has no credentials is let in without a role, and whoever has wrong ones is not.
func TestAnonymous(t *testing.T) {
	s := open(t, bucketOf(newLog(t)), keys.Options{Anonymous: true})
	create(t, s, "admin")
	p, err := s.Authenticate(nil)
	if err != nil || p != access.Anonymous || !s.Valid(p) || p.Has("read") || !p.Has("everyone") || s.Results()["anonymous"] != 1 {
		t.Fatalf("%v, %v", p, err)
	}
	_, err = s.Authenticate([]string{"Bearer x"})
	want(t, fanfold.Unauthenticated, err)
}

// TestBoundsOfKeys: what a key may be is held at the bound, and refused beyond it.
func TestBoundsOfKeys(t *testing.T) {
	c := &clock{}
	s := open(t, bucketOf(newLog(t)), keys.Options{Now: c.now})
	admin := create(t, s, "admin")
	var many []string
	for i := range 33 {
		many = append(many, fmt.Sprint("role-", i))
	}
	at := func(d time.Duration) *time.Time { end := c.now().Add(d); return &end }
	tenYears := c.now().AddDate(10, 0, 0).Sub(c.now())
	ok := keys.Settings{Name: "x", Roles: []string{"read"}}
	for _, one := range []struct {
		change func(s *keys.Settings)
		fits   bool
	}{
		{func(s *keys.Settings) { s.Name = strings.Repeat("x", 100) }, true},
		{func(s *keys.Settings) { s.Name = strings.Repeat("é", 50) }, true},
		{func(s *keys.Settings) { s.Name = strings.Repeat("x", 101) }, false},
		{func(s *keys.Settings) { s.Name = "" }, false},
		{func(s *keys.Settings) { s.Name = "a\nb" }, false},
		{func(s *keys.Settings) { s.Name = "a\xff" }, false},
		{func(s *keys.Settings) { s.Roles = many[:32] }, true},
		{func(s *keys.Settings) { s.Roles = many }, false},
		{func(s *keys.Settings) { s.Roles = nil }, false},
		{func(s *keys.Settings) { s.Roles = []string{"r" + strings.Repeat("_", 63)} }, true},
		{func(s *keys.Settings) { s.Roles = []string{"r" + strings.Repeat("_", 64)} }, false},
		{func(s *keys.Settings) { s.Roles = []string{"everyone"} }, false},
		{func(s *keys.Settings) { s.Roles = []string{"Read"} }, false},
		{func(s *keys.Settings) { s.Roles = []string{""} }, false},
		{func(s *keys.Settings) { s.Roles = []string{"read", "write", "read"} }, false},
		{func(s *keys.Settings) { s.Expires = at(time.Minute) }, true},
		{func(s *keys.Settings) { s.Expires = at(tenYears - time.Minute) }, true},
		{func(s *keys.Settings) { s.Expires = at(tenYears + time.Minute) }, false},
		{func(s *keys.Settings) { s.Expires = at(-time.Second) }, false},
	} {
		settings, code := ok, fanfold.Invalid
		if one.change(&settings); one.fits {
			code = ""
		}
		_, key, err := s.Create(t.Context(), settings)
		if fanfold.CodeOf(err) != code {
			t.Errorf("%+v: %v", settings, err)
		}
		if err == nil {
			want(t, "", s.Revoke(t.Context(), key.ID))
		}
		_, key, err = s.Create(t.Context(), ok)
		want(t, "", err)
		if _, err = s.Change(t.Context(), key.ID, keys.Patch{Name: &settings.Name, Roles: &settings.Roles, Expires: &settings.Expires}); fanfold.CodeOf(err) != code {
			t.Errorf("a change to %+v: %v", settings, err)
		}
	}
	for overlap, code := range map[time.Duration]fanfold.Code{-1: fanfold.Invalid, keys.MaxOverlap + 1: fanfold.Invalid, 0: "", keys.MaxOverlap: ""} {
		if _, _, err := s.Rotate(t.Context(), admin.ID, overlap); fanfold.CodeOf(err) != code {
			t.Errorf("an overlap of %v: %v", overlap, err)
		}
	}
}

// TestManyKeys: there are MaxKeys keys at most, revoked ones included, however long their claims, and a forgotten one makes room.
func TestManyKeys(t *testing.T) {
	b := bucketOf(newLog(t))
	s := open(t, b, keys.Options{})
	first := create(t, s, "admin")
	_, key, err := s.Create(t.Context(), keys.Settings{Name: strings.Repeat("n", keys.MaxName), Roles: []string{"read"}, Sub: strings.Repeat("u", keys.MaxSub),
		Claims: json.RawMessage(`{"a":"` + strings.Repeat("x", keys.MaxClaims-8) + `"}`)})
	want(t, "", err)
	e, err := b.Get(t.Context(), "keys."+key.ID)
	want(t, "", err)
	for i := range keys.MaxKeys - 3 {
		id := fmt.Sprintf("many%08d", i)
		_, err := b.Set(t.Context(), "keys."+id, bytes.ReplaceAll(e.Value, []byte(key.ID), []byte(id)), 0)
		want(t, "", err)
	}
	last := create(t, s, "read")
	_, _, err = s.Create(t.Context(), keys.Settings{Name: "x", Roles: []string{"read"}})
	want(t, fanfold.Unprocessable, err)
	if s = open(t, b, keys.Options{}); s.Len() != keys.MaxKeys {
		t.Fatalf("there are %d keys", s.Len())
	}
	for _, key := range []access.Key{first, last} {
		if _, err := enter(s, key); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "", s.Revoke(t.Context(), last.ID))
	_, _, err = s.Create(t.Context(), keys.Settings{Name: "x", Roles: []string{"read"}})
	want(t, fanfold.Unprocessable, err)
	want(t, "", s.Revoke(t.Context(), last.ID))
	create(t, s, "read")
}

// TestForeignEntries: an entry that is none, or not of the key by whose name it goes, lets nobody in.
func TestForeignEntries(t *testing.T) {
	b := bucketOf(newLog(t))
	s := open(t, b, keys.Options{})
	key := create(t, s, "admin")
	text, err := json.Marshal(keys.Entry{ID: "another00000", Name: "x", Roles: []string{"admin"}, Secrets: []keys.Secret{{Hash: []byte("short")}}})
	want(t, "", err)
	for _, name := range []string{"keys.another00000", "keys.renamed00000"} {
		_, err := b.Set(t.Context(), name, text, 0)
		want(t, "", err)
	}
	if s = open(t, b, keys.Options{}); s.Len() != 2 {
		t.Fatalf("there are %d keys", s.Len())
	}
	wantIn(t, s, key, "admin")
	_, err = b.Set(t.Context(), "keys.broken000000", []byte("{"), 0)
	want(t, "", err)
	_, err = keys.Open(t.Context(), b, keys.Options{})
	want(t, fanfold.Internal, err)
}

// errorsTo is a log that tells of errors.
type errorsTo struct {
	slog.Handler
	said chan<- struct{}
}

func (h errorsTo) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (h errorsTo) Handle(context.Context, slog.Record) error {
	h.said <- struct{}{}
	return nil
}

// TestAdminFile: the key in the file has admin, closes the store, and is another one once the file has another. A file that
// cannot be read leaves the old one in force.
func TestAdminFile(t *testing.T) {
	suite.Concurrent(t)
	l, path := newLog(t), t.TempDir()+"/admin.key"
	write := func(text string, mode os.FileMode) {
		t.Helper()
		next := path + ".new"
		if err := errors.Join(os.WriteFile(next, []byte(text), mode), os.Chmod(next, mode), os.Rename(next, path)); err != nil {
			t.Fatal(err)
		}
	}
	first, second, third := access.NewKey(), access.NewKey(), access.NewKey()
	for text, mode := range map[string]os.FileMode{first.Text(): 0o644, "": 0o600, first.Text()[:60]: 0o600, strings.Repeat(first.Text()+"\n", 2): 0o600,
		first.Text() + strings.Repeat("\n", 4<<10): 0o600} {
		write(text, mode)
		_, err := keys.Open(t.Context(), bucketOf(l), keys.Options{AdminFile: path})
		want(t, fanfold.Invalid, err)
		if len(text) > 20 && strings.Contains(err.Error(), text[20:60]) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	_, err := keys.Open(t.Context(), bucketOf(l), keys.Options{AdminFile: path + ".none"})
	want(t, fanfold.Invalid, err)
	if open(t, bucketOf(l), keys.Options{}).Closed() {
		t.Fatal("a file that is refused closed the store")
	}
	write("  "+first.Text()+"\r\n", 0o640)
	said := make(chan struct{}, 100)
	s, without := running(t, bucketOf(l), keys.Options{AdminFile: path, Logger: slog.New(errorsTo{slog.DiscardHandler, said})}), open(t, bucketOf(l), keys.Options{})
	if !without.Closed() || s.Len() != 0 {
		t.Fatal("the file does not close the store")
	}
	wantIn(t, without, first)
	p := wantSubject(t, s, first, "key:"+first.ID, "")
	if wantIn(t, s, first, "admin"); len(s.Secret()) != 32 {
		t.Fatal("a house that the file closed has no secret")
	}
	version := s.Version()
	write(second.Text()+"\n", 0o600)
	harness.Await(t, "the file to be read again", harness.WaitTime, func() bool { _, err := enter(s, second); return err == nil })
	if wantIn(t, s, first); s.Valid(p) || s.Version() == version {
		t.Fatal("the principal of the key before is valid")
	}
	p = wantIn(t, s, second, "admin")
	write(third.Text(), 0o644) // everybody may read it
	<-said
	create(t, s, "read") // which needs no admin in the bucket
	admin := create(t, s, "admin")
	want(t, "", s.Revoke(t.Context(), admin.ID)) // the file has another one
	if wantIn(t, s, second, "admin"); !s.Valid(p) {
		t.Fatal("the key before is out of force")
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "the file to be read again", harness.WaitTime, func() bool { _, err := enter(s, third); return err == nil })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantIn(t, s, third, "admin")
}
