package keys

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
)

// usedPrefix is above an entry for each key that was used. Tables do not read them, for they change more often than keys.
const usedPrefix = "used"

// How precise a time of use is, and how often and how long one is stored.
const (
	usedEach  = time.Minute     // at most one time of a key is noted in this
	usedEvery = 3 * time.Minute // so much is lost where a node is killed
	usedTime  = 2 * time.Second // of a reading, and of the flush at the end
	usedAhead = 24 * time.Hour  // what is later than the clock by more comes of a clock that was wrong
)

// lastUse is the entry of a key that was used.
type lastUse struct {
	At time.Time `json:"at"`
}

// uses have when keys were last used, in Unix seconds by their ids: what the bucket had when it was last read, and what this process
// saw. Their methods may be called from many goroutines.
type uses struct {
	bucket Bucket
	mu     sync.Mutex                               // of replacing seen
	seen   atomic.Pointer[map[string]*atomic.Int64] // the map does not change
	stored atomic.Pointer[map[string]int64]         // does not change
}

func newUses(bucket Bucket) *uses {
	u := &uses{bucket: bucket}
	u.seen.Store(&map[string]*atomic.Int64{})
	u.stored.Store(&map[string]int64{})
	return u
}

// note takes note of a use of a key.
func (u *uses) note(id string, now time.Time) {
	last := (*u.seen.Load())[id]
	if last == nil {
		last = u.first(id)
	}
	if at := now.Unix(); at-last.Load() >= int64(usedEach/time.Second) || isAhead(last.Load(), at) {
		last.Store(at)
	}
}

// isAhead tells whether a time comes of a clock that was wrong, by the clock of now. The next use replaces such a time.
func isAhead(at, now int64) bool { return at-now > int64(usedAhead/time.Second) }

// later returns the later of two times of use, where neither is ahead of now while the other is not.
func later(a, b, now int64) int64 {
	if ahead := isAhead(a, now); a == 0 || (b != 0 && (ahead && !isAhead(b, now) || ahead == isAhead(b, now) && b > a)) {
		return b
	}
	return a
}

// first returns where to note uses of a key that was not used before.
func (u *uses) first(id string) *atomic.Int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	old := *u.seen.Load()
	if last := old[id]; last != nil {
		return last
	}
	next, last := maps.Clone(old), new(atomic.Int64)
	next[id] = last
	u.seen.Store(&next)
	return last
}

// drop leaves out what was seen of keys that a table does not have.
func (u *uses) drop(t *table) {
	u.mu.Lock()
	defer u.mu.Unlock()
	next := maps.Clone(*u.seen.Load())
	maps.DeleteFunc(next, func(id string, _ *atomic.Int64) bool { return t.entries[id] == nil })
	u.seen.Store(&next)
}

// unsaved returns what was seen later than what the bucket had when it was last read.
func (u *uses) unsaved(now int64) map[string]int64 {
	stored, out := *u.stored.Load(), map[string]int64{}
	for id, last := range *u.seen.Load() {
		if at := last.Load(); later(stored[id], at, now) != stored[id] {
			out[id] = at
		}
	}
	return out
}

// read returns the entries of the bucket by the ids of their keys, and keeps their times. The error is Unavailable.
func (u *uses) read(ctx context.Context) (map[string]fanfold.Entry, error) {
	all, err := u.bucket.All(ctx, usedPrefix)
	if err != nil {
		return nil, err
	}
	entries, stored := make(map[string]fanfold.Entry, len(all)), make(map[string]int64, len(all))
	for _, e := range all {
		id := strings.TrimPrefix(e.Key, usedPrefix+".")
		entries[id], stored[id] = e, usedAt(e)
	}
	u.stored.Store(&stored)
	return entries, nil
}

// usedAt returns the time in an entry, 0 where it cannot be read: the next use replaces it.
func usedAt(e fanfold.Entry) int64 {
	use := lastUse{}
	if e.Value == nil || json.Unmarshal(e.Value, &use) != nil || use.At.IsZero() {
		return 0
	}
	return use.At.Unix()
}

// save has the bucket know that a key was used at a time, where it knows of no later use. It returns the revision of what it wrote, 0 for
// nothing. The error is Unavailable, or Busy.
func (u *uses) save(ctx context.Context, id string, e fanfold.Entry, at, now int64) (uint64, error) {
	key := usedPrefix + "." + id
	for range 100 {
		if stored := usedAt(e); later(stored, at, now) == stored {
			return 0, nil
		}
		revision, err := u.bucket.Set(ctx, key, encode(lastUse{time.Unix(at, 0).UTC()}), e.Revision)
		if fanfold.CodeOf(err) != fanfold.Stale {
			return revision, err
		}
		if e, err = u.bucket.Get(ctx, key); err != nil { // another node was faster
			return 0, err
		}
	}
	return 0, fanfold.Errorf(fanfold.Busy, "other nodes keep changing %s: try again", key)
}

// forget takes away the entry of a key that is forgotten. The error is Unavailable.
func (u *uses) forget(ctx context.Context, id string) error {
	e, err := u.bucket.Get(ctx, usedPrefix+"."+id)
	if err != nil || e.Value == nil {
		return err
	}
	return u.bucket.Remove(ctx, e.Key, e.Revision)
}

// run stores uses of a store's keys every few minutes until ctx ends, and once then.
func (u *uses) run(ctx context.Context, s *Store) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for last := s.opt.Now(); ; {
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), usedTime)
			defer cancel()
			u.tell(s, u.flush(ctx, s))
			return
		case <-tick.C:
		}
		if now := s.opt.Now(); now.Sub(last) >= usedEvery {
			last = now
			u.tell(s, u.flush(ctx, s))
		}
	}
}

// tell logs that uses could not be read or stored, which the next time mends.
func (u *uses) tell(s *Store, err error) {
	if err != nil {
		s.opt.Logger.Debug("when keys were last used could not be read or stored", "err", err)
	}
}

// flush stores what was seen of a store's keys, and takes away entries of forgotten keys. No table here is older than an entry that it judges: one
// of a new key stays. While another node forgets a key, either of both takes away what this writes. The error is Unavailable, or Busy.
func (u *uses) flush(ctx context.Context, s *Store) error {
	now := s.opt.Now().Unix()
	if len(u.unsaved(now)) == 0 {
		return nil
	}
	entries, err := u.read(ctx)
	if err != nil {
		return err
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	u.drop(s.table.Load())
	for id, at := range u.unsaved(now) {
		e := entries[id]
		e.Key = usedPrefix + "." + id
		revision, err := u.save(ctx, id, e, at, now)
		if err != nil {
			return err
		}
		if revision != 0 {
			e.Revision = revision
			entries[id] = e
		}
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	t := s.table.Load()
	for id, e := range entries {
		if t.entries[id] == nil {
			if err := u.bucket.Remove(ctx, e.Key, e.Revision); err != nil {
				return err
			}
		}
	}
	_, err = u.read(ctx)
	return err
}

// LastUsed returns when keys were last used by their ids, in UTC, without those that were not: on this node, and on others up to a few minutes
// ago. It reads the bucket, and goes by what it has read before where that fails.
func (s *Store) LastUsed(ctx context.Context) map[string]time.Time {
	t := s.table.Load()
	if len(t.entries) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, usedTime)
	defer cancel()
	_, err := s.used.read(ctx)
	s.used.tell(s, err)
	stored, seen, out := *s.used.stored.Load(), *s.used.seen.Load(), map[string]time.Time{}
	for id := range t.entries {
		at := stored[id]
		if last := seen[id]; last != nil {
			at = later(at, last.Load(), s.opt.Now().Unix())
		}
		if at != 0 {
			out[id] = time.Unix(at, 0).UTC()
		}
	}
	return out
}
