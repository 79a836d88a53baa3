package keys

import (
	"crypto/sha256"
	"maps"
	"sync/atomic"

	"github.com/fanfold/fanfold/access"
)

// Bounds of what admitted has.
const (
	maxAdmitted       = 1000 // headers: a holder may send one key in many ways
	maxAdmittedHeader = 256  // bytes of one; a key has 100, and tokens are longer
)

// admitted has whose the Authorization headers are that let somebody in under a table, by their SHA-256. To read a key and to hash its secret costs more than
// to find it here. Another table begins with nothing, so a key that was revoked or rotated is read again at once. Its methods may be called from many goroutines.
type admitted struct{ now atomic.Pointer[admittedUnder] }

// admittedUnder is what admitted has under one table. It does not change.
type admittedUnder struct {
	table *table
	by    map[[sha256.Size]byte]*access.Principal
}

// find returns the principal whom a header has let in under a table, nil for none, and what add needs to know of the header.
func (a *admitted) find(t *table, header string) (p *access.Principal, hash [sha256.Size]byte) {
	if len(header) > maxAdmittedHeader {
		return nil, hash
	}
	var text [maxAdmittedHeader]byte // the header's bytes, without an allocation
	hash = sha256.Sum256(text[:copy(text[:], header)])
	if now := a.now.Load(); now != nil && now.table == t {
		p = now.by[hash]
	}
	return p, hash
}

// add takes note of a principal whom a header lets in under a table. Beyond maxAdmitted it does nothing.
func (a *admitted) add(t *table, hash [sha256.Size]byte, p *access.Principal) {
	if hash == [sha256.Size]byte{} {
		return
	}
	old := a.now.Load()
	next := &admittedUnder{table: t, by: map[[sha256.Size]byte]*access.Principal{}}
	if old != nil && old.table == t {
		if len(old.by) >= maxAdmitted {
			return
		}
		next.by = maps.Clone(old.by)
	}
	next.by[hash] = p
	a.now.CompareAndSwap(old, next) // whoever came first stays, and this one comes again
}
