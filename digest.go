package fanfold

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// Digest is a SHA-256 hash: of one event, or of all events up to one. By the second kind a node finds out that its log has lost
// or changed an event which it has folded. The zero value stands for no event.
type Digest [sha256.Size]byte

// Followed returns the digest of all events up to one whose own digest is event; d is the digest of all events before it.
func (d Digest) Followed(event Digest) Digest {
	var both [2 * sha256.Size]byte
	copy(both[:], d[:])
	copy(both[sha256.Size:], event[:])
	return sha256.Sum256(both[:])
}

// String returns the digest in hexadecimal digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// The headers of a message in the log from which its event is read.
const (
	HeaderTx      = "Fanfold-Tx"
	HeaderTxIndex = "Fanfold-Tx-Index"
	HeaderTxCount = "Fanfold-Tx-Count"
	HeaderKey     = "Fanfold-Key"
	HeaderDigest  = "Fanfold-Digest"
	HeaderActor   = "Fanfold-Actor"
)

// HeaderBatchCount is a header of the first of several messages that are no transaction and were stored together: how many these are.
const HeaderBatchCount = "Fanfold-Batch-Count"

// digestedHeaders lists these headers in the order in which an event's digest has them.
var digestedHeaders = [...]string{HeaderTx, HeaderTxIndex, HeaderTxCount, HeaderKey, HeaderDigest, HeaderActor}

// EventDigest returns the digest of an event from what the fold reads of its message: the sequence, the log's time, the subject, the
// payload, and the headers of this package. header returns the value of one, and whether the message has it. buf, which may be nil,
// is used for these parts and returned.
func EventDigest(buf []byte, seq uint64, at time.Time, subject string, header func(name string) (string, bool), payload []byte) (d Digest, used []byte) {
	buf = append(buf[:0], subject...)
	subjectEnds := len(buf)
	for _, name := range digestedHeaders {
		if value, ok := header(name); ok {
			buf = append(append(append(append(buf, name...), ':'), value...), '\n')
		}
	}
	return digestOf(seq, at.UnixNano(), buf[:subjectEnds], buf[subjectEnds:], payload), buf
}

// digestOf hashes a sequence, nanoseconds, the size of all parts, and each part after its own size.
func digestOf(seq uint64, nanos int64, parts ...[]byte) (out Digest) {
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
	h.Sum(out[:0])
	return out
}

// ReadDigest reads a digest from what String returns, and says whether the text is one.
func ReadDigest(d *Digest, text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && copy(d[:], b) == len(d) && len(b) == len(d)
}

// MarshalText returns the digest as String does.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a digest as String writes it. The error is Invalid.
func (d *Digest) UnmarshalText(text []byte) error {
	if !ReadDigest(d, string(text)) || d.String() != string(text) {
		return Errorf(Invalid, "%q is not a digest: want 64 lower-case hexadecimal digits", Clip(string(text)))
	}
	return nil
}
