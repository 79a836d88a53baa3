// Package keys keeps the keys of a store in a bucket beside its log, and knows the principals of requests by them.
package keys

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
)

// Bucket keeps small values by their keys: see buckets.KeyValue.
type Bucket interface {
	// Get returns what a key has, as the bucket's leader knows it. The error is Unavailable.
	Get(ctx context.Context, key string) (fanfold.Entry, error)
	// Set gives a key a value if its revision is still the one given, and returns the new one. It blocks until that is durable.
	// Errors are Stale, and Unavailable, where the change may have been made.
	Set(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// All returns the keys below a prefix, as they were at one moment after every change that this process made or read before.
	All(ctx context.Context, prefix string) ([]fanfold.Entry, error)
	// Remove takes a key away without a trace, unless it has changed since a revision.
	Remove(ctx context.Context, key string, revision uint64) error
	// Watch calls fn after something was sent to a key below a prefix, until stop is called.
	Watch(prefix string, fn func(value []byte)) (stop func(), err error)
}

// Options configure a Store. Zero values stand for the defaults.
type Options struct {
	MaxAge    time.Duration // how long a node lets in by what it has read of the bucket; default 15 minutes
	AdminFile string        // of a key that has the role admin and is in no bucket; "" for none
	Anonymous bool          // requests without credentials are let in
	Tokens    Tokens        // whose holders are let in, too; nil for none. They close the store.
	Logger    *slog.Logger  // default slog.Default()
	Now       func() time.Time
}

// Tokens knows principals by the tokens of an issuer: see tokens.Tokens.
type Tokens interface {
	// Principal returns who holds a token, and nil for one that lets nobody in. ended says that it once did. The error is Unavailable.
	Principal(token string) (p *access.Principal, ended bool, err error)
	// Issuer returns the iss of the tokens.
	Issuer() string
	// Holds tells whether the issuer still has the key that signed a principal's token. With ask it finds out what it does not know, and blocks meanwhile.
	Holds(p *access.Principal, ask bool) bool
	// Version is another one after Holds may have another answer, and 0 before the issuer's keys were read.
	Version() uint64
}

// DefaultMaxAge is the default of Options.MaxAge.
const DefaultMaxAge = 15 * time.Minute

// How often the bucket is read, and how long a reading may take.
const (
	readEvery = 400 * time.Millisecond
	readTime  = 5 * time.Second
	warnAfter = 10 * time.Second // of failed reads: a planned restart of the log's server is shorter
)

// Store keeps keys, and knows principals by what it has last read. Its methods may be called from many goroutines.
type Store struct {
	bucket Bucket
	opt    Options
	admin  *adminFile // nil for none

	mu       sync.Mutex // of changes and readings
	table    atomic.Pointer[table]
	numbers  atomic.Uint64
	admitted admitted
	readAt   atomic.Pointer[time.Time] // when the bucket was last read
	results  results
	revoked  atomic.Pointer[revocations]
	used     *uses
}

// Open returns a store that has read the bucket and the file of the admin key. Such a file closes the store.
// Errors are Invalid for the file, and Unavailable.
func Open(ctx context.Context, bucket Bucket, opt Options) (*Store, error) {
	opt.MaxAge = cmp.Or(opt.MaxAge, DefaultMaxAge)
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	s := &Store{bucket: bucket, opt: opt, used: newUses(bucket)}
	s.revoked.Store(&revocations{})
	if opt.AdminFile != "" {
		s.admin = &adminFile{path: opt.AdminFile}
		if err := s.admin.read(); err != nil {
			return nil, err
		}
	}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	if s.Closed() && !s.table.Load().closed() {
		if err := s.close(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Run reads the bucket again and again, and the file of the admin key, until ctx ends. It stores when keys were last used.
func (s *Store) Run(ctx context.Context) error {
	var using sync.WaitGroup
	using.Go(func() { s.used.run(ctx, s) })
	defer using.Wait()
	hints := make(chan struct{}, 1)
	stop, err := s.bucket.Watch(prefix, func([]byte) {
		select {
		case hints <- struct{}{}:
		default:
		}
	})
	if err == nil { // without hints, the ticks will do
		defer stop()
	}
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	var failing time.Time // since when; zero for no
	warned := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hints:
		case <-tick.C:
		}
		if s.admin != nil && s.admin.changed() {
			s.reread()
		}
		err := s.read(ctx)
		switch {
		case err == nil:
			failing, warned = time.Time{}, false
		case failing.IsZero():
			failing = time.Now()
		case !warned && time.Since(failing) > warnAfter && ctx.Err() == nil:
			s.opt.Logger.Warn("the keys cannot be read; those read last hold for now", "err", err, "maxAge", s.opt.MaxAge)
			warned = true
		}
	}
}

// reread reads the file of the admin key again, and keeps the key that it had where that fails.
func (s *Store) reread() {
	if err := s.admin.read(); err != nil {
		s.opt.Logger.Error("the file of the admin key cannot be read; the key it had stays in force", "err", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := *s.table.Load()
	s.install(&t)
	s.opt.Logger.Info("the file of the admin key was read again", "key", s.admin.principal().ID)
}

// read reads the bucket where it has changed. The error is Unavailable, or Internal.
func (s *Store) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := s.opt.Now()
	at, err := s.bucket.Get(ctx, stateKey)
	if err != nil {
		return err
	}
	if t := s.table.Load(); t == nil || t.revision != at.Revision {
		if t, err = s.readAll(ctx); err != nil {
			return err
		}
		s.install(t)
	}
	if err := s.readRevoked(ctx); err != nil {
		return err
	}
	s.readAt.Store(&begun)
	s.mendSecret(ctx)
	return nil
}

// readAll reads every entry of the bucket. A bucket without an entry is refused where keys were read before: whoever lost or took
// away the bucket does not open the store by it.
func (s *Store) readAll(ctx context.Context) (*table, error) {
	all, err := s.bucket.All(ctx, prefix)
	if err != nil {
		return nil, err
	}
	t, err := newTable(all)
	if before := s.table.Load(); err == nil && before != nil && before.closed() && !t.closed() {
		return nil, fanfold.Errorf(fanfold.Unavailable, "the bucket of the keys is empty, and had keys before: restore it")
	}
	return t, err
}

// install makes a table the one that holds from now on. The caller has the lock.
func (s *Store) install(t *table) {
	t.number = s.numbers.Add(1)
	s.table.Store(t)
}

// close closes the store without a key.
func (s *Store) close(ctx context.Context) error {
	_, err := s.change(ctx, "", func(*table, time.Time) (*Entry, error) { return nil, nil })
	return err
}

// Closed tells whether nobody is let in without a key.
func (s *Store) Closed() bool {
	return s.admin != nil || s.opt.Tokens != nil || s.table.Load().closed()
}

// Age returns how long ago the bucket was last read. It goes by the clock that nobody sets, and by the time of day where that says
// longer: the first one stands still while a machine sleeps.
func (s *Store) Age() time.Duration {
	now, at := s.opt.Now(), *s.readAt.Load()
	return max(now.Sub(at), now.Round(0).Sub(at.Round(0)))
}

// stale tells whether the bucket was last read so long ago that the keys are not known.
func (s *Store) stale() bool { return s.Age() > s.opt.MaxAge }

// Len returns how many keys there are, revoked ones included.
func (s *Store) Len() int { return len(s.table.Load().entries) }

// change makes one change of the entry of a key. decide returns the entry that is to be, nil for none; an error of it changes
// nothing. The change holds on this node when change returns, and survives a loss of power. Errors are decide's; Unavailable;
// OutcomeUnknown where the change may have been made; and Busy where others keep changing keys.
func (s *Store) change(ctx context.Context, id string, decide func(t *table, now time.Time) (*Entry, error)) (*Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 100 {
		// The state comes from the leader, and what is read after it is not older.
		if _, err := s.bucket.Get(ctx, stateKey); err != nil {
			return nil, err
		}
		t, err := s.readAll(ctx)
		if err != nil {
			return nil, err
		}
		if err := s.complete(ctx, t); err != nil {
			return nil, err
		}
		next, err := decide(t, s.opt.Now().UTC().Truncate(time.Millisecond))
		if err != nil {
			s.install(t)
			return nil, err
		}
		to := state{Closed: true}
		if id != "" {
			to.Change = &change{ID: id, Entry: next}
		}
		if err := s.needSecret(ctx, t); err != nil {
			return nil, err
		}
		revision, err := s.bucket.Set(ctx, stateKey, encode(to), t.revision)
		if fanfold.CodeOf(err) == fanfold.Stale {
			continue // another node was faster
		}
		if err != nil {
			return nil, fanfold.Wrap(err, fanfold.OutcomeUnknown, "it is not known whether the change of the keys was stored: look at them before you try again")
		}
		after := t.with(to, revision)
		if err := s.complete(ctx, after); err != nil { // whoever changes keys next completes it
			s.opt.Logger.Warn("a changed key is not written to its own entry yet", "key", id, "err", err)
		}
		s.install(after)
		return next, nil
	}
	return nil, fanfold.Errorf(fanfold.Busy, "other nodes keep changing keys: try again")
}

// complete writes the entry that a table's state names, where that was not done. It overwrites nothing that is newer than the
// state.
func (s *Store) complete(ctx context.Context, t *table) error {
	c := t.state.Change
	for c != nil && !t.written(c) {
		key := prefix + "." + c.ID
		var err error
		if c.Entry == nil {
			err = s.bucket.Remove(ctx, key, t.revisions[c.ID])
			delete(t.revisions, c.ID)
		} else {
			t.revisions[c.ID], err = s.bucket.Set(ctx, key, encode(c.Entry), t.revisions[c.ID])
		}
		if fanfold.CodeOf(err) == fanfold.Stale { // another node has written it, for this state or for a later one
			var now fanfold.Entry
			now, err = s.bucket.Get(ctx, key)
			t.revisions[c.ID] = now.Revision
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// encode returns the state or an entry as it is stored. Claims keep each byte.
func encode(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // neither has anything that JSON lacks
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
