package wire

import "time"

// KeySecret is what is told of a secret.
type KeySecret struct {
	Created time.Time  `json:"created"`
	Until   *time.Time `json:"until,omitempty"`
}

// Key is what is told of a key.
type Key struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"`
	Roles   []string    `json:"roles"`
	Created time.Time   `json:"created"`
	Expires *time.Time  `json:"expires,omitempty"`
	Revoked *time.Time  `json:"revoked,omitempty"`
	Secrets []KeySecret `json:"secrets"`
}

// MadeKey is the answer to a request that makes a key. Nobody is told the key again.
type MadeKey struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Roles   []string   `json:"roles"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Key     string     `json:"key"`
}

// RotatedKey is the answer to a rotation.
type RotatedKey struct {
	Key

	Secret string `json:"key"`
}

// KeyList is the answer with all keys.
type KeyList struct {
	Keys []Key `json:"keys"`
}

// Principal is the answer to GET /v1/_me.
type Principal struct {
	ID      string     `json:"id,omitempty"`
	Name    string     `json:"name,omitempty"`
	Roles   []string   `json:"roles"`
	Expires *time.Time `json:"expires,omitempty"`
	Open    bool       `json:"open"` // nobody needs a key here

	// Collections has those that the model declares and the principal reads; Others stands for all that it does not declare.
	Collections map[string]CollectionRights `json:"collections"`
	Others      CollectionRights            `json:"otherCollections"`
}

// CollectionRights are what a principal may do with documents of a collection. Who writes reads.
type CollectionRights struct {
	Read  bool `json:"read"`
	Write bool `json:"write"`
}
