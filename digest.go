package fanfold

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Digest is a SHA-256 hash: of one event, or of all events up to one. The zero value stands for no event.
type Digest [sha256.Size]byte

// DigestOf returns the digest of an event from its parts, which are those that the fold reads: the sequence, the log's
// timestamp in nanoseconds, and then the subject, headers and payload.
func DigestOf(seq uint64, nanos int64, parts ...[]byte) Digest {
	size := 0
	for _, p := range parts {
		size += len(p) + 8
	}
	h := sha256.New()
	var number [24]byte
	binary.BigEndian.PutUint64(number[:], seq)
	binary.BigEndian.PutUint64(number[8:], uint64(nanos))
	binary.BigEndian.PutUint64(number[16:], uint64(size))
	h.Write(number[:])
	for _, p := range parts {
		binary.BigEndian.PutUint64(number[:], uint64(len(p)))
		h.Write(number[:8])
		h.Write(p)
	}
	var out Digest
	h.Sum(out[:0])
	return out
}

// Followed returns the digest of all events up to one whose own digest is event, where d is that of all events before it.
func (d Digest) Followed(event Digest) Digest {
	var both [2 * sha256.Size]byte
	copy(both[:], d[:])
	copy(both[sha256.Size:], event[:])
	return sha256.Sum256(both[:])
}

// String returns the digest in hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }
