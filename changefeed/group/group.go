// Package group keeps consumer groups of the change feed: which member reads which partition, and how far each has come.
// DESIGN.md says why it is as it is.
package group

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"hash/maphash"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/changefeed"
)

// KV keeps small values by their keys, which are tokens with dots between them. A value that it has returned is durable.
type KV interface {
	// Get returns what a key has.
	Get(ctx context.Context, key string) (fanfold.Entry, error)
	// Set gives a key a value, or takes it away where value is nil, if its revision is still the one given, and returns the
	// new one. The error is Stale where it is not.
	Set(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// All returns the keys below a prefix that are there, as they were at one moment.
	All(ctx context.Context, prefix string) ([]fanfold.Entry, error)
	// Drop takes away a key and the keys below it without a trace.
	Drop(ctx context.Context, key string) error
}

// ReadModel is what groups need of the read model.
type ReadModel interface {
	// Ordinal returns the number of changes up to a position, and of all changes.
	Ordinal(at fanfold.Position) (upTo, all int64, err error)
	// Oldest returns the oldest position after which no change is missing.
	Oldest() (fanfold.Position, error)
	// EachChange calls fn with each change that q asks for, without its values, until fn returns false. It goes by q.After, the
	// collections and the kinds of changes, and Latest.
	EachChange(q fanfold.ChangeQuery, fn func(ch *fanfold.Change) bool) error
}

// Feed is what groups need of the change feed.
type Feed interface {
	// Resolve returns the position that a text names, as the parameter since does. It blocks until this node has reached it.
	Resolve(ctx context.Context, text string) (fanfold.Position, error)
	// CheckSelection returns Invalid where a selection of changes cannot be asked for.
	CheckSelection(s changefeed.Selection) error
	// EachSelected calls fn with each change that a scope has, up to the newest, without its values. all is false where that would take too long.
	EachSelected(ctx context.Context, rights *access.Rights, scope *changefeed.Scope, fn func(ch *fanfold.Change)) (all bool, err error)
	// ServeScope answers a request with what a scope has.
	ServeScope(w http.ResponseWriter, r *http.Request, q changefeed.Query, scope *changefeed.Scope) error
}

// Options are the settings of Groups. The zero value works.
type Options struct {
	Now      func() time.Time // default time.Now
	Random   func() string    // returns what nobody guesses, in letters and digits; default crypto/rand's Text
	Watch    time.Duration    // after which an open feed looks whether its lease is lost; default 1 s
	Timeout  time.Duration    // how long a position is waited for; default 5 s
	LagBound int64            // up to how many changes are counted for a lag; default 20,000
	// FilterBound is up to how many changes a filter is evaluated for a lag; default 2,000.
	FilterBound int64
	Issuer      fanfold.Issuer // gives out positions
}

// Groups keeps the consumer groups of one database, for whoever has certain rights: see By. Its methods may be called from many
// goroutines, and on many nodes at the same time.
type Groups struct {
	*parts
	rights *access.Rights // nil for nobody
}

// parts are what the Groups of all rights share.
type parts struct {
	kv    KV
	feed  Feed
	model ReadModel
	opt   Options

	seed  maphash.Seed
	locks [256]sync.Mutex // so that the requests of one node do not refuse each other; by the hash of a key
}

// New returns the groups that a store of keys has. By gives them to somebody; nobody else has the right to any.
func New(kv KV, feed Feed, model ReadModel, opt Options) *Groups {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Random == nil {
		opt.Random = func() string { return strings.ToLower(rand.Text()[:16]) }
	}
	if opt.Watch == 0 {
		opt.Watch = time.Second
	}
	if opt.Timeout == 0 {
		opt.Timeout = 5 * time.Second
	}
	if opt.LagBound == 0 {
		opt.LagBound = 20_000
	}
	if opt.FilterBound == 0 {
		opt.FilterBound = 2_000
	}
	return &Groups{parts: &parts{kv: kv, feed: feed, model: model, opt: opt, seed: maphash.MakeSeed()}}
}

// By returns the groups for somebody with rights. Methods refuse groups whose role they do not include with Forbidden, and so
// groups that there are not, unless they include the role admin. Each group's changes are those that its role alone may read.
func (g *Groups) By(rights *access.Rights) *Groups { return &Groups{g.parts, rights} }

// Check returns Forbidden where the rights do not include a group.
func (g *Groups) Check(ctx context.Context, name string) error {
	if g.rights != nil && g.rights.Admin() {
		return nil
	}
	_, err := g.entry(ctx, name)
	return err
}

// CheckPut returns Forbidden where the rights do not include to put a group, whatever its settings: only administrators change
// one that is there. Other errors are Invalid and Unavailable.
func (g *Groups) CheckPut(ctx context.Context, name string) error {
	switch {
	case g.rights == nil:
		return forbidden(name)
	case g.rights.Admin():
		return nil
	}
	if err := checkName(name); err != nil {
		return err
	}
	e, err := g.kv.Get(ctx, groupsPrefix+"."+name)
	if err == nil && e.Value != nil {
		err = forbidden(name)
	}
	return err
}

// CheckDelete returns Forbidden where the rights of groups do not include to delete one: administrators may, and its maker. Other errors are
// Invalid and Unavailable.
func CheckDelete(ctx context.Context, g *Groups, name string) error {
	if g.rights != nil && g.rights.Admin() {
		return nil
	}
	s, err := g.entry(ctx, name)
	if err == nil && (s.Maker == "" || s.Maker != g.rights.Actor()) {
		err = forbidden(name)
	}
	return err
}

// tokenOf returns the token of a partition's lease number epoch.
func tokenOf(epoch uint64, random string) string {
	return strconv.FormatUint(epoch, 10) + "-" + random
}

// group is what is kept of a group under its name. The keys of its members, partitions and parked batches begin with its id.
// So nobody takes a deleted group's keys for the keys of another group with its name.
type group struct {
	ID         string           `json:"id"`
	Settings   Settings         `json:"settings"`       // without Push
	Push       *push            `json:"push,omitempty"` // nil where nothing is posted
	Created    time.Time        `json:"created"`
	Maker      string           `json:"maker,omitempty"`      // the principal that made it, which may delete it; "" for one that nobody knows
	Store      fanfold.StoreID  `json:"store,omitempty"`      // the version that the group's positions have
	Start      fanfold.Position `json:"start"`                // where partitions without a checkpoint begin
	Fold       int              `json:"fold,omitempty"`       // the version of the fold that Start is of
	Generation int              `json:"generation,omitempty"` // how often the group was reset

	name     string
	revision uint64
	issuer   fanfold.Issuer // of this node's store
}

// The keys of groups.
const groupsPrefix = "group"

func (s *group) membersKey() string      { return s.ID + ".members" }
func (s *group) partitionsUnder() string { return s.ID + ".partition" }
func (s *group) partitionKey(n int) string {
	return s.partitionsUnder() + "." + strconv.Itoa(n)
}
func (s *group) parkedUnder(n int) string { return s.ID + ".parked." + strconv.Itoa(n) }
func (s *group) parkedKey(n, number int) string {
	return s.parkedUnder(n) + "." + strconv.Itoa(number)
}

// lease returns how long a lease lasts.
func (s *group) lease() time.Duration { return time.Duration(s.Settings.Lease) }

// get returns the group of a name. Errors are Invalid, Forbidden, NotFound, StoreChanged and Unavailable.
func (g *Groups) get(ctx context.Context, name string) (*group, error) {
	s, err := g.entry(ctx, name)
	if err != nil {
		return nil, err
	}
	return s, s.checkStore()
}

// entry returns the group of a name, also one of another store. Errors are Invalid, Forbidden, NotFound and Unavailable.
func (g *Groups) entry(ctx context.Context, name string) (*group, error) {
	if g.rights == nil {
		return nil, forbidden(name)
	}
	if err := checkName(name); err != nil {
		return nil, cmp.Or(g.checkAdmin(name), err)
	}
	e, err := g.kv.Get(ctx, groupsPrefix+"."+name)
	switch {
	case err != nil:
		return nil, err
	case e.Value == nil && !g.rights.Admin(): // who may not enter is not told which groups there are
		return nil, forbidden(name)
	case e.Value == nil:
		return nil, fanfold.Errorf(fanfold.NotFound, "there is no group %q: make it with PUT, or see the list of groups", name)
	}
	s, err := g.readGroup(e)
	if err == nil && !g.rights.Has(s.Settings.Role) {
		err = forbidden(name)
	}
	return s, err
}

// checkAdmin returns Forbidden where the rights do not include the role admin.
func (g *Groups) checkAdmin(name string) error {
	if g.rights.Admin() {
		return nil
	}
	return forbidden(name)
}

// forbidden returns the error for a group that the rights do not include, whether or not it is there.
func forbidden(name string) error {
	return fanfold.Errorf(fanfold.Forbidden, "the right to the group %s is missing: ask for a key with the group's role", fanfold.Clip(name))
}

// readGroup reads what is kept of a group. The error is Internal.
func (g *Groups) readGroup(e fanfold.Entry) (*group, error) {
	s := &group{name: strings.TrimPrefix(e.Key, groupsPrefix+"."), revision: e.Revision, issuer: g.opt.Issuer}
	if err := unmarshal(e, s); err != nil {
		return nil, err
	}
	s.Settings.setDefaults() // some settings are younger than some groups
	if s.foldedOtherwise(s.Fold, s.Start) {
		s.Start = eventStart(s.Start)
	}
	return s, nil
}

// checkStore returns StoreChanged for a group whose positions are of another store than this node's.
func (s *group) checkStore() error {
	if s.Store == "" || s.issuer.Store == "" || s.Store == s.issuer.Store {
		return nil
	}
	return fanfold.Errorf(fanfold.StoreChanged, "the positions of group %s are of store %s, and this is store %s: delete the group, and make it anew", s.name, s.Store, s.issuer.Store)
}

// foldedOtherwise reports whether a position that is of one version of the fold lies in an event that is folded by another.
func (s *group) foldedOtherwise(version int, at fanfold.Position) bool {
	is := foldOf(s.issuer, at)
	return version != 0 && is != 0 && version != is
}

// foldOf returns the version of the fold that a position is of, 0 where this node has not folded its event yet.
func foldOf(issuer fanfold.Issuer, at fanfold.Position) int {
	version, _ := issuer.FoldOf(at.Seq())
	return version
}

// eventStart returns the position before the event that a position lies inside of, and a position between two events as it is.
// Which changes an event has, and in which order, is for the version of the fold to say.
func eventStart(at fanfold.Position) fanfold.Position {
	if at.N() == 0 || at.N() == fanfold.MaxChanges {
		return at
	}
	return fanfold.At(at.Seq(), 0) - 1
}

// eventEnd returns the position after the event that a position lies inside of, and a position between two events as it is.
func eventEnd(at fanfold.Position) fanfold.Position {
	if at.N() == 0 {
		return at
	}
	return fanfold.At(at.Seq(), fanfold.MaxChanges)
}

// unmarshal reads a key's value. The error is Internal.
func unmarshal(e fanfold.Entry, into any) error {
	if err := json.Unmarshal(e.Value, into); err != nil {
		return fanfold.Wrap(err, fanfold.Internal, "the value of %s cannot be read", e.Key)
	}
	return nil
}

// lock waits until no other request of this node changes a key. Call unlock when done.
func (g *Groups) lock(key string) (unlock func()) {
	m := &g.locks[maphash.String(g.seed, key)%uint64(len(g.locks))]
	m.Lock()
	return m.Unlock
}

// maxTries bounds how often a change is tried again because another node has changed the key meanwhile.
const maxTries = 100

// update changes the value of a key by fn, which gets its bytes, nil for none, and returns the new ones, or nil to leave it.
// It calls fn again where another node was faster; fn must not call update. Errors are fn's, Busy and Unavailable.
func (g *Groups) update(ctx context.Context, key string, fn func(old []byte) ([]byte, error)) error {
	defer g.lock(key)()
	return g.compareAndSet(ctx, key, fn)
}

// compareAndSet is update for a key that other requests of this node may change at the same time.
func (g *Groups) compareAndSet(ctx context.Context, key string, fn func(old []byte) ([]byte, error)) error {
	for range maxTries {
		e, err := g.kv.Get(ctx, key)
		if err != nil {
			return err
		}
		value, err := fn(e.Value)
		if err != nil || value == nil || bytes.Equal(value, e.Value) {
			return err
		}
		if _, err = g.kv.Set(ctx, key, value, e.Revision); fanfold.CodeOf(err) != fanfold.Stale {
			return err
		}
	}
	return fanfold.Errorf(fanfold.Busy, "the group is being changed by too many at once: try again")
}

// partitionOf reads the state of a partition of a group, from its key's value, nil for none. Errors are Internal, and
// Busy where the group was reset since s was read.
func (s *group) partitionOf(key string, value []byte) (*partition, error) {
	p := &partition{Generation: s.Generation, Checkpoint: s.Start, Fold: foldOf(s.issuer, s.Start)}
	if value == nil {
		return p, nil
	}
	*p = partition{}
	if err := unmarshal(fanfold.Entry{Key: key, Value: value}, p); err != nil {
		return nil, err
	}
	if s.foldedOtherwise(p.Fold, p.Checkpoint) {
		p.refold()
	}
	if p.Generation > s.Generation {
		return nil, fanfold.Errorf(fanfold.Busy, "group %s is being reset: try again", s.name)
	}
	if p.Generation < s.Generation {
		p.reset(s.Generation, s.Start)
	}
	return p, nil
}

// change changes the state of a partition by fn, which reports whether it has changed it. fn is called again where another
// node was faster. Errors are fn's; NotFound for a number that is none of the group's; Busy; and Unavailable.
func (g *Groups) change(ctx context.Context, s *group, number int, fn func(p *partition) (bool, error)) error {
	if err := s.checkPartition(number); err != nil {
		return err
	}
	key := s.partitionKey(number)
	return g.update(ctx, key, func(old []byte) ([]byte, error) {
		p, err := s.partitionOf(key, old)
		if err != nil {
			return nil, err
		}
		changed, err := fn(p)
		if err != nil || !changed {
			return nil, err
		}
		p.Fold = foldOf(s.issuer, p.Checkpoint)
		return json.Marshal(p)
	})
}

// partitions returns the state of all partitions of a group, as they were at one moment. Errors are Unavailable and Internal.
func (g *Groups) partitions(ctx context.Context, s *group) ([]*partition, error) {
	entries, err := g.kv.All(ctx, s.partitionsUnder())
	if err != nil {
		return nil, err
	}
	values := make(map[string][]byte, len(entries))
	for _, e := range entries {
		values[e.Key] = e.Value
	}
	out := make([]*partition, s.Settings.Partitions)
	for i := range out {
		key := s.partitionKey(i)
		if out[i], err = s.partitionOf(key, values[key]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
