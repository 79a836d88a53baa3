package keys

import (
	"crypto/subtle"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/model"
)

// onlyKey knows one key, which is in no bucket and may do everything.
type onlyKey struct{ holder *access.Principal }

// OnlyKey returns what lets in the holder of one key, as an admin, and nobody else.
func OnlyKey(key access.Key) access.Keys {
	return onlyKey{&access.Principal{ID: key.ID, Sub: defaultSub(key.ID), Roles: []string{model.RoleAdmin}, Secret: key.Hash()}}
}

// Authenticate returns the key's holder. The error is Unauthenticated.
func (k onlyKey) Authenticate(authorization []string) (*access.Principal, error) {
	if len(authorization) == 1 {
		if key, ok := keyIn(authorization[0]); ok && key.ID == k.holder.ID {
			if hash := key.Hash(); subtle.ConstantTimeCompare(hash[:], k.holder.Secret[:]) == 1 {
				return k.holder, nil
			}
		}
	}
	return nil, errUnauthenticated
}

// Holder returns nil: without a secret of the store there are no tickets.
func (k onlyKey) Holder(string, []byte) (*access.Principal, error) { return nil, nil }

// Valid tells whether a principal is the key's holder.
func (k onlyKey) Valid(p *access.Principal) bool { return p == k.holder }

// Version returns 0: nothing changes.
func (k onlyKey) Version() uint64 { return 0 }

// Secret returns nil: the holder reads everything.
func (k onlyKey) Secret() []byte { return nil }
