package keys

import (
	"bytes"
	"crypto/subtle"
	"encoding/base64"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
)

// MaxAuthorization bounds an Authorization header, in bytes.
const MaxAuthorization = 8 << 10

// Result is what became of a request's credentials.
type Result int

// The results, in the order of Results.
const (
	OK Result = iota
	LetInAnonymous
	Missing
	Malformed
	Unknown
	Expired
	Revoked
	Unjudged // a token, by a node that does not know the issuer's keys, or the store's secret
	resultCount
)

var resultNames = [resultCount]string{"ok", "anonymous", "missing", "malformed", "unknown", "expired", "revoked", "unjudged"}

// String returns the result's name, as metrics have it.
func (r Result) String() string { return resultNames[r] }

// results counts what became of the credentials of requests.
type results [resultCount]atomic.Uint64

// Results returns how many requests had each result since the start, by its name. Requests to an open store are not counted.
func (s *Store) Results() map[string]uint64 {
	out := make(map[string]uint64, resultCount)
	for r := range resultCount {
		out[r.String()] = s.results[r].Load()
	}
	return out
}

// errUnauthenticated is the same for every reason, so that it tells nobody which keys there are.
var errUnauthenticated = fanfold.Errorf(fanfold.Unauthenticated, "this needs a key that works: send it as Authorization: Bearer KEY")

// Authenticate returns the principal of a request with these Authorization headers: see access.Keys. A key is sent as Bearer, or
// as the password of Basic with any user (RFC 6750, RFC 7617).
func (s *Store) Authenticate(authorization []string) (*access.Principal, error) {
	if !s.Closed() {
		return access.Open, nil
	}
	t := s.table.Load()
	if len(authorization) > 1 {
		return nil, fanfold.Errorf(fanfold.Invalid, "there are %d Authorization headers: send one", len(authorization))
	}
	if err := s.checkAge(); err != nil {
		return nil, err
	}
	p, result, err := s.judge(t, authorization)
	s.results[result].Add(1)
	switch {
	case err != nil:
		return nil, fanfold.Wrap(err, fanfold.RightsStale, "%s", fanfold.MessageOf(err))
	case p == nil:
		return nil, errUnauthenticated
	}
	return p, nil
}

// checkAge returns a RightsStale where this node does not know the keys of late.
func (s *Store) checkAge() error {
	if !s.stale() {
		return nil
	}
	return fanfold.Errorf(fanfold.RightsStale, "this node could not read the keys for longer than %s, and does not know whom to let in: ask another node", s.opt.MaxAge)
}

// Holder returns the principal of a key whose secret's hash begins so: see access.Keys.
func (s *Store) Holder(id string, secret []byte) (*access.Principal, error) {
	if !s.Closed() {
		return access.Open, nil
	}
	t := s.table.Load()
	if err := s.checkAge(); err != nil {
		return nil, err
	}
	if p := access.HolderIn(id, s.Secret()); p != nil {
		p, result := s.still(p, true)
		s.results[result].Add(1)
		if result == Unjudged {
			return nil, fanfold.Errorf(fanfold.RightsStale, "this node has not read the keys of the tokens' issuer yet, and does not know whom to let in: try again, or ask another node")
		}
		return p, nil
	}
	known := t.secrets[id]
	if s.admin != nil && s.admin.principal().ID == id {
		known = []*access.Principal{s.admin.principal()}
	}
	result := Unknown
	for _, p := range known {
		if bytes.HasPrefix(p.Secret[:], secret) {
			if !s.ended(p) {
				s.results[OK].Add(1)
				if s.admin == nil || p != s.admin.principal() {
					s.used.note(p.ID, s.opt.Now())
				}
				return p, nil
			}
			result = Expired
		}
	}
	s.results[result].Add(1)
	return nil, nil
}

// judge returns the principal of at most one header, nil where it lets nobody in. The error is Unavailable.
func (s *Store) judge(t *table, authorization []string) (*access.Principal, Result, error) {
	if len(authorization) == 0 || authorization[0] == "" {
		if s.opt.Anonymous {
			return access.Anonymous, LetInAnonymous, nil
		}
		return nil, Missing, nil
	}
	header := authorization[0]
	p, sum := s.admitted.find(t, header)
	if p != nil {
		if s.ended(p) {
			return nil, Expired, nil
		}
		s.used.note(p.ID, s.opt.Now())
		return p, OK, nil
	}
	text, ok := credentialsIn(header)
	if !ok {
		return nil, Malformed, nil
	}
	if s.opt.Tokens != nil && strings.Contains(text, ".") {
		return s.holderOf(text)
	}
	key, err := access.ParseKey(text)
	if err != nil {
		return nil, Malformed, nil //nolint:nilerr // the reason says it
	}
	hash := key.Hash()
	if s.admin != nil {
		if p := s.admin.principal(); p.ID == key.ID && subtle.ConstantTimeCompare(hash[:], p.Secret[:]) == 1 {
			return p, OK, nil
		}
	}
	e := t.entries[key.ID]
	if e == nil {
		return nil, Unknown, nil
	}
	if e.Revoked != nil {
		return nil, Revoked, nil
	}
	found := (*access.Principal)(nil)
	for _, p := range t.secrets[key.ID] { // all of them, so that the time does not tell which
		if subtle.ConstantTimeCompare(hash[:], p.Secret[:]) == 1 {
			found = p
		}
	}
	switch {
	case found == nil:
		return nil, Unknown, nil
	case s.ended(found):
		return nil, Expired, nil
	}
	s.admitted.add(t, sum, found)
	s.used.note(found.ID, s.opt.Now())
	return found, OK, nil
}

// ended tells whether a principal's secret has ended.
func (s *Store) ended(p *access.Principal) bool {
	return !p.Ends.IsZero() && !p.Ends.After(s.opt.Now())
}

// keyIn returns the key in an Authorization header.
func keyIn(header string) (key access.Key, ok bool) {
	text, ok := credentialsIn(header)
	if !ok {
		return key, false
	}
	key, err := access.ParseKey(text)
	return key, err == nil
}

// credentialsIn returns the text in an Authorization header that may be a key or a token.
func credentialsIn(header string) (text string, ok bool) {
	if len(header) > MaxAuthorization {
		return "", false
	}
	scheme, credentials, _ := strings.Cut(header, " ")
	credentials = strings.TrimLeft(credentials, " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
	case strings.EqualFold(scheme, "Basic"):
		text, err := base64.StdEncoding.DecodeString(credentials)
		if err != nil {
			return "", false
		}
		_, credentials, _ = strings.Cut(string(text), ":")
	default:
		return "", false
	}
	return credentials, true
}

// Valid tells whether a principal of earlier is one that Authenticate would return now, with the same roles, subject and claims.
func (s *Store) Valid(p *access.Principal) bool {
	t := s.table.Load()
	switch {
	case p == nil || s.stale() && s.Closed():
		return false
	case p == access.Open:
		return !s.Closed()
	case p == access.Anonymous:
		return s.opt.Anonymous
	case s.admin != nil && s.admin.principal() == p:
		return true
	case p.Issuer != "":
		_, result := s.still(p, false)
		return result == OK
	}
	return slices.ContainsFunc(t.secrets[p.ID], func(now *access.Principal) bool {
		return now.Secret == p.Secret && now.Sub == p.Sub && bytes.Equal(now.Claims, p.Claims) && slices.Equal(now.Roles, p.Roles) && !s.ended(now)
	})
}

// mixing is a large prime, so that two changes at once do not cancel each other.
const mixing = 0x9E3779B97F4A7C15

// Version is another one after any principal may have become invalid.
func (s *Store) Version() uint64 {
	version := s.table.Load().version(s.opt.Now())
	if s.opt.Tokens != nil { // a token may end at each second
		version = ((version*mixing+s.revoked.Load().revision)*mixing+s.opt.Tokens.Version())*mixing + uint64(s.opt.Now().Unix()) //nolint:gosec // it is after 1970
	}
	if s.stale() {
		version |= 1 << 63 // nobody is valid meanwhile
	}
	return version
}
