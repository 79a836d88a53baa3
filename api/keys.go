package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/access/actors"
	"github.com/fanfold/fanfold/access/keys"
	"github.com/fanfold/fanfold/api/internal/tickets"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
)

// KnownKeys tells of the keys that there are: see keys.Store.
type KnownKeys interface {
	// List returns the entries of all keys, the oldest first.
	List() []*keys.Entry
	// Get returns the entry of a key. The error is NotFound.
	Get(id string) (*keys.Entry, error)
	// LastUsed returns when keys were last used by their ids, without those that were not.
	LastUsed(ctx context.Context) map[string]time.Time
}

// KeyStore keeps keys: see keys.Store.
type KeyStore interface {
	KnownKeys
	// Create makes a key, and returns what is kept of it, and the key, which nobody can be told again.
	Create(ctx context.Context, settings keys.Settings) (*keys.Entry, access.Key, error)
	// Change changes the settings of a key.
	Change(ctx context.Context, id string, patch keys.Patch) (*keys.Entry, error)
	// Rotate gives a key a new secret. The one before works for overlap from now on.
	Rotate(ctx context.Context, id string, overlap time.Duration) (*keys.Entry, access.Key, error)
	// Revoke ends a key for good, and forgets one that is revoked.
	Revoke(ctx context.Context, id string) error
}

// Holders are those who hold tokens: see keys.Store and actors.Directory.
type Holders interface {
	// RevokeTokens refuses the tokens of a subject that were made before a moment.
	RevokeTokens(ctx context.Context, sub string, before time.Time) error
	// Remember keeps whose the name of a principal is, before an event has it.
	Remember(ctx context.Context, p *access.Principal) error
	// Whose returns whose a name is. Errors are NotFound and Unavailable.
	Whose(ctx context.Context, id string) (*actors.Actor, error)
	// Forget takes away whose a name is.
	Forget(ctx context.Context, id string) error
}

// keysPath is the path of all keys, below which each has its own.
const keysPath = "/v1/_keys"

// keyDepth bounds how deep a body about a key nests: the claims are one level below it.
const keyDepth = 1 + keys.MaxClaimsDepth

// defaultOverlap is how long the secret before works after a rotation that does not say it.
const defaultOverlap = 24 * time.Hour

// keyring answers requests about keys.
type keyring struct {
	store   KeyStore
	holders Holders
}

// shownEntry returns what is told of a key, given when keys were last used: not the hashes of its secrets.
func shownEntry(e *keys.Entry, used map[string]time.Time) wire.Key {
	out := wire.Key{ID: e.ID, Name: e.Name, Roles: e.Roles, Sub: e.Subject(), Claims: e.ShownClaims(), Created: e.Created, Expires: e.Expires, Revoked: e.Revoked, Secrets: []wire.KeySecret{}}
	for _, s := range e.Secrets {
		out.Secrets = append(out.Secrets, wire.KeySecret{Created: s.Created, Until: s.Until})
	}
	if at, ok := used[e.ID]; ok {
		out.LastUsed = &at
	}
	return out
}

// keyTime reads a time as RFC 3339 has it; nil for null, and for no text. The error is Invalid.
func keyTime(text json.RawMessage) (*time.Time, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	at := time.Time{}
	if err := json.Unmarshal(text, &at); err != nil {
		return nil, fanfold.Errorf(fanfold.Invalid, "expires: %.80s is not a time such as \"2027-01-01T00:00:00Z\"", text)
	}
	return &at, nil
}

// keySub reads the subject of a key; "" for null, and for no text. The error is Invalid.
func keySub(text json.RawMessage) (sub string, err error) {
	if len(text) == 0 || string(text) == "null" {
		return "", nil
	}
	if err := json.Unmarshal(text, &sub); err != nil {
		return "", fanfold.Errorf(fanfold.Invalid, "sub: %.80s is not a text", text)
	}
	if sub == "" {
		return "", fanfold.Errorf(fanfold.Invalid, "sub: a key's subject has 1 to %d bytes; without one it is key:<id>", keys.MaxSub)
	}
	return sub, nil
}

// createKey answers POST /v1/_keys.
func (k *keyring) createKey(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	var in wire.NewKeyBody
	if err := readObjectAs(c, &in, object{media: []string{jsonType}, depth: keyDepth}); err != nil {
		return err
	}
	expires, err := keyTime(in.Expires)
	if err != nil {
		return err
	}
	sub, err := keySub(in.Sub)
	if err != nil {
		return err
	}
	e, key, err := k.store.Create(c.Request().Context(), keys.Settings{Name: in.Name, Roles: in.Roles, Expires: expires, Sub: sub, Claims: in.Claims})
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", keysPath+"/"+e.ID)
	return c.JSON(http.StatusCreated, wire.MadeKey{ID: e.ID, Name: e.Name, Roles: e.Roles, Sub: e.Subject(), Claims: e.ShownClaims(), Created: e.Created, Expires: e.Expires, Key: key.Text()})
}

// listKeys answers GET /v1/_keys.
func (k *keyring) listKeys(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	list := wire.KeyList{Keys: []wire.Key{}}
	used := k.store.LastUsed(c.Request().Context())
	for _, e := range k.store.List() {
		list.Keys = append(list.Keys, shownEntry(e, used))
	}
	return c.JSON(http.StatusOK, list)
}

// keyIDOf returns the id of the key in the path of a request without parameters. The error is Invalid.
func keyIDOf(c echo.Context) (string, error) {
	if err := parameters(c); err != nil {
		return "", err
	}
	return param(c, "id")
}

// getKey answers GET /v1/_keys/{id}.
func (k *keyring) getKey(c echo.Context) error {
	id, err := keyIDOf(c)
	if err != nil {
		return err
	}
	e, err := k.store.Get(id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, shownEntry(e, k.store.LastUsed(c.Request().Context())))
}

// patchKey answers PATCH /v1/_keys/{id}: a merge patch (RFC 7396).
func (k *keyring) patchKey(c echo.Context) error {
	id, err := keyIDOf(c)
	if err != nil {
		return err
	}
	var in wire.KeyPatchBody
	c.Response().Header().Set("Accept-Patch", mergePatchType)
	body := object{media: []string{mergePatchType, jsonType}, nullable: []string{"expires", "sub", "claims"}, depth: keyDepth}
	if err := readObjectAs(c, &in, body); err != nil {
		return err
	}
	patch := keys.Patch{Name: in.Name, Roles: in.Roles, Claims: in.Claims}
	if in.Sub != nil {
		sub, err := keySub(in.Sub)
		if err != nil {
			return err
		}
		patch.Sub = &sub
	}
	if in.Expires != nil {
		expires, err := keyTime(in.Expires)
		if err != nil {
			return err
		}
		patch.Expires = &expires
	}
	e, err := k.store.Change(c.Request().Context(), id, patch)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, shownEntry(e, k.store.LastUsed(c.Request().Context())))
}

// readOverlap reads the body of a rotation: for how long what is replaced holds yet.
func readOverlap(c echo.Context) (time.Duration, error) {
	var in wire.RotateBody
	if err := readObject(c, &in); err != nil || in.Overlap == nil {
		return defaultOverlap, err
	}
	return time.Duration(*in.Overlap), nil
}

// rotateKey answers POST /v1/_keys/{id}/_rotate.
func (k *keyring) rotateKey(c echo.Context) error {
	id, err := keyIDOf(c)
	if err != nil {
		return err
	}
	overlap, err := readOverlap(c)
	if err != nil {
		return err
	}
	e, key, err := k.store.Rotate(c.Request().Context(), id, overlap)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, wire.RotatedKey{Key: shownEntry(e, k.store.LastUsed(c.Request().Context())), Secret: key.Text()})
}

// How long a ticket works whose maker does not say it, and one for a backup at most, which is the time in which the download begins.
const (
	defaultTicket = time.Hour
	backupTicket  = time.Minute
)

// makeTicket returns what answers POST /v1/_tickets.
func makeTicket(before prefix) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := parameters(c); err != nil {
			return err
		}
		var in wire.TicketBody
		if err := readObject(c, &in); err != nil {
			return err
		}
		if err := tickets.CheckPath(in.Path); err != nil {
			return err
		}
		ttl, most, rights := defaultTicket, access.MostTicket, rightsOf(c)
		if tickets.ForBackup(in.Path) {
			if err := rights.CheckRole(model.RoleAdmin); err != nil && !rights.IsOpen() {
				return err
			}
			ttl, most = backupTicket, backupTicket
		}
		if in.TTL != nil {
			ttl = time.Duration(*in.TTL)
		}
		if ttl < access.LeastTicket || ttl > most {
			return fanfold.Errorf(fanfold.Invalid, "ttl: such a ticket works for %s to %s, and not for %s", access.LeastTicket, most, ttl)
		}
		expires := time.Now().Add(ttl).UTC().Truncate(time.Second)
		text, err := rights.Ticket(in.Path, expires)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusCreated, wire.Ticket{Ticket: text, URL: before.of(tickets.URL(in.Path, text)), Expires: expires})
	}
}

// deleteKey answers DELETE /v1/_keys/{id}: it revokes the key, or forgets one that is revoked.
func (k *keyring) deleteKey(c echo.Context) error {
	id, err := keyIDOf(c)
	if err != nil {
		return err
	}
	return done(c, k.store.Revoke(c.Request().Context(), id))
}

// maxTokenBody bounds the body of a request about tokens, in bytes.
const maxTokenBody = 4 << 10

// revokeTokens answers POST /v1/_tokens/_revoke.
func (k *keyring) revokeTokens(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	var in wire.RevokeTokensBody
	if err := readObjectAs(c, &in, object{media: []string{jsonType}, size: maxTokenBody}); err != nil {
		return err
	}
	before := time.Now()
	if in.Before != nil {
		before = *in.Before
	}
	return done(c, k.holders.RevokeTokens(c.Request().Context(), in.Sub, before))
}

// getActor answers GET /v1/_actors/{id}.
func (k *keyring) getActor(c echo.Context) error {
	if err := readParameters(c); err != nil {
		return err
	}
	id, err := param(c, "id")
	if err != nil {
		return err
	}
	a, err := k.holders.Whose(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, wire.Actor{ID: a.ID, Issuer: a.Issuer, Sub: a.Sub})
}

// forgetActor answers DELETE /v1/_actors/{id}.
func (k *keyring) forgetActor(c echo.Context) error {
	if err := parameters(c); err != nil {
		return err
	}
	id, err := param(c, "id")
	if err != nil {
		return err
	}
	return done(c, k.holders.Forget(c.Request().Context(), id))
}

// collectionRights returns what the sender of a request may do with documents of a collection.
func collectionRights(rights *access.Rights, collection string) wire.CollectionRights {
	out := wire.CollectionRights{Read: rights.CheckSees(collection) == nil, Write: rights.Writes(collection)}
	for _, act := range model.Acts {
		g := rights.Grant(collection, act)
		if !g.None() {
			out.May = append(out.May, act)
		}
		if g.Conditional() {
			out.Where = append(out.Where, act)
		}
	}
	if out.Where == nil && (out.Write || len(out.May) < 2 && out.Read) || len(out.May) == 0 {
		out.May = nil
	}
	return out
}

// addShape adds what the sender of a request may know of the relations and rules of a collection that they read.
func addShape(out *wire.CollectionRights, rights *access.Rights, of *model.Collection) {
	reading := rights.Grant(of.Name, model.ActRead)
	unseen := reading.Mask()
	out.Relations, out.Derive = map[string]wire.ReadRelation{}, map[string]wire.ReadRule{}
	for _, r := range of.Relations {
		if rights.CheckSees(r.To) == nil && unseen.Touches(r.Path) == "" {
			out.Relations[r.Name] = wire.ReadRelation{Path: r.Path.String(), To: r.To, OnDelete: string(r.OnDelete)}
		}
	}
	for _, r := range of.Rules {
		if unseen.Touches(r.Path) != "" {
			continue
		}
		rule := wire.ReadRule{Kind: string(r.Kind)}
		if along := r.Relation; along != nil && rights.CheckSees(along.To) == nil && rights.CheckSees(along.Collection) == nil {
			rule.Relation = along.FullName()
		}
		out.Derive[r.Path.String()] = rule
	}
}

// me answers GET /v1/_me: whom the node takes the sender for, and what they may do.
func me(c echo.Context) error {
	if err := parameters(c, "relations"); err != nil {
		return err
	}
	shapes, err := oneOf(c, "relations", "false", "true")
	if err != nil {
		return err
	}
	rights := rightsOf(c)
	p := rights.Principal
	out := wire.Principal{ID: p.ID, Name: p.Name, Roles: p.Own(), Sub: p.Sub, Issuer: p.Issuer, Claims: p.Claims, Open: p.IsOpen(), Collections: map[string]wire.CollectionRights{}}
	for _, of := range rights.Model().Collections {
		if may := collectionRights(rights, of.Name); may.Read || may.May != nil {
			if shapes && may.Read {
				addShape(&may, rights, of)
			}
			out.Collections[of.Name] = may
		}
	}
	out.Others = wire.CollectionRights{Read: rights.Reads(""), Write: rights.Writes("") && !rights.Model().Closed}
	if !p.Expires.IsZero() {
		out.Expires = &p.Expires
	}
	return c.JSON(http.StatusOK, out)
}
