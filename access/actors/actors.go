// Package actors keeps whose the names are by which events know the holders of others' tokens.
package actors

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
)

// Bucket keeps small values by their keys: see keys.Bucket.
type Bucket interface {
	// Get returns what a key has, as the bucket's leader knows it. The error is Unavailable.
	Get(ctx context.Context, key string) (fanfold.Entry, error)
	// Set gives a key a value if its revision is still the one given. Errors are Stale, and Unavailable.
	Set(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// All returns the keys below a prefix.
	All(ctx context.Context, prefix string) ([]fanfold.Entry, error)
	// Remove takes a key away without a trace, unless it has changed since a revision.
	Remove(ctx context.Context, key string, revision uint64) error
}

const (
	bucketPrefix = "actors"  // apart from the keys, which are read all at once
	idSize       = 16        // bytes of the MAC
	shardLen     = 3         // characters of a name that say in which part of the directory it is
	maxInShard   = 64        // names: with 4,096 parts some 260,000
	maxKnown     = 10_000    // names that a node need not look up
	knownTime    = time.Hour // for which it need not
)

// Actor says whose a name is.
type Actor struct {
	ID     string `json:"id"`
	Issuer string `json:"iss"`
	Sub    string `json:"sub"`
}

// Directory knows whose names are. Its methods may be called from many goroutines.
type Directory struct {
	bucket Bucket
	now    func() time.Time

	mu    sync.Mutex
	known map[string]time.Time // since when a name is known to be in the bucket
}

// New returns the directory in a bucket.
func New(bucket Bucket, now func() time.Time) *Directory {
	return &Directory{bucket: bucket, now: now, known: map[string]time.Time{}}
}

// placeOf returns the key of a name in the bucket, and the part of the directory that it is in. The error is NotFound for what is no name.
func placeOf(id string) (key, part string, err error) {
	mac, found := strings.CutPrefix(id, access.ActorPrefix)
	if raw, err := hex.DecodeString(mac); !found || err != nil || len(raw) != idSize || hex.EncodeToString(raw) != mac {
		return "", "", missing(id)
	}
	part = bucketPrefix + "." + mac[:shardLen]
	return part + "." + mac, part, nil
}

// missing is the refusal of a name that is not there.
func missing(id string) error {
	return fanfold.Errorf(fanfold.NotFound, "it is not known whose %.80q is: an actor is such as sub:0f1e..., as rows of the feed and events have it, and may have been forgotten", id)
}

// Remember keeps whose the name of a principal is, before an event has it. It returns at once for a key, and for a name that this node has found there of
// late. Errors are Unavailable, and Busy where the directory is full.
func (d *Directory) Remember(ctx context.Context, p *access.Principal) error {
	id := p.Actor()
	if p.By == "" || d.knows(id) {
		return nil
	}
	key, part, err := placeOf(id)
	if err != nil {
		return err
	}
	at, err := d.bucket.Get(ctx, key)
	if err == nil && at.Value == nil {
		err = d.add(ctx, key, part, Actor{id, p.Issuer, p.Sub})
	}
	if err == nil {
		d.note(id)
	}
	return err
}

// add writes a name that is not there. It returns Remember's errors.
func (d *Directory) add(ctx context.Context, key, part string, a Actor) error {
	there, err := d.bucket.All(ctx, part)
	switch {
	case err != nil:
		return err
	case len(there) >= maxInShard:
		return fanfold.Errorf(fanfold.Busy, "the store keeps the names of as many people as it can: an admin has to forget some, by DELETE /v1/_actors/{id}")
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if _, err = d.bucket.Set(ctx, key, text, 0); fanfold.CodeOf(err) == fanfold.Stale {
		return nil // another node has written the same
	}
	return err
}

// knows tells whether this node has found a name in the bucket of late.
func (d *Directory) knows(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, found := d.known[id]
	return found && d.now().Sub(at) < knownTime
}

// note keeps that a name is in the bucket. It makes room for it.
func (d *Directory) note(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxKnown {
		for one := range d.known { // any one: it is looked up again
			delete(d.known, one)
			break
		}
	}
	d.known[id] = d.now()
}

// Whose returns whose a name is. Errors are NotFound and Unavailable.
func (d *Directory) Whose(ctx context.Context, id string) (*Actor, error) {
	key, _, err := placeOf(id)
	if err != nil {
		return nil, err
	}
	at, err := d.bucket.Get(ctx, key)
	switch {
	case err != nil:
		return nil, err
	case at.Value == nil:
		return nil, missing(id)
	}
	var a Actor
	if json.Unmarshal(at.Value, &a) != nil || a.ID != id {
		return nil, fanfold.Errorf(fanfold.Internal, "the entry %s of the actors cannot be read", key) // no cause, which might quote it
	}
	return &a, nil
}

// Forget takes away whose a name is, without a trace. The next write of the same person, an hour later at most, keeps it again. Errors are NotFound and
// Unavailable.
func (d *Directory) Forget(ctx context.Context, id string) error {
	key, _, err := placeOf(id)
	if err != nil {
		return err
	}
	at, err := d.bucket.Get(ctx, key)
	switch {
	case err != nil:
		return err
	case at.Value == nil:
		return missing(id)
	}
	d.mu.Lock()
	delete(d.known, id)
	d.mu.Unlock()
	return d.bucket.Remove(ctx, key, at.Revision)
}
