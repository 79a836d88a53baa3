package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/actors"
	"github.com/fanfold/fanfold/tests/suite"
)

// bucket keeps values in memory, to count how often it is asked. tests/api has the real one.
type bucket struct {
	mu    sync.Mutex
	all   map[string]fanfold.Entry
	asked int
}

func (b *bucket) Get(_ context.Context, key string) (fanfold.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	e := b.all[key]
	e.Key = key
	return e, nil
}

func (b *bucket) Set(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all[key].Revision != revision {
		return 0, fanfold.Errorf(fanfold.Stale, "another one")
	}
	b.all[key] = fanfold.Entry{Key: key, Value: value, Revision: revision + 1}
	return revision + 1, nil
}

func (b *bucket) All(_ context.Context, prefix string) (found []fanfold.Entry, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, e := range b.all {
		if strings.HasPrefix(key, prefix+".") {
			found = append(found, e)
		}
	}
	return found, nil
}

func (b *bucket) Remove(_ context.Context, key string, _ uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, key)
	return nil
}

// of returns who holds a token of a subject.
func of(sub string) *access.Principal {
	return &access.Principal{Issuer: "i", Sub: sub, By: access.ActorOf([]byte("a secret"), "i", sub)}
}

// TestManyActors: whose a name is stands in the bucket before the first event has it, once, until somebody forgets it. A directory that is full says so.
func TestManyActors(t *testing.T) {
	suite.Concurrent(t)
	b, ctx := &bucket{all: map[string]fanfold.Entry{}}, t.Context()
	now := time.Now()
	d := actors.New(b, func() time.Time { return now })
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 100 {
				if err := d.Remember(ctx, of(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	asked := b.asked
	if err := d.Remember(ctx, of("1")); err != nil || b.asked != asked || len(b.all) != 100 {
		t.Errorf("%v, asked %d times more, %d entries", err, b.asked-asked, len(b.all))
	}
	if a, err := d.Whose(ctx, of("7").By); err != nil || a.Sub != "7" || a.Issuer != "i" {
		t.Errorf("%+v %v", a, err)
	}
	if err := d.Forget(ctx, of("7").By); err != nil {
		t.Error(err)
	}
	if _, err := d.Whose(ctx, of("7").By); fanfold.CodeOf(err) != fanfold.NotFound || fanfold.CodeOf(d.Forget(ctx, of("7").By)) != fanfold.NotFound {
		t.Errorf("it is forgotten: %v", err)
	}
	if err := d.Remember(ctx, &access.Principal{ID: "a key"}); err != nil || len(b.all) != 99 {
		t.Errorf("a key is remembered: %v", err)
	}
	some := of("0").By
	part := "actors." + strings.TrimPrefix(some, access.ActorPrefix)[:3]
	for i := range 64 {
		b.all[fmt.Sprint(part, ".", i)] = fanfold.Entry{Revision: 1}
	}
	delete(b.all, part+"."+strings.TrimPrefix(some, access.ActorPrefix))
	if err := actors.New(b, time.Now).Remember(ctx, of("0")); fanfold.CodeOf(err) != fanfold.Busy {
		t.Errorf("a full directory: %v", err)
	}
}
