package wire

import (
	"encoding/json"
	"time"
)

// KeySecret is what is told of a secret.
type KeySecret struct {
	Created time.Time  `json:"created" doc:"When the secret was made."`
	Until   *time.Time `json:"until,omitempty" doc:"When it ends because of a rotation."`
}

// Key is what is told of a key.
type Key struct {
	ID      string      `json:"id" pattern:"^[a-z0-9]{12}$"`
	Name    string      `json:"name" ref:"KeyName"`
	Roles   []string    `json:"roles" items:"RoleName"`
	Sub     string      `json:"sub" ref:"KeySub"`
	Created time.Time   `json:"created" doc:"When the key was made."`
	Expires *time.Time  `json:"expires,omitempty" doc:"When it ends; absent for never."`
	Revoked *time.Time  `json:"revoked,omitempty" doc:"When it was revoked; absent for a key that was not."`
	Secrets []KeySecret `json:"secrets" doc:"The newest first. A revoked key has none."`

	LastUsed *time.Time `json:"lastUsed,omitempty" doc:"When it last let a request in, to the minute; absent for not yet. Other nodes tell theirs within a few minutes."`

	Claims json.RawMessage `json:"claims" ref:"Claims"`
}

// MadeKey is the answer to a request that makes a key. Nobody is told the key again.
type MadeKey struct {
	ID      string     `json:"id" pattern:"^[a-z0-9]{12}$"`
	Name    string     `json:"name" ref:"KeyName"`
	Roles   []string   `json:"roles" items:"RoleName"`
	Sub     string     `json:"sub" ref:"KeySub"`
	Created time.Time  `json:"created" doc:"When the key was made."`
	Expires *time.Time `json:"expires,omitempty" doc:"When it ends; absent for never."`

	Claims json.RawMessage `json:"claims" ref:"Claims"`
	Key    string          `json:"key" pattern:"^fan_[a-z0-9]{12}_[A-Za-z0-9]{43}_[A-Za-z0-9]{6}$" doc:"The key. It is told once."`
}

// RotatedKey is the answer to a rotation.
type RotatedKey struct {
	Key

	Secret string `json:"key" pattern:"^fan_[a-z0-9]{12}_[A-Za-z0-9]{43}_[A-Za-z0-9]{6}$" doc:"The key. It is told once."`
}

// KeyList is the answer with all keys.
type KeyList struct {
	Keys []Key `json:"keys"`
}

// Principal is the answer to GET /v1/_me.
type Principal struct {
	ID      string     `json:"id,omitempty" pattern:"^[a-z0-9]{12}$" doc:"Of the key; absent without one."`
	Name    string     `json:"name,omitempty" ref:"KeyName"`
	Roles   []string   `json:"roles" items:"RoleName" doc:"The key's, and everyone."`
	Sub     string     `json:"sub,omitempty" ref:"KeySub"`
	Issuer  string     `json:"iss,omitempty" doc:"Who says so; absent for keys."`
	Expires *time.Time `json:"expires,omitempty" doc:"When the key ends; absent for never."`
	Open    bool       `json:"open" doc:"The store is open: no key was ever made, and nobody needs one."`

	Claims json.RawMessage `json:"claims,omitempty" ref:"Claims"`

	Collections map[string]CollectionRights `json:"collections" doc:"What the principal may do with documents of each collection that the model declares. One that the principal does not read is absent."`
	Others      CollectionRights            `json:"otherCollections" doc:"What the principal may do with documents of collections that the model does not declare."`
}

// CollectionRights are what a principal may do with documents of a collection.
type CollectionRights struct {
	Read  bool `json:"read" doc:"Every document, or those that where lets."`
	Write bool `json:"write" doc:"Create, update and delete every document."`

	May   []string `json:"may,omitempty" schema:"{'items':{'enum':['read','create','update','delete']}}" doc:"The actions that are let, for some documents at least. Absent where read and write say it."`
	Where []string `json:"where,omitempty" schema:"{'items':{'enum':['read','create','update','delete']}}" doc:"Those of may for which the model's expression decides about each document."`

	Relations map[string]ReadRelation `json:"relations,omitempty" doc:"With relations=true: the relations of its documents by name, as far as the principal reads the collections on both sides, and the member."`
	Derive    map[string]ReadRule     `json:"derive,omitempty" doc:"With relations=true: the rules of its documents by path, as far as the principal reads the members."`
}

// ReadRelation is a relation as a reader of its documents may know it.
type ReadRelation struct {
	Path string `json:"path" doc:"Of the ids in a document, such as authors[].id."`
	To   string `json:"to" ref:"CollectionName"`

	OnDelete string `json:"onDelete" enum:"clear|keep|unlink|cascade|restrict" doc:"What becomes of a document that refers to one that is deleted, as in the model."`
}

// ReadRule is a rule as a reader of its documents may know it.
type ReadRule struct {
	Kind     string `json:"kind" enum:"copy|count|sum|min|max|avg|ids|recent|value"`
	Relation string `json:"relation,omitempty" doc:"The full name of the relation along which the values come, such as books.authors. Absent where the principal does not read the other collection, and for what is made of the document itself."`
}

// RevokeTokensBody says whose tokens are refused.
type RevokeTokensBody struct {
	Sub    string     `json:"sub" ref:"KeySub"`
	Before *time.Time `json:"before,omitempty" doc:"Tokens that were made before it are refused; now where it is absent."`
}

// Actor says whom an actor of events and rows is.
type Actor struct {
	ID     string `json:"id" pattern:"^sub:[0-9a-f]{32}$"`
	Issuer string `json:"iss"`
	Sub    string `json:"sub"`
}

// TicketBody asks for a ticket.
type TicketBody struct {
	Path string    `json:"path" doc:"The path and query of a change feed or a backup, such as /v1/_changes?feed=eventsource&since=now."`
	TTL  *Duration `json:"ttl,omitempty" default:"1h" doc:"How long it works, with its unit: from 1s to 24h, for a backup to 1m, the default of such."`
}

// Ticket lets GETs of one path and query in.
type Ticket struct {
	Ticket  string    `json:"ticket" doc:"Empty where the sender has no key, and needs no ticket."`
	URL     string    `json:"url" doc:"The path and query with the ticket."`
	Expires time.Time `json:"expires"`
}

// AccessExplainBody asks what somebody may do with a document.
type AccessExplainBody struct {
	Collection string      `json:"collection" ref:"CollectionName"`
	ID         string      `json:"id" minLength:"1"`
	Auth       *AccessAuth `json:"auth,omitempty" doc:"Who would ask; nobody in particular where it is absent."`
}

// AccessAuth is what rules see of who asks.
type AccessAuth struct {
	Sub    string          `json:"sub,omitempty"`
	Issuer string          `json:"iss,omitempty"`
	Roles  []string        `json:"roles,omitempty" maxItems:"32" items:"RoleName"`
	Claims json.RawMessage `json:"claims,omitempty" schema:"{'type':'object','additionalProperties':true}"`
}

// AccessExplained says what somebody may do with a document, and why.
type AccessExplained struct {
	Read   AccessVerdict `json:"read"`
	Create AccessVerdict `json:"create" doc:"Of the document as it is, if it was not there."`
	Update AccessVerdict `json:"update" doc:"To the document as it is."`
	Delete AccessVerdict `json:"delete"`
}

// AccessVerdict says whether an action is let, and why.
type AccessVerdict struct {
	Allowed bool   `json:"allowed"`
	Why     string `json:"why" doc:"Such as the role support, where is false, or where has no value: there is no member \"members\"."`
}
