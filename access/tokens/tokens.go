// Package tokens knows principals by the tokens of an issuer, which are JSON Web Tokens (RFC 7519) that it signs for its own users.
package tokens

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/golang-jwt/jwt/v5"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
)

// Options say whose tokens let in, and as whom.
type Options struct {
	Issuer   string              // that tokens must name
	Audience string              // the same
	Keys     string              // the file of the issuer's public keys, or their https URL; "" for what the issuer's discovery document says
	Roles    string              // the member that has the roles; default "roles"
	Map      map[string][]string // the roles that names of the issuer stand for
	Secret   func() []byte       // of the store, by which events name people; nil while it is not known
	Logger   *slog.Logger
	Now      func() time.Time // default time.Now
	Fetch    *Fetcher         // default NewFetcher's
}

// Bounds of tokens.
const (
	maxToken     = 8 << 10 // bytes
	maxLife      = 24 * time.Hour
	leeway       = 30 * time.Second
	maxSub       = 255 // bytes
	maxClaims    = 4 << 10
	claimsDepth  = 4
	payloadDepth = 16
	maxKnown     = 10_000 // tokens that are not verified again
	maxNames     = 256    // of roles
)

// methods are the ways to sign that are taken: those with a public key.
var methods = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// Tokens verifies tokens. Its methods may be called from many goroutines.
type Tokens struct {
	opt    Options
	keys   *keySource
	parser *jwt.Parser

	mu    sync.Mutex
	known map[[sha256.Size]byte]*access.Principal

	refused refusals
}

// New returns what verifies tokens. It reads a file of keys. Errors are Invalid.
func New(opt Options) (*Tokens, error) {
	if opt.Roles == "" {
		opt.Roles = "roles"
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.Fetch == nil {
		opt.Fetch = NewFetcher(nil)
	}
	switch {
	case opt.Issuer == "" || opt.Audience == "":
		return nil, fanfold.Errorf(fanfold.Invalid, "--token-issuer and --token-audience go together: a token says who made it, and for whom")
	case len(opt.Issuer) > maxSub || len(opt.Audience) > maxSub:
		return nil, fanfold.Errorf(fanfold.Invalid, "--token-issuer and --token-audience have at most %d bytes", maxSub)
	}
	for _, names := range opt.Map {
		for _, name := range names {
			if !model.IsRole(name) || name == model.RoleEveryone {
				return nil, fanfold.Errorf(fanfold.Invalid, "--token-map: %.80q is not a role that somebody can be given", name)
			}
		}
	}
	t := &Tokens{opt: opt, keys: newKeySource(opt), known: map[[sha256.Size]byte]*access.Principal{}}
	t.parser = jwt.NewParser(jwt.WithValidMethods(methods), jwt.WithIssuer(opt.Issuer), jwt.WithAudience(opt.Audience), jwt.WithLeeway(leeway), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithTimeFunc(opt.Now), jwt.WithStrictDecoding())
	return t, t.keys.open()
}

// Run fetches the issuer's keys again and again, until ctx ends. The keys that were read last hold while that fails.
func (t *Tokens) Run(ctx context.Context) error { return t.keys.run(ctx) }

// Issuer returns the iss of the tokens.
func (t *Tokens) Issuer() string { return t.opt.Issuer }

// Principal returns who holds a token, and nil for one that lets nobody in. ended says that it once did. It blocks while the keys are fetched for a token whose
// key is not known, once in 30 s. The error is Unavailable where this node cannot say: it has never read the issuer's keys, or not the store's secret.
func (t *Tokens) Principal(text string) (p *access.Principal, ended bool, err error) {
	hash := sha256.Sum256([]byte(text))
	t.mu.Lock()
	p = t.known[hash]
	t.mu.Unlock()
	switch {
	case len(text) > maxToken:
		err = refuse(malformed, "the token has more than %d bytes", maxToken)
	case p == nil || !t.keys.has(p.Signer, false):
		p, err = t.verify(text)
	case !p.Ends.After(t.opt.Now()):
		err = refuse(expired, "the token has expired")
	default:
		return p, false, nil
	}
	if err != nil {
		why := t.refused.note(err, t.opt.Now(), t.opt.Logger)
		if why == unjudged {
			return nil, false, fanfold.Errorf(fanfold.Unavailable, "%s", textOf(err))
		}
		return nil, why == expired, nil
	}
	p.Secret = hash
	t.keep(hash, p)
	return p, false, nil
}

// Holds tells whether the issuer still has the key that signed a principal's token, and the flags are as they were then. With ask it has the keys fetched
// before it says no, once in 30 s, and blocks meanwhile: another node may have them already.
func (t *Tokens) Holds(p *access.Principal, ask bool) bool { return t.keys.has(p.Signer, ask) }

// Version is another one after the issuer's keys have changed.
func (t *Tokens) Version() uint64 { return t.keys.keys.Load().number }

// keep keeps a verified token. It makes room for it.
func (t *Tokens) keep(hash [sha256.Size]byte, p *access.Principal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= maxKnown {
		now := t.opt.Now()
		maps.DeleteFunc(t.known, func(_ [sha256.Size]byte, p *access.Principal) bool { return !p.Ends.After(now) })
		for one := range t.known { // any one: it is verified again
			if len(t.known) < maxKnown {
				break
			}
			delete(t.known, one)
		}
	}
	t.known[hash] = p
}

// claims are what a token must say.
type claims struct {
	jwt.RegisteredClaims
}

// verify returns the principal of a token. Errors quote nothing of it.
func (t *Tokens) verify(text string) (*access.Principal, error) {
	payload, err := t.partsOf(text)
	if err != nil {
		return nil, err
	}
	var c claims
	var by publicKey
	_, err = t.parser.ParseWithClaims(text, &c, func(of *jwt.Token) (any, error) {
		var err error
		by, err = t.keys.keyOf(of)
		return by.key, err
	})
	if err != nil {
		return nil, err
	}
	switch {
	case c.IssuedAt == nil:
		return nil, refuse(missing, "the token has no iat")
	case c.ExpiresAt.Sub(c.IssuedAt.Time) > maxLife:
		return nil, refuse(life, "the token works for more than %s", maxLife)
	case c.Subject == "" || len(c.Subject) > maxSub || strings.ContainsFunc(c.Subject, unicode.IsControl):
		return nil, refuse(subject, "the token's sub has not 1 to %d bytes of UTF-8 without control characters", maxSub)
	case strings.HasPrefix(c.Subject, access.KeySubject):
		return nil, refuse(subject, "the token's sub begins with %s, which is for the store's own keys", access.KeySubject)
	}
	secret := t.opt.Secret()
	if secret == nil {
		return nil, errNoSecretYet
	}
	p := &access.Principal{Sub: c.Subject, Issuer: t.opt.Issuer, Created: c.IssuedAt.Time, Expires: c.ExpiresAt.Time, Ends: c.ExpiresAt.Add(leeway),
		Signer: by.mark, By: access.ActorOf(secret, t.opt.Issuer, c.Subject)}
	return p, t.addClaims(p, payload)
}

// addClaims gives a principal the roles and the claims of a token that was verified.
func (t *Tokens) addClaims(p *access.Principal, tree *jsondoc.Tree) error {
	var err error
	if p.Roles, err = t.rolesIn(tree); err != nil {
		return err
	}
	rest := "{"
	for n := tree.First(jsondoc.Root); n != jsondoc.None; n = tree.Next(n) {
		if name := tree.Key(n); slices.Contains(registered, name) || name == t.opt.Roles {
			continue
		}
		if rest != "{" {
			rest += ","
		}
		rest += string(tree.RawKey(n)) + ":" + string(tree.Raw(n))
	}
	rest += "}"
	switch {
	case rest == "{}":
		return nil
	case len(rest) > maxClaims || jsondoc.Check([]byte(rest), claimsDepth) != nil:
		return refuse(claimsReason, "the token has more claims than rules may see: %d bytes, nested %d levels deep", maxClaims, claimsDepth)
	}
	p.Claims = []byte(rest)
	return nil
}

// rolesIn returns the roles that a payload gives. A role that the store knows by itself comes by Options.Map alone. The error is a refusal, of more than a
// principal may have: nobody could tell which ones would be left out.
func (t *Tokens) rolesIn(tree *jsondoc.Tree) (roles []string, err error) {
	names := namesIn(tree, t.opt.Roles)
	for _, name := range names[:min(len(names), maxNames)] {
		if to, ok := t.opt.Map[name]; ok {
			roles = append(roles, slices.DeleteFunc(slices.Clone(to), func(role string) bool { return slices.Contains(roles, role) })...)
		} else if !slices.Contains(roles, name) && model.IsRole(name) && !slices.Contains(builtIn, name) {
			roles = append(roles, name)
		}
	}
	if len(names) > maxNames || len(roles) > model.MaxRoles {
		return nil, refuse(rolesReason, "the token has %d names of roles, which stand for %d roles: there may be %d names and %d roles", len(names), len(roles), maxNames, model.MaxRoles)
	}
	slices.Sort(roles)
	return roles, nil
}

// builtIn are the roles that the store knows by itself.
var builtIn = []string{model.RoleAdmin, model.RoleWrite, model.RoleRead, model.RoleMonitor, model.RoleEveryone}

// namesIn returns the names in a member: an array of texts, or a text with blanks between them, as OAuth has them in scope. The member may be a path, such as
// realm_access.roles.
func namesIn(tree *jsondoc.Tree, member string) (names []string) {
	at := tree.Member(jsondoc.Root, member)
	if at == jsondoc.None {
		at = jsondoc.Root
		for name := range strings.SplitSeq(member, ".") {
			at = tree.Member(at, name)
		}
	}
	switch tree.Kind(at) {
	case jsondoc.String:
		names = strings.Fields(tree.Text(at))
	case jsondoc.Array:
		for n := tree.First(at); n != jsondoc.None; n = tree.Next(n) {
			if tree.Kind(n) == jsondoc.String {
				names = append(names, tree.Text(n))
			}
		}
	}
	return names
}

// oneLine returns the first line of an error.
func oneLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
