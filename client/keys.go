package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// Principal is whom the server takes the client for: a key, or somebody without one.
type Principal = wire.Principal

// CollectionRights are what a client may do with documents of a collection.
type CollectionRights = wire.CollectionRights

// Me returns whom the server takes the client for. The error is Unauthenticated where its key does not let it in.
func (c *Client) Me(ctx context.Context) (*Principal, error) {
	return answerOf[Principal](c.send(ctx, newRequest(http.MethodGet, "/v1/_me")))
}

// KeyEntry is what the server keeps of a key.
type KeyEntry = wire.Key

// KeySecret is what the server keeps of a secret of a key.
type KeySecret = wire.KeySecret

// KeySettings are what a key is made with.
type KeySettings struct {
	Name    string     `json:"name"`
	Roles   []string   `json:"roles"`
	Expires *time.Time `json:"expires,omitempty"` // nil for never
	Sub     string     `json:"sub,omitempty"`     // whom rules take the key's holder for; "" for key:<id>

	Claims json.RawMessage `json:"claims,omitempty"` // what else rules see of the holder: a JSON object; nil for {}
}

// KeyChange changes the settings of a key. Zero members stay as they are.
type KeyChange struct {
	Name         string
	Roles        []string
	Expires      *time.Time
	NeverExpires bool
	Sub          string
	DefaultSub   bool            // key:<id>
	Claims       json.RawMessage // a merge patch of the claims; null takes all away
}

// keyPath returns the path of a key, or of what is below it.
func keyPath(id string, below ...string) string {
	path := "/v1/_keys/" + url.PathEscape(id)
	for _, part := range below {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// sendForKey sends a request about keys with a JSON body, nil for none, and returns the key in the answer.
func (c *Client) sendForKey(ctx context.Context, method, path string, body any, repeatable bool) (*KeyEntry, Key, error) {
	r, err := jsonRequest(method, path, body)
	if err != nil {
		return nil, Key{}, err
	}
	r.repeatable = repeatable
	in, err := answerOf[wire.RotatedKey](c.send(ctx, r))
	if err != nil {
		return nil, Key{}, err
	}
	return &in.Key, NewKey(in.Secret), nil
}

// Keys returns all keys, revoked ones included, the oldest first.
func (c *Client) Keys(ctx context.Context) ([]KeyEntry, error) {
	list, err := answerOf[wire.KeyList](c.send(ctx, newRequest(http.MethodGet, "/v1/_keys")))
	if err != nil {
		return nil, err
	}
	return list.Keys, nil
}

// Key returns what the server keeps of a key. The error is NotFound.
func (c *Client) Key(ctx context.Context, id string) (*KeyEntry, error) {
	e, _, err := c.sendForKey(ctx, http.MethodGet, keyPath(id), nil, true)
	return e, err
}

// CreateKey makes a key, and returns it: the server does not show it again. The first key must have the role admin, and closes
// the store. An answer that is lost is an error, and Keys says whether the key was made.
func (c *Client) CreateKey(ctx context.Context, s KeySettings) (*KeyEntry, Key, error) {
	return c.sendForKey(ctx, http.MethodPost, "/v1/_keys", s, false)
}

// ChangeKey changes a key. Errors are NotFound, and Conflict for a revoked key or the last one with the role admin.
func (c *Client) ChangeKey(ctx context.Context, id string, change KeyChange) (*KeyEntry, error) {
	patch := wire.KeyPatchBody{Claims: change.Claims}
	if change.Name != "" {
		patch.Name = &change.Name
	}
	if change.Roles != nil {
		patch.Roles = &change.Roles
	}
	var err error
	if change.Expires != nil || change.NeverExpires {
		if patch.Expires, err = encode(change.Expires); err != nil {
			return nil, err
		}
	}
	switch {
	case change.DefaultSub:
		patch.Sub = json.RawMessage("null")
	case change.Sub != "":
		if patch.Sub, err = encode(change.Sub); err != nil {
			return nil, err
		}
	}
	e, _, err := c.sendForKey(ctx, http.MethodPatch, keyPath(id), patch, true)
	return e, err
}

// RotateKey gives a key a new secret, and returns the key with it. The secret before works for overlap from now on, and older ones
// end. Errors are NotFound, and Conflict for a revoked key. An answer that is lost is an error.
func (c *Client) RotateKey(ctx context.Context, id string, overlap time.Duration) (*KeyEntry, Key, error) {
	return c.sendForKey(ctx, http.MethodPost, keyPath(id, "_rotate"), wire.RotateBody{Overlap: new(wire.Duration(overlap))}, false)
}

// RevokeKey ends a key for good. A second call has the server forget its name and roles. Errors are NotFound, and Conflict for the
// last key with the role admin. An answer that is lost is an error.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	_, err := c.send(ctx, newRequest(http.MethodDelete, keyPath(id)))
	return err
}

// RevokeTokens refuses the tokens of a subject of the issuer that were made before a moment, the zero one for now. Errors are Invalid, Unprocessable where no
// tokens let in, and the errors of every call.
func RevokeTokens(ctx context.Context, c *Client, sub string, before time.Time) error {
	body := wire.RevokeTokensBody{Sub: sub}
	if !before.IsZero() {
		body.Before = &before
	}
	r, err := jsonRequest(http.MethodPost, "/v1/_tokens/_revoke", body)
	if err == nil {
		_, err = c.send(ctx, r)
	}
	return err
}

// Actor says whom an actor of events is that is no key.
type Actor = wire.Actor

// ActorOf tells whom an actor such as sub:... is. Errors are NotFound, and the errors of every call.
func ActorOf(ctx context.Context, c *Client, id string) (*Actor, error) {
	return answerOf[Actor](c.send(ctx, newRequest(http.MethodGet, "/v1/_actors/"+url.PathEscape(id))))
}

// ForgetActor has the server forget whom an actor is. Errors are NotFound, and the errors of every call.
func ForgetActor(ctx context.Context, c *Client, id string) error {
	_, err := c.send(ctx, newRequest(http.MethodDelete, "/v1/_actors/"+url.PathEscape(id)))
	return err
}

// Ticket lets GETs of one path and query of a change feed or a backup in, for what cannot send a header: a browser's EventSource, WebSocket or download.
type Ticket = wire.Ticket

// MakeTicket asks for a ticket that lets a change feed in as the client's key, for 1 s to 24 h. One for a backup takes an administrator's key, and works for up
// to a minute. path has the query, too, such as /v1/_changes?feed=eventsource&since=now. Errors are Invalid, and the errors of every call.
func MakeTicket(ctx context.Context, c *Client, path string, ttl time.Duration) (*Ticket, error) {
	r, err := jsonRequest(http.MethodPost, "/v1/_tickets", wire.TicketBody{Path: path, TTL: new(wire.Duration(ttl))})
	if err != nil {
		return nil, err
	}
	r.read, r.repeatable = true, true
	return answerOf[Ticket](c.send(ctx, r))
}

// AccessAuth is what rules of a model's access see of who asks.
type AccessAuth = wire.AccessAuth

// AccessExplained says what somebody may do with a document, and why.
type AccessExplained = wire.AccessExplained

// ExplainAccess tells what somebody may do with a document as it is, and why. The key needs the role admin. Errors are NotFound for a document that is not
// there, Invalid, and the errors of every call.
func ExplainAccess(ctx context.Context, c *Client, collection, id string, who AccessAuth) (*AccessExplained, error) {
	r, err := jsonRequest(http.MethodPost, "/v1/_access/_explain", wire.AccessExplainBody{Collection: collection, ID: id, Auth: &who})
	if err != nil {
		return nil, err
	}
	r.read, r.repeatable = true, true
	return answerOf[AccessExplained](c.send(ctx, r))
}
