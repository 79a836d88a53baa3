package keys

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// Create makes a key, and returns what is kept of it, and the key, which nobody can be told again. The first key closes the
// store. Errors are Invalid, and Unprocessable where there are MaxKeys keys or the first one lacks the role admin. Every change
// may return Unavailable, Busy, and OutcomeUnknown if it may have been made.
func (s *Store) Create(ctx context.Context, settings Settings) (*Entry, access.Key, error) {
	key := access.NewKey()
	e, err := s.change(ctx, key.ID, func(t *table, now time.Time) (*Entry, error) {
		e, err := newEntry(key, settings, now)
		switch {
		case err != nil:
			return nil, err
		case t.entries[key.ID] != nil:
			return nil, fanfold.Errorf(fanfold.Busy, "two keys were given one id: try again") // once in 10^18 times
		case len(t.entries) >= MaxKeys:
			return nil, fanfold.Errorf(fanfold.Unprocessable, "there are %d keys, which is the most: revoke one that nobody uses, and revoke it again to forget it", MaxKeys)
		case !t.closed() && !e.isAdmin():
			return nil, fanfold.Errorf(fanfold.Unprocessable, "the first key must have the role %s: it closes the store, and nobody else could make keys", model.RoleAdmin)
		}
		return e, nil
	})
	return e, key, err
}

// List returns the entries of all keys, the oldest first.
func (s *Store) List() []*Entry { return s.table.Load().sorted() }

// Get returns the entry of a key. The error is NotFound.
func (s *Store) Get(id string) (*Entry, error) {
	return s.table.Load().entry(id)
}

// entry returns the entry of a key. The error is NotFound.
func (t *table) entry(id string) (*Entry, error) {
	if e := t.entries[id]; e != nil {
		return e, nil
	}
	return nil, fanfold.Errorf(fanfold.NotFound, "there is no key %.80q; GET /v1/_keys lists those there are", id)
}

// Change changes the settings of a key. It returns NotFound, Invalid, Unprocessable for claims that nest too deep, and the errors of
// every change. It is a Conflict for a revoked key, and where the last working key with the role admin would lose it or end.
func (s *Store) Change(ctx context.Context, id string, patch Patch) (*Entry, error) {
	return s.change(ctx, id, func(t *table, now time.Time) (*Entry, error) {
		e, err := t.unrevoked(id)
		if err != nil {
			return nil, err
		}
		next, err := e.changed(patch, now)
		if err != nil {
			return nil, err
		}
		return next, s.keepsAdmin(t, e, next, now)
	})
}

// unrevoked returns the entry of a key that is not revoked. Errors are NotFound and Conflict.
func (t *table) unrevoked(id string) (*Entry, error) {
	e, err := t.entry(id)
	if err == nil && e.Revoked != nil {
		return nil, fanfold.Errorf(fanfold.Conflict, "the key %s is revoked for good: make a new one", id)
	}
	return e, err
}

// Rotate gives a key a new secret, and returns the key with it. The one before works for overlap from now on; older ones end.
// It returns NotFound, Invalid, Conflict for a revoked key, and the errors of every change.
func (s *Store) Rotate(ctx context.Context, id string, overlap time.Duration) (*Entry, access.Key, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return nil, access.Key{}, fanfold.Errorf(fanfold.Invalid, "overlap: %s is not from 0s to %s", overlap, MaxOverlap)
	}
	key := access.Rotated(id)
	e, err := s.change(ctx, id, func(t *table, now time.Time) (*Entry, error) {
		e, err := t.unrevoked(id)
		if err != nil {
			return nil, err
		}
		return e.rotated(key, overlap, now), nil
	})
	return e, key, err
}

// Revoke ends a key for good. Its name and roles stay until it is revoked again, which forgets it. It returns NotFound,
// Conflict if it is the last working key with the role admin, and the errors of every change.
func (s *Store) Revoke(ctx context.Context, id string) error {
	left, err := s.change(ctx, id, func(t *table, now time.Time) (*Entry, error) {
		e, err := t.entry(id)
		switch {
		case err != nil:
			return nil, err
		case e.Revoked != nil:
			return nil, nil //nolint:nilnil // a nil entry forgets the key
		}
		return e.revoked(now), s.keepsAdmin(t, e, nil, now)
	})
	if err == nil && left == nil {
		s.used.tell(s, s.used.forget(ctx, id))
	}
	return err
}
