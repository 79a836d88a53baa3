package group

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
)

// Bounds of push.
const (
	MaxPushing       = 50                  // groups of a database whose batches are posted; nodes that make some at once may pass it by some
	MaxPushURL       = 2048                // bytes
	MaxPushHeaders   = 16                  // further headers of a post
	MaxHeaderBytes   = 4096                // of their names and values
	MaxSecretOverlap = 30 * 24 * time.Hour // how long a former secret signs

	secretPrefix = "whsec_"
	leastSecret  = 24 // bytes
	mostSecret   = 64
)

// push says where a group's batches are posted. No answer has its secrets, or the values of its headers.
type push struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Secrets []pushSecret      `json:"secrets"` // the newest first, and at most one before
}

// pushSecret is a secret by which posts are signed.
type pushSecret struct {
	Text  string    `json:"text"`
	Until time.Time `json:"until,omitzero"` // zero for no end
}

// checkPush tells wrong what cannot be asked for.
func checkPush(p *wire.Push, wrong func(bad bool, member, detail string)) {
	if p.URL == "" { // which ends the posts
		wrong(p.Secret != "" || len(p.Headers) > 0, "push", "has no url, by which posts end, and so has nothing else")
		return
	}
	u, err := url.Parse(p.URL)
	badURL := err != nil || len(p.URL) > MaxPushURL || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || strings.Contains(p.URL, "#") || !isPort(u.Port())
	wrong(badURL, "push/url", "must be an https URL of at most 2048 bytes, without a user and a fragment")
	wrong(p.Secret != "" && !isSecret(p.Secret), "push/secret", "must be whsec_ and 24 to 64 bytes in the standard encoding of RFC 4648")
	checkHeaders(p.Headers, wrong)
}

// isPort reports whether a URL can have a port; "" for the scheme's.
func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return text == "" || err == nil && n >= 1 && n <= 65535
}

// isSecret reports whether posts can be signed by a secret.
func isSecret(text string) bool {
	encoded, found := strings.CutPrefix(text, secretPrefix)
	_, err := standardwebhooks.NewWebhook(text)
	bytes := len(encoded)/4*3 - strings.Count(encoded, "=")
	return found && err == nil && bytes >= leastSecret && bytes <= mostSecret && !strings.ContainsAny(text, "\r\n")
}

// newSecret returns a secret that nobody guesses.
func newSecret() string { return secretPrefix + rand.Text() + rand.Text() }

var (
	headerRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,63}$`)
	valueRE  = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
	// ownHeaderRE has the headers that a post or its connection has already.
	ownHeaderRE = regexp.MustCompile(`^(?i:(webhook|fanfold|proxy|sec)-.*|host|user-agent|content-.*|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|date|accept-encoding)$`)
)

// checkHeaders tells wrong of headers that a post cannot have.
func checkHeaders(headers map[string]string, wrong func(bad bool, member, detail string)) {
	size := 0
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		size += len(name) + len(headers[name])
		low := strings.ToLower(name)
		switch {
		case !headerRE.MatchString(name) || ownHeaderRE.MatchString(name) || seen[low]:
			wrong(true, "push/headers", "has a name that cannot be: letters, digits and -, at most 64 bytes, once, and none that a post has already, such as Host, Content-Type or webhook-id")
			return
		case !valueRE.MatchString(headers[name]):
			wrong(true, "push/headers", "has a value that cannot be: visible ASCII characters, with blanks within, and not empty")
			return
		}
		seen[low] = true
	}
	wrong(len(headers) > MaxPushHeaders || size > MaxHeaderBytes, "push/headers", "must be at most 16, of 4096 bytes in all")
}

// fits reports whether what a group has is what is asked for. Settings without push leave it as it is.
func (p *push) fits(asked *wire.Push) bool {
	if asked == nil || asked.URL == "" {
		return asked == nil || p == nil
	}
	if p == nil {
		return false
	}
	return p.URL == asked.URL && maps.Equal(p.Headers, asked.Headers) && (asked.Secret == "" || asked.Secret == p.Secrets[0].Text)
}

// changed returns what a group has once it has what is asked for: what it had, where nothing is, and nothing without a URL. made is a secret that nobody
// has seen yet, "" for none.
func (p *push) changed(asked *wire.Push) (out *push, made string) {
	switch {
	case asked == nil:
		return p, ""
	case asked.URL == "":
		return nil, ""
	}
	out = &push{URL: asked.URL, Headers: asked.Headers}
	switch {
	case asked.Secret != "" && (p == nil || p.Secrets[0].Text != asked.Secret):
		out.Secrets = []pushSecret{{Text: asked.Secret}}
	case p != nil:
		out.Secrets = p.Secrets
	default:
		made = newSecret()
		out.Secrets = []pushSecret{{Text: made}}
	}
	return out, made
}

// signing returns the secrets by which a post is signed, the newest first.
func (p *push) signing(now time.Time) (secrets []string) {
	for _, s := range p.Secrets {
		if s.Until.IsZero() || now.Before(s.Until) {
			secrets = append(secrets, s.Text)
		}
	}
	return secrets
}

// state returns what answers tell of it, nil for nothing.
func (p *push) state(now time.Time) *wire.PushState {
	if p == nil {
		return nil
	}
	out := &wire.PushState{URL: p.URL, Headers: slices.Sorted(maps.Keys(p.Headers))}
	if len(p.signing(now)) > 1 {
		out.Former = p.Secrets[1].Until
	}
	return out
}

// roomToPush returns Unprocessable where a group would be one too many whose batches are posted.
func roomToPush(ctx context.Context, g *Groups, name string, asked *wire.Push) error {
	if asked == nil || asked.URL == "" {
		return nil
	}
	all, err := g.kv.All(ctx, groupsPrefix)
	others := 0
	for _, e := range all {
		s, err := g.readGroup(e)
		if err != nil {
			return err
		}
		if s.Push != nil && s.name != name {
			others++
		}
	}
	if err == nil && others >= MaxPushing {
		return fanfold.Errorf(fanfold.Unprocessable, "%d groups have push already, as many as a database has: delete one, or put it with an empty url", others)
	}
	return err
}

// Rotate gives a group whose batches are posted a new secret, which it returns; nobody can have it later. Posts are signed by the one before, too, for
// overlap from now on. Only administrators may. Errors are Invalid, Forbidden, NotFound, Conflict for a group without push, Busy and Unavailable.
func Rotate(ctx context.Context, g *Groups, name string, overlap time.Duration) (secret string, err error) {
	if overlap < 0 || overlap > MaxSecretOverlap {
		return "", fanfold.Errorf(fanfold.Invalid, "overlap is %v: it is a time from 0s to 720h", overlap)
	}
	s, err := g.get(ctx, name)
	if err == nil {
		err = g.checkAdmin(name)
	}
	if err != nil {
		return "", err
	}
	secret = newSecret()
	return secret, g.update(ctx, groupsPrefix+"."+name, func(old []byte) ([]byte, error) {
		current := new(group)
		if err := unmarshal(fanfold.Entry{Key: name, Value: old}, current); err != nil || current.ID != s.ID {
			return nil, fanfold.Wrap(err, fanfold.NotFound, "group %s was deleted", name)
		}
		if current.Push == nil {
			return nil, fanfold.Errorf(fanfold.Conflict, "group %s has no push, and so no secret: put it with push", name)
		}
		former := current.Push.Secrets[0]
		current.Push.Secrets = []pushSecret{{Text: secret}}
		if overlap > 0 {
			former.Until = g.opt.Now().Add(overlap).UTC()
			current.Push.Secrets = append(current.Push.Secrets, former)
		}
		return json.Marshal(current)
	})
}
