package events

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/fanfold/fanfold"
)

// digestOf returns the digest of an event from its parts, which are those that the fold reads: the sequence, the log's
// timestamp in nanoseconds, and then the subject, headers and payload.
func digestOf(seq uint64, nanos int64, parts ...[]byte) fanfold.Digest {
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
	var out fanfold.Digest
	h.Sum(out[:0])
	return out
}
