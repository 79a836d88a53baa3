package keys_test

import (
	"context"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// wantUsed fails the test unless a store says that a key was last used at a time, the zero one for not yet.
func wantUsed(t *testing.T, s *keys.Store, id string, at time.Time) {
	t.Helper()
	if got, ok := s.LastUsed(t.Context())[id]; !got.Equal(at) || ok == at.IsZero() || got.Location() != time.UTC {
		t.Fatalf("%s was last used at %v, %t; want %v", id, got, ok, at)
	}
}

// used sends a key, and returns when.
func used(t *testing.T, s *keys.Store, c *stopped, key access.Key) time.Time {
	t.Helper()
	if _, err := enter(s, key); err != nil {
		t.Fatal(err)
	}
	return c.now().UTC()
}

// stopped is a time of day that stands still where a test does not move it.
type stopped struct {
	clock
	begin time.Time
}

func newStopped() *stopped { return &stopped{begin: time.Now().Truncate(time.Second)} }

func (c *stopped) now() time.Time { return c.begin.Add(time.Duration(c.ahead.Load())) }

// run runs a store, and returns what ends that.
func run(t *testing.T, s *keys.Store) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		want(t, "", <-done)
	}
}

// storedUses returns what a bucket has of uses.
func storedUses(t *testing.T, b keys.Bucket) map[string]fanfold.Entry {
	t.Helper()
	all, err := b.All(t.Context(), "used")
	want(t, "", err)
	out := map[string]fanfold.Entry{}
	for _, e := range all {
		out[e.Key] = e
	}
	return out
}

// usedOnFaulty opens a store on a bucket that can fail, and sends its only key at a time that stands still.
func usedOnFaulty(t *testing.T) (*faultyBucket, *keys.Store, keys.Options, access.Key, time.Time) {
	t.Helper()
	c := newStopped()
	b, opt := &faultyBucket{Bucket: bucketOf(newLog(t))}, keys.Options{Now: c.now, MaxAge: 24 * time.Hour}
	s := open(t, b, opt)
	key := create(t, s, "admin")
	return b, s, opt, key, used(t, s, c, key)
}

// TestLastUse: a key tells to the minute when it last let somebody in, by each way in, and also after a restart.
func TestLastUse(t *testing.T) {
	suite.Concurrent(t)
	dir, c := t.TempDir(), newStopped()
	l, stop := openLog(t, dir, embedded.Always)
	opt := keys.Options{Now: c.now, MaxAge: 24 * time.Hour}
	s := open(t, bucketOf(l), opt)
	end := run(t, s)
	admin, key := create(t, s, "admin"), create(t, s, "read")
	wantUsed(t, s, key.ID, time.Time{})
	_, err := s.Authenticate([]string{"Bearer " + access.Rotated(key.ID).Text()})
	want(t, fanfold.Unauthenticated, err)
	wantUsed(t, s, key.ID, time.Time{})
	first := used(t, s, c, key)
	wantUsed(t, s, key.ID, first)
	c.move(time.Minute - time.Second)
	used(t, s, c, key)
	wantUsed(t, s, key.ID, first)
	c.move(time.Second)
	second := used(t, s, c, key)
	wantUsed(t, s, key.ID, second)
	p := wantIn(t, s, key, "read")
	c.move(time.Minute)
	got, err := s.Holder(key.ID, p.Secret[:8])
	if want(t, "", err); got != p {
		t.Fatalf("the ticket's holder is %v", got)
	}
	third := c.now().UTC()
	wantUsed(t, s, key.ID, third)
	wantUsed(t, s, admin.ID, time.Time{})
	end()
	stop()
	l, stop = openLog(t, dir, embedded.Always)
	defer stop()
	s = open(t, bucketOf(l), opt)
	wantUsed(t, s, key.ID, third)
	wantUsed(t, s, admin.ID, time.Time{})
	if len(storedUses(t, bucketOf(l))) != 1 {
		t.Errorf("the bucket has %v", storedUses(t, bucketOf(l)))
	}
}

// TestLastUseOnTwoNodes: a node that runs stores uses every few minutes, others tell them, and the later one of two stays.
func TestLastUseOnTwoNodes(t *testing.T) {
	suite.Concurrent(t)
	l, c := newLog(t), newStopped()
	opt := keys.Options{Now: c.now, MaxAge: 24 * time.Hour}
	s := open(t, bucketOf(l), opt)
	key := create(t, s, "admin")
	other := open(t, bucketOf(l), opt)
	end, endOther := run(t, s), run(t, other)
	first := used(t, s, c, key)
	c.move(time.Minute)
	second := used(t, other, c, key)
	wantUsed(t, s, key.ID, first)
	harness.Await(t, "the later use to be told by the first node", harness.WaitTime, func() bool {
		c.move(time.Minute) // a node counts from when it begins to run, which may be later than now
		return s.LastUsed(t.Context())[key.ID].Equal(second)
	})
	end()
	endOther()
	wantUsed(t, open(t, bucketOf(l), opt), key.ID, second)
}

// TestLastUseIsStoredOverAnother: where another node has stored a use meanwhile, the later one of both stays.
func TestLastUseIsStoredOverAnother(t *testing.T) {
	for name, later := range map[string]time.Duration{"an earlier use": -time.Hour, "a later use": time.Hour} {
		b, s, opt, key, at := usedOnFaulty(t)
		others := 0
		b.set(func(call, entry string) (before, after error) {
			if call == "set" && entry == "used."+key.ID && others == 0 {
				others++
				_, err := b.Bucket.Set(t.Context(), entry, []byte(`{"at":"`+at.Add(later).Format(time.RFC3339)+`"}`), 0)
				return err, nil
			}
			return nil, nil
		})
		run(t, s)()
		if others != 1 {
			t.Fatalf("%s: the other node stored %d", name, others)
		}
		wantUsed(t, open(t, b.Bucket, opt), key.ID, at.Add(max(0, later)))
	}
}

// TestForgottenKeysHaveNoLastUse: nothing is left of the uses of a key that is forgotten. A node that has not heard of it leaves nothing either, nor one
// that was killed.
func TestForgottenKeysHaveNoLastUse(t *testing.T) {
	suite.Concurrent(t)
	l, c := newLog(t), newStopped()
	opt := keys.Options{Now: c.now, MaxAge: 24 * time.Hour}
	b := &faultyBucket{Bucket: bucketOf(l)}
	s := open(t, bucketOf(l), opt)
	admin, key, second, third := create(t, s, "admin"), create(t, s, "read"), create(t, s, "read"), create(t, s, "read")
	other := open(t, b, opt)
	forget := func(of access.Key) {
		for range 2 {
			want(t, "", s.Revoke(t.Context(), of.ID))
		}
	}
	used(t, s, c, key)
	run(t, s)()
	if len(storedUses(t, b)) != 1 {
		t.Fatalf("the bucket has %v", storedUses(t, b))
	}
	forget(key)
	if wantUsed(t, s, key.ID, time.Time{}); len(storedUses(t, b)) != 0 {
		t.Fatalf("the bucket has %v", storedUses(t, b))
	}
	used(t, other, c, admin)
	used(t, other, c, second) // other has not heard when this is forgotten
	used(t, other, c, third)  // and this is forgotten as its use is stored
	forget(second)
	forgotten := false
	b.set(func(call, entry string) (before, after error) {
		if call == "set" && entry == "used."+third.ID && !forgotten {
			forgotten = true
			forget(third)
		}
		return nil, nil
	})
	_, err := b.Bucket.Set(t.Context(), "used.leftbehind00", []byte(`{"at":"2026-01-01T00:00:00Z"}`), 0)
	want(t, "", err)
	run(t, other)()
	at := storedUses(t, b)
	if _, ok := at["used."+admin.ID]; !ok || len(at) != 1 || !forgotten {
		t.Fatalf("the bucket has %v; the third key was forgotten: %t", at, forgotten)
	}
	if told := other.LastUsed(t.Context()); len(told) != 1 {
		t.Errorf("the other node tells %v", told)
	}
}

// TestUsesOfNewKeysStay: what a node stored of a key that another has not heard of is not taken away by that one.
func TestUsesOfNewKeysStay(t *testing.T) {
	l, c := newLog(t), newStopped()
	opt := keys.Options{Now: c.now, MaxAge: 24 * time.Hour}
	s := open(t, bucketOf(l), opt)
	admin := create(t, s, "admin")
	other := open(t, bucketOf(l), opt)
	used(t, other, c, admin)
	key := create(t, s, "read")
	at := used(t, s, c, key)
	run(t, s)()
	run(t, other)()
	wantUsed(t, other, key.ID, at)
	if len(storedUses(t, bucketOf(l))) != 2 {
		t.Fatalf("the bucket has %v", storedUses(t, bucketOf(l)))
	}
}

// TestUsesSurviveFailures: a use that could not be stored or read is told, and stored later.
func TestUsesSurviveFailures(t *testing.T) {
	b, s, opt, key, at := usedOnFaulty(t)
	b.set(func(call, entry string) (before, after error) {
		if call == "set" && entry == "used."+key.ID {
			return errInjected, nil
		}
		return nil, nil
	})
	run(t, s)()
	wantUsed(t, s, key.ID, at)
	if len(storedUses(t, b)) != 0 {
		t.Fatalf("the bucket has %v", storedUses(t, b))
	}
	b.set(nil)
	run(t, s)()
	wantUsed(t, open(t, b.Bucket, opt), key.ID, at)
}

// TestUsesOfOtherHoldersAreNotStored: neither the key in the admin file, nor the holder of a token, is a key of the bucket.
func TestUsesOfOtherHoldersAreNotStored(t *testing.T) {
	l, c := newLog(t), newStopped()
	path, text := harness.NewKeyFile(t)
	p := &access.Principal{ID: "ann", Issuer: "i", Sub: "ann", Signer: "x", Created: c.now(), Ends: c.now().Add(time.Hour)}
	s := open(t, bucketOf(l), keys.Options{Now: c.now, AdminFile: path, Tokens: &issuer{oneToken{p}, true, 1}})
	_, err := s.Authenticate([]string{"Bearer " + text})
	want(t, "", err)
	key, err := access.ParseKey(text)
	want(t, "", err)
	hash := key.Hash()
	got, err := s.Holder(key.ID, hash[:8])
	if want(t, "", err); got == nil {
		t.Fatal("the file's key has no ticket")
	}
	_, err = s.Authenticate([]string{"Bearer a.b.c"})
	want(t, "", err)
	run(t, s)()
	if told := s.LastUsed(t.Context()); len(told) != 0 || len(storedUses(t, bucketOf(l))) != 0 {
		t.Errorf("it tells %v; the bucket has %v", told, storedUses(t, bucketOf(l)))
	}
}

// TestLastUseOfAClockThatWasAhead: a time that a clock gave which was days ahead is replaced by the next use, in memory and in the bucket.
func TestLastUseOfAClockThatWasAhead(t *testing.T) {
	suite.Concurrent(t)
	l, c := newLog(t), newStopped()
	opt := keys.Options{Now: c.now, MaxAge: 1000 * time.Hour}
	s := open(t, bucketOf(l), opt)
	key, idle := create(t, s, "admin"), create(t, s, "read")
	c.move(400 * time.Hour)
	ahead := used(t, s, c, key)
	used(t, s, c, idle)
	run(t, s)()
	c.move(-400 * time.Hour)
	at := used(t, s, c, key)
	wantUsed(t, s, key.ID, at)
	run(t, s)()
	wantUsed(t, open(t, bucketOf(l), opt), key.ID, at)
	wantUsed(t, s, idle.ID, ahead)
	c.move(time.Minute)
	other := open(t, bucketOf(l), opt)
	at = used(t, other, c, idle)
	run(t, other)()
	wantUsed(t, other, idle.ID, at)
	wantUsed(t, open(t, bucketOf(l), opt), idle.ID, at)
}
