package tokens

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// reason says why a token lets nobody in.
type reason int

// The reasons, in the order of reasonNames.
const (
	malformed reason = iota // no JSON Web Token, or one that may be read in two ways
	otherType               // it is for something else
	unknownKey
	signature
	issuer
	audience
	missing // what every token says
	expired
	early
	life // it works for too long
	subject
	claimsReason // too many
	rolesReason  // too many
	unjudged     // this node cannot say
	reasonCount
)

var reasonNames = [reasonCount]string{"malformed", "type", "key", "signature", "issuer", "audience", "missing", "expired", "early", "life", "sub", "claims", "roles", "unjudged"}

// refusal is why a token lets nobody in. It quotes nothing of it.
type refusal struct {
	reason reason
	text   string
}

// Error returns the text.
func (r *refusal) Error() string { return r.text }

// refuse returns a refusal.
func refuse(why reason, format string, args ...any) error {
	return &refusal{why, fmt.Sprintf(format, args...)}
}

// A node cannot judge a token where it has not read what it would judge it by.
var (
	errNoKeysYet   = refuse(unjudged, "this node could not fetch the keys of the tokens' issuer yet, and does not know whom to let in: try again, or ask another node")
	errNoSecretYet = refuse(unjudged, "this node has not read the secret of the store, by which it names who holds a token: try again, or ask another node")
)

// ofParser are the reasons for errors of the parser, in the order in which they are looked for: it returns several at once.
var ofParser = []struct {
	err error
	why reason
}{
	{jwt.ErrTokenMalformed, malformed}, {jwt.ErrTokenSignatureInvalid, signature}, {jwt.ErrTokenUnverifiable, signature}, {jwt.ErrTokenInvalidIssuer, issuer}, {jwt.ErrTokenInvalidAudience, audience},
	{jwt.ErrTokenExpired, expired}, {jwt.ErrTokenNotValidYet, early}, {jwt.ErrTokenUsedBeforeIssued, early}, {jwt.ErrTokenInvalidClaims, missing}, // of all that it may say of them, this is left
}

// reasonOf returns why a token lets nobody in, by the error of verify.
func reasonOf(err error) reason {
	var r *refusal
	if errors.As(err, &r) {
		return r.reason
	}
	for _, x := range ofParser {
		if errors.Is(err, x.err) {
			return x.why
		}
	}
	return malformed
}

// textOf returns what a refusal says, without what the parser says around it.
func textOf(err error) string {
	var r *refusal
	if errors.As(err, &r) {
		return r.text
	}
	return oneLine(err)
}

// tellEvery is how long the log has no other line about tokens that are refused for the same reason.
const tellEvery = time.Minute

// refusals count the tokens that let nobody in, and tell of them.
type refusals struct {
	count [reasonCount]atomic.Uint64
	told  [reasonCount]atomic.Int64 // when, in nanoseconds of Unix time
}

// note counts a refusal. The log has one line for each reason in a minute, which quotes nothing of the token.
func (r *refusals) note(err error, now time.Time, logger *slog.Logger) reason {
	why := reasonOf(err)
	n, at, told := r.count[why].Add(1), now.UnixNano(), r.told[why].Load()
	if (told == 0 || at-told >= int64(tellEvery) || at < told) && r.told[why].CompareAndSwap(told, at) {
		logger.Info("a token lets nobody in; there is a line a minute for each reason", "reason", reasonNames[why], "err", textOf(err), "sinceTheStart", n)
	}
	return why
}

// Refusals returns how many tokens have let nobody in since the start, by reason: 0 for each where there are no Tokens.
func (t *Tokens) Refusals() map[string]uint64 {
	out := make(map[string]uint64, reasonCount)
	for why, name := range reasonNames {
		if out[name] = 0; t != nil {
			out[name] = t.refused.count[why].Load()
		}
	}
	return out
}
