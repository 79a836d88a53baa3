package fanfold

import (
	"crypto/sha256"
	"encoding/hex"
)

// Digest is a SHA-256 hash: of one event, or of all events up to one. By the second kind a node finds out that its log has lost
// or changed an event which it has folded. The zero value stands for no event.
type Digest [sha256.Size]byte

// Followed returns the digest of all events up to one whose own digest is event, where d is that of all events before it.
func (d Digest) Followed(event Digest) Digest {
	var both [2 * sha256.Size]byte
	copy(both[:], d[:])
	copy(both[sha256.Size:], event[:])
	return sha256.Sum256(both[:])
}

// String returns the digest in hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }
