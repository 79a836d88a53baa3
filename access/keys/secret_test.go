package keys_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

const secretKey, stateKey = "keys._secret", "keys._state"

// wantSecret fails the test unless each of some stores, and one that has just started, has a secret, and the same. It returns the secret.
func wantSecret(t *testing.T, b keys.Bucket, stores ...*keys.Store) []byte {
	t.Helper()
	secret := open(t, b, keys.Options{}).Secret()
	if len(secret) != 32 || bytes.Equal(secret, make([]byte, 32)) {
		t.Fatalf("the secret has %d bytes", len(secret))
	}
	for i, s := range stores {
		if !bytes.Equal(s.Secret(), secret) {
			t.Fatalf("node %d has another secret", i)
		}
	}
	return secret
}

// TestSecretOfManyNodes: nodes that make their first keys at once have one secret, which no change takes away. An open store has none.
func TestSecretOfManyNodes(t *testing.T) {
	suite.Concurrent(t)
	l := newLog(t)
	var stores []*keys.Store
	for range 5 {
		stores = append(stores, running(t, bucketOf(l), keys.Options{}))
	}
	if stores[0].Secret() != nil {
		t.Fatal("an open store has a secret")
	}
	_, _, err := stores[0].Create(t.Context(), keys.Settings{Name: "x", Roles: []string{"read"}})
	want(t, fanfold.Unprocessable, err)
	if all, err := bucketOf(l).All(t.Context(), "keys"); err != nil || len(all) != 0 {
		t.Fatalf("a first key that is refused leaves %v, %v", all, err)
	}
	made := make([]access.Key, len(stores))
	var all sync.WaitGroup
	for i, s := range stores {
		all.Go(func() {
			var err error
			if _, made[i], err = s.Create(t.Context(), keys.Settings{Name: "x", Roles: []string{"admin"}}); err != nil || len(s.Secret()) != 32 {
				t.Errorf("node %d: %v, and a secret of %d bytes", i, err, len(s.Secret()))
			}
		})
	}
	all.Wait()
	secret := wantSecret(t, bucketOf(l), stores...)
	name := "another"
	for i, s := range stores {
		all.Go(func() {
			for range 5 {
				if _, err := s.Change(t.Context(), made[i].ID, keys.Patch{Name: &name}); err != nil {
					t.Error(err)
				}
			}
			if i > 0 {
				if err := s.Revoke(t.Context(), made[i].ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if !bytes.Equal(wantSecret(t, bucketOf(l), stores...), secret) {
		t.Fatal("changes of keys changed the secret")
	}
	if n := stores[0].Len(); n != len(stores) {
		t.Fatalf("there are %d keys", n)
	}
}

// TestSecretOfEarlierHouses: a house that a program closed which knows no secret gets one when nodes start, and while they run. Such a program
// changes keys and leaves the secret.
func TestSecretOfEarlierHouses(t *testing.T) {
	suite.Concurrent(t)
	l := newLog(t)
	b, ctx := bucketOf(l), t.Context()
	runs := running(t, bucketOf(l), keys.Options{})
	revision, err := b.Set(ctx, stateKey, []byte(`{"closed":true}`), 0)
	want(t, "", err)
	harness.Await(t, "the secret", harness.WaitTime, func() bool { return runs.Secret() != nil })
	secret := wantSecret(t, b, runs)
	for i := range 3 { // as the earlier program does: the state first, then the entry
		entry := fmt.Sprintf(`{"id":"early000000%d","name":"x","roles":["admin"],"created":"2026-11-01T00:00:00Z","secrets":[]}`, i)
		revision, err = b.Set(ctx, stateKey, []byte(`{"closed":true,"change":{"id":"early000000`+fmt.Sprint(i)+`","entry":`+entry+`}}`), revision)
		want(t, "", err)
		_, err = b.Set(ctx, fmt.Sprintf("keys.early000000%d", i), []byte(entry), 0)
		want(t, "", err)
	}
	harness.Await(t, "the keys", harness.WaitTime, func() bool { return runs.Len() == 3 })
	if !bytes.Equal(wantSecret(t, b, runs), secret) {
		t.Fatal("an earlier program changed the secret")
	}
	at, err := b.Get(ctx, secretKey)
	want(t, "", err)
	want(t, "", b.Remove(ctx, secretKey, at.Revision))
	stores := make([]*keys.Store, 5)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() {
			var err error
			if stores[i], err = keys.Open(ctx, bucketOf(l), keys.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	if all.Wait(); t.Failed() {
		t.FailNow()
	}
	wantSecret(t, b, stores...)
}

// TestKilledAroundTheSecret: a node is killed before or after the secret's write, or has no answer to it. The next change makes a secret, or goes
// on with the one that is there.
func TestKilledAroundTheSecret(t *testing.T) {
	for what, fail := range map[string]func(call, key string) (before, after error){
		"before": func(call, key string) (before, after error) {
			if call == "set" && key == secretKey {
				return errInjected, nil
			}
			return nil, nil
		},
		"without an answer": func(call, key string) (before, after error) {
			if call == "set" && key == secretKey {
				return nil, errInjected
			}
			return nil, nil
		},
		"after": func(call, key string) (before, after error) {
			if call == "set" && key == stateKey {
				return errInjected, nil
			}
			return nil, nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			l := newLog(t)
			b := &faultyBucket{Bucket: bucketOf(l)}
			s := open(t, b, keys.Options{})
			b.set(fail)
			_, _, err := s.Create(t.Context(), keys.Settings{Name: "x", Roles: []string{"admin"}})
			if err == nil || s.Closed() || open(t, bucketOf(l), keys.Options{}).Closed() {
				t.Fatalf("the store is closed: %v", err)
			}
			if what != "after" {
				want(t, fanfold.Unavailable, err)
			}
			stored, err := b.Get(t.Context(), secretKey)
			if want(t, "", err); (stored.Value == nil) != (what == "before") {
				t.Fatalf("the secret is stored: %v", stored.Value != nil)
			}
			other := open(t, bucketOf(l), keys.Options{})
			key := create(t, other, "admin")
			b.set(nil)
			create(t, s, "read")
			wantIn(t, s, key, "admin")
			if after, err := b.Get(t.Context(), secretKey); err != nil || stored.Value != nil && !bytes.Equal(after.Value, stored.Value) {
				t.Fatalf("the secret is another one: %v", err)
			}
			wantSecret(t, b, s, other)
		})
	}
}

// TestSecretThatCannotBeMade: a node of a closed store that cannot write lets in whom it knows, and makes the secret once it can.
func TestSecretThatCannotBeMade(t *testing.T) {
	suite.Concurrent(t)
	l := newLog(t)
	key := create(t, open(t, bucketOf(l), keys.Options{}), "admin")
	at, err := bucketOf(l).Get(t.Context(), secretKey)
	want(t, "", err)
	want(t, "", bucketOf(l).Remove(t.Context(), secretKey, at.Revision))
	b := &faultyBucket{Bucket: bucketOf(l)}
	b.set(func(call, _ string) (before, after error) {
		if call == "set" {
			return errInjected, nil
		}
		return nil, nil
	})
	s := running(t, b, keys.Options{})
	if wantIn(t, s, key, "admin"); s.Secret() != nil {
		t.Fatal("there is a secret that was not stored")
	}
	version := s.Version()
	b.set(nil)
	harness.Await(t, "the secret", harness.WaitTime, func() bool { return s.Secret() != nil })
	wantSecret(t, b, s)
	if s.Version() == version || s.Age() > harness.WaitTime {
		t.Fatal("the node did not take note")
	}
}

// TestBrokenSecrets: an entry that has no secret is told without what it has, and replaced by nobody.
func TestBrokenSecrets(t *testing.T) {
	for _, broken := range []string{`{`, `{}`, `{"secret":"aHVzaA=="}`, `{"secret":"hush"}`, `[]`} {
		b := bucketOf(newLog(t))
		_, err := b.Set(t.Context(), secretKey, []byte(broken), 0)
		want(t, "", err)
		_, err = keys.Open(t.Context(), b, keys.Options{})
		want(t, fanfold.Internal, err)
		if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, "hush") || strings.Contains(text, "aHV") {
			t.Errorf("the error quotes the entry: %s", text)
		}
		if at, err := b.Get(t.Context(), secretKey); err != nil || string(at.Value) != broken {
			t.Errorf("%s became %s, %v", broken, at.Value, err)
		}
	}
}
