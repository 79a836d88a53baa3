package keys

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// Bounds of keys.
const (
	MaxKeys    = 1000 // revoked ones included
	MaxName    = 100  // bytes
	MaxOverlap = 30 * 24 * time.Hour
	maxYears   = 10 // until a key expires
)

// Entry is what is kept of a key.
type Entry struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Roles   []string   `json:"roles"`         // sorted
	Sub     string     `json:"sub,omitempty"` // "" for the default: see Subject
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Revoked *time.Time `json:"revoked,omitempty"`
	Secrets []Secret   `json:"secrets"` // the newest first; at most two of them work

	Claims json.RawMessage `json:"claims,omitempty"` // an object without white space; nil for {}
}

// Secret is what is kept of a secret of a key.
type Secret struct {
	Hash    []byte     `json:"sha256"`
	Created time.Time  `json:"created"`
	Until   *time.Time `json:"until,omitempty"` // when a rotation ends it; nil for never
}

// Settings are what a key is made with, and what can be changed.
type Settings struct {
	Name    string
	Roles   []string
	Expires *time.Time // nil for never
	Sub     string     // "" for the default: see Entry.Subject
	Claims  json.RawMessage
}

// Patch changes settings. Nil members stay as they are.
type Patch struct {
	Name    *string
	Roles   *[]string
	Expires **time.Time
	Sub     *string         // to "" for the default
	Claims  json.RawMessage // a merge patch (RFC 7396); null takes all away
}

// check returns an Invalid, or an Unprocessable for claims that nest too deep, if a key cannot have the settings. It sorts the roles, and
// takes white space out of the claims.
func (s *Settings) check() error {
	switch {
	case s.Name == "" || len(s.Name) > MaxName:
		return fanfold.Errorf(fanfold.Invalid, "name: a key has a name of 1 to %d bytes", MaxName)
	case !utf8.ValidString(s.Name) || strings.ContainsFunc(s.Name, unicode.IsControl):
		return fanfold.Errorf(fanfold.Invalid, "name: a key's name has no control characters")
	case len(s.Roles) == 0 || len(s.Roles) > model.MaxRoles:
		return fanfold.Errorf(fanfold.Invalid, "roles: a key has 1 to %d roles, such as read, write, monitor or admin", model.MaxRoles)
	}
	s.Roles = slices.Sorted(slices.Values(s.Roles))
	for i, role := range s.Roles {
		switch {
		case !model.IsRole(role):
			return fanfold.Errorf(fanfold.Invalid, "roles: %.80q cannot name a role: use [a-z][a-z0-9_-]*, at most %d bytes", role, model.MaxRoleLen)
		case role == model.RoleEveryone:
			return fanfold.Errorf(fanfold.Invalid, "roles: everybody has the role %s, and nobody can be given it", role)
		case i > 0 && s.Roles[i-1] == role:
			return fanfold.Errorf(fanfold.Invalid, "roles: %s is there twice", role)
		}
	}
	return s.checkSubject()
}

// endAt returns when a key expires, as it is stored: in UTC. The error is Invalid where a key cannot expire then.
func endAt(at *time.Time, now time.Time) (*time.Time, error) {
	switch {
	case at == nil:
		return nil, nil //nolint:nilnil // it never expires
	case !at.After(now):
		return nil, fanfold.Errorf(fanfold.Invalid, "expires: %s is past", at.Format(time.RFC3339))
	case at.After(now.AddDate(maxYears, 0, 0)):
		return nil, fanfold.Errorf(fanfold.Invalid, "expires: a key expires within %d years, or never: leave it out", maxYears)
	}
	utc := at.UTC()
	return &utc, nil
}

// newEntry returns the entry of a new key. Errors are Invalid and Unprocessable.
func newEntry(key access.Key, s Settings, now time.Time) (*Entry, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	expires, err := endAt(s.Expires, now)
	if err != nil {
		return nil, err
	}
	return &Entry{ID: key.ID, Name: s.Name, Roles: s.Roles, Sub: s.Sub, Claims: s.Claims, Created: now, Expires: expires, Secrets: []Secret{newSecret(key, now)}}, nil
}

func newSecret(key access.Key, now time.Time) Secret {
	hash := key.Hash()
	return Secret{Hash: hash[:], Created: now}
}

// changed returns the entry with changed settings. Errors are Invalid and Unprocessable.
func (e *Entry) changed(p Patch, now time.Time) (*Entry, error) {
	s := Settings{Name: e.Name, Roles: e.Roles, Expires: e.Expires, Sub: e.Sub, Claims: e.Claims}
	if p.Name != nil {
		s.Name = *p.Name
	}
	if p.Roles != nil {
		s.Roles = *p.Roles
	}
	if p.Expires != nil {
		var err error
		if s.Expires, err = endAt(*p.Expires, now); err != nil {
			return nil, err
		}
	}
	if p.Sub != nil {
		s.Sub = *p.Sub
	}
	if p.Claims != nil {
		var err error
		if s.Claims, err = mergeClaims(s.Claims, p.Claims); err != nil {
			return nil, err
		}
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	next := *e
	next.Name, next.Roles, next.Expires, next.Sub, next.Claims = s.Name, s.Roles, s.Expires, s.Sub, s.Claims
	return &next, nil
}

// rotated returns the entry with a new secret. The newest of the others works for overlap from now on, the rest ends.
func (e *Entry) rotated(key access.Key, overlap time.Duration, now time.Time) *Entry {
	next := *e
	next.Secrets = []Secret{newSecret(key, now)}
	if overlap > 0 && len(e.Secrets) > 0 && e.Secrets[0].works(now) {
		old := e.Secrets[0]
		if until := now.Add(overlap); old.Until == nil || until.Before(*old.Until) {
			old.Until = &until
		}
		next.Secrets = append(next.Secrets, old)
	}
	return &next
}

// revoked returns the entry of the key without its secrets.
func (e *Entry) revoked(now time.Time) *Entry {
	next := *e
	next.Revoked, next.Secrets = &now, []Secret{}
	return &next
}

// Works tells whether the key works at a time.
func (e *Entry) Works(now time.Time) bool {
	return e.Revoked == nil && (e.Expires == nil || e.Expires.After(now))
}

// works tells whether no rotation has ended the secret by a time.
func (s *Secret) works(now time.Time) bool { return s.Until == nil || s.Until.After(now) }

// isAdmin tells whether the key has the role admin.
func (e *Entry) isAdmin() bool { return slices.Contains(e.Roles, model.RoleAdmin) }

// endsEarlier tells whether a key ends earlier than before by a change. Nil is never.
func endsEarlier(before, after *time.Time) bool {
	return after != nil && (before == nil || after.Before(*before))
}

// keepsAdmin returns a Conflict where a change takes the last working key with admin away: next is nil where the key ends. The key
// in the file of the admin key is one that works.
func (s *Store) keepsAdmin(t *table, prev, next *Entry, now time.Time) error {
	if s.admin != nil {
		return nil
	}
	if !prev.isAdmin() || !prev.Works(now) || next != nil && next.isAdmin() && next.Works(now) && !endsEarlier(prev.Expires, next.Expires) {
		return nil
	}
	for _, e := range t.entries {
		if e.ID != prev.ID && e.isAdmin() && e.Works(now) {
			return nil
		}
	}
	return fanfold.Errorf(fanfold.Conflict, "%s is the last working key with the role admin: make another one first", prev.ID)
}

// principals returns the principals of the key's secrets.
func (e *Entry) principals() (out []*access.Principal) {
	if e.Revoked != nil {
		return nil
	}
	for _, s := range e.Secrets {
		if len(s.Hash) != sha256.Size {
			continue // written by nobody of us: it opens nothing
		}
		p := &access.Principal{ID: e.ID, Name: e.Name, Roles: e.Roles, Sub: e.Subject(), Claims: e.Claims, Created: e.Created, Secret: [sha256.Size]byte(s.Hash)}
		if e.Expires != nil {
			p.Expires, p.Ends = *e.Expires, *e.Expires
		}
		if s.Until != nil && (p.Ends.IsZero() || s.Until.Before(p.Ends)) {
			p.Ends = *s.Until
		}
		out = append(out, p)
	}
	return out
}
