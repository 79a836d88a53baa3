package keys

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of what rules see of a key.
const (
	MaxSub         = 255     // bytes
	MaxClaims      = 4 << 10 // bytes, without white space
	MaxClaimsDepth = 4
)

// defaultSub returns the subject of a key that is given none.
func defaultSub(id string) string { return access.KeySubject + id }

// Subject returns whom rules take the key's holder for.
func (e *Entry) Subject() string { return cmp.Or(e.Sub, defaultSub(e.ID)) }

// ShownClaims returns what else rules see of the key's holder: {} for nothing.
func (e *Entry) ShownClaims() json.RawMessage {
	if e.Claims == nil {
		return json.RawMessage("{}")
	}
	return e.Claims
}

// checkSubject does for the subject and the claims what check does.
func (s *Settings) checkSubject() (err error) {
	switch {
	case len(s.Sub) > MaxSub:
		return fanfold.Errorf(fanfold.Invalid, "sub: a key's subject has 1 to %d bytes, not %d", MaxSub, len(s.Sub))
	case !utf8.ValidString(s.Sub) || strings.ContainsFunc(s.Sub, unicode.IsControl):
		return fanfold.Errorf(fanfold.Invalid, "sub: a key's subject is UTF-8 without control characters")
	case len(s.Claims) == 0:
		s.Claims = nil
		return nil
	}
	if s.Claims, err = readClaims(s.Claims); err != nil {
		return err
	}
	switch {
	case s.Claims[0] != '{':
		return fanfold.Errorf(fanfold.Invalid, "claims: a key's claims are a JSON object")
	case len(s.Claims) > MaxClaims:
		return fanfold.Errorf(fanfold.Invalid, "claims: they have %d bytes without white space, and may have %d", len(s.Claims), MaxClaims)
	case string(s.Claims) == "{}":
		s.Claims = nil
	}
	return nil
}

// readClaims returns JSON text as it is stored: without white space, and each number with its digits. Errors are Invalid, also for a member
// that is there twice, and Unprocessable for text that nests too deep.
func readClaims(text json.RawMessage) (json.RawMessage, error) {
	err := jsondoc.Check(text, MaxClaimsDepth)
	var syntax *jsondoc.SyntaxError
	switch {
	case err == nil:
		return encode(text), nil
	case errors.As(err, &syntax) && syntax.Depth:
		return nil, fanfold.Wrap(err, fanfold.Unprocessable, "claims: they nest at most %d levels deep: %v", MaxClaimsDepth, err)
	}
	return nil, fanfold.Wrap(err, fanfold.Invalid, "claims: %v", err)
}

// mergeClaims returns claims with a merge patch (RFC 7396) applied, nil for none. It returns the errors of readClaims, and Invalid for a patch that
// is neither an object nor null.
func mergeClaims(claims, patch json.RawMessage) (json.RawMessage, error) {
	patch, err := readClaims(patch)
	switch {
	case err != nil:
		return nil, err
	case bytes.Equal(patch, []byte("null")):
		return nil, nil
	case patch[0] != '{':
		return nil, fanfold.Errorf(fanfold.Invalid, "claims: a key's claims are a JSON object; null takes them away")
	case claims == nil:
		claims = json.RawMessage("{}")
	}
	return jsondoc.Merge(claims, patch), nil
}

// Imagined returns the principal that a key with some settings would have, for questions about it. It needs no name and no roles. It returns what Create
// returns for bad settings.
func (s Settings) Imagined() (*access.Principal, error) {
	check := s.checkSubject
	if len(s.Roles) > 0 {
		s.Name, check = "imagined", s.check
	}
	if err := check(); err != nil {
		return nil, err
	}
	return &access.Principal{Roles: s.Roles, Sub: s.Sub, Claims: s.Claims}, nil
}
