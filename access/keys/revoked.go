package keys

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
)

// revokedKey has whose tokens are refused that are older than a moment. It is an entry of its own, apart from the state that orders the changes of keys.
const revokedKey = prefix + "._revoked"

// Bounds of what is revoked.
const (
	keepRevoked = 25 * time.Hour // no token works longer than a day
	maxRevoked  = 5000           // subjects
)

// revocations are whose older tokens are refused, as the bucket had them. They do not change.
type revocations struct {
	revision uint64
	before   map[string]time.Time // by who
	Subjects []revokedSubject     `json:"subjects"`
}

// revokedSubject is one of them.
type revokedSubject struct {
	Who    string    `json:"who"` // as events name the holder: nobody learns whose it is
	Before time.Time `json:"before"`
	Made   time.Time `json:"made"`
}

// has tells whether a principal's token is refused.
func (r *revocations) has(p *access.Principal) bool {
	before, ok := r.before[p.By]
	return ok && p.Created.Before(before)
}

// readRevocations reads the entry. The error is Internal.
func readRevocations(at fanfold.Entry) (*revocations, error) {
	r := &revocations{revision: at.Revision, before: map[string]time.Time{}}
	if at.Value != nil && json.Unmarshal(at.Value, r) != nil {
		return nil, fanfold.Errorf(fanfold.Internal, "the entry %s of the keys cannot be read", revokedKey)
	}
	for _, x := range r.Subjects {
		r.before[x.Who] = x.Before
	}
	return r, nil
}

// readRevoked reads what is revoked, where tokens let in. Errors are Unavailable and Internal. The caller has the lock.
func (s *Store) readRevoked(ctx context.Context) error {
	if s.opt.Tokens == nil {
		return nil
	}
	at, err := s.bucket.Get(ctx, revokedKey)
	if err != nil || at.Revision == s.revoked.Load().revision {
		return err
	}
	r, err := readRevocations(at)
	if err == nil {
		s.revoked.Store(r)
	}
	return err
}

// RevokeTokens refuses the tokens of a subject that were made before a moment, on this node when it returns, and on others within a second. Later tokens work.
// Errors are Invalid; Unprocessable where no tokens let in, or where too many subjects are revoked; Busy; and Unavailable, where it may have been done.
func (s *Store) RevokeTokens(ctx context.Context, sub string, before time.Time) error {
	now := s.opt.Now()
	switch {
	case s.opt.Tokens == nil:
		return fanfold.Errorf(fanfold.Unprocessable, "this node lets nobody in by a token: it was started without --token-issuer")
	case sub == "" || len(sub) > MaxSub || !utf8.ValidString(sub) || strings.ContainsFunc(sub, unicode.IsControl):
		return fanfold.Errorf(fanfold.Invalid, "sub: a subject has 1 to %d bytes of UTF-8, without control characters", MaxSub)
	case before.After(now.Add(time.Minute)):
		return fanfold.Errorf(fanfold.Invalid, "before: %s is in the future: tokens that are made later cannot be revoked", before.Format(time.RFC3339))
	}
	secret := s.Secret()
	if secret == nil {
		return fanfold.Errorf(fanfold.Unavailable, "this node has not read the secret of the store, by which it names whose tokens are revoked: try again, or ask another node")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 100 {
		at, err := s.bucket.Get(ctx, revokedKey)
		if err != nil {
			return err
		}
		r, err := readRevocations(at)
		if err != nil {
			return err
		}
		who := access.ActorOf(secret, s.opt.Tokens.Issuer(), sub)
		if r.before[who].After(before) {
			before = r.before[who]
		}
		next := slices.DeleteFunc(slices.Clone(r.Subjects), func(x revokedSubject) bool { return x.Who == who || now.Sub(x.Made) > keepRevoked })
		if len(next) >= maxRevoked {
			return fanfold.Errorf(fanfold.Unprocessable, "the tokens of %d subjects were revoked within a day, which is the most: change the issuer's keys", maxRevoked)
		}
		next = append(next, revokedSubject{who, before.UTC(), now.UTC()})
		revision, err := s.bucket.Set(ctx, revokedKey, encode(revocations{Subjects: next}), at.Revision)
		if fanfold.CodeOf(err) == fanfold.Stale {
			continue // another node was faster
		}
		if err != nil {
			return err
		}
		made, err := readRevocations(fanfold.Entry{Key: revokedKey, Value: encode(revocations{Subjects: next}), Revision: revision})
		if err == nil {
			s.revoked.Store(made)
		}
		return err
	}
	return fanfold.Errorf(fanfold.Busy, "other nodes keep revoking tokens: try again")
}

// holderOf returns who holds a token, nil where it lets nobody in. The error is Unavailable.
func (s *Store) holderOf(token string) (*access.Principal, Result, error) {
	p, ended, err := s.opt.Tokens.Principal(token)
	switch {
	case err != nil:
		return nil, Unjudged, err
	case ended:
		return nil, Expired, nil
	case p == nil:
		return nil, Unknown, nil
	case s.revoked.Load().has(p):
		return nil, Revoked, nil
	}
	return p, OK, nil
}

// still returns who held a token earlier, nil where it would let nobody in now. With ask it blocks while the issuer is asked for keys.
func (s *Store) still(p *access.Principal, ask bool) (*access.Principal, Result) {
	switch {
	case s.opt.Tokens == nil:
		return nil, Unknown
	case s.ended(p):
		return nil, Expired
	case s.revoked.Load().has(p):
		return nil, Revoked
	case !s.opt.Tokens.Holds(p, ask) && s.opt.Tokens.Version() == 0:
		return nil, Unjudged
	case !s.opt.Tokens.Holds(p, false):
		return nil, Unknown
	}
	return p, OK
}
