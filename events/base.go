package events

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// baseKey is the key of the log's base in the stream's metadata.
const baseKey = "fanfold-base"

// restoredBase follows the base of a log that was restored. Programs that do not know Fanfold-Time would take other times for its events,
// and do not read such a base.
const restoredBase = " restored"

// Base says after which event the log begins. The zero value stands for a log from which nothing was cut.
type Base struct {
	Seq    uint64         // the last sequence before the log's first event
	Digest fanfold.Digest // of all events up to it
	// Erasure is the last erase event with whose substitutes the digest was made; 0 for none. A stream's metadata do not have it.
	Erasure uint64
}

// String returns the base as the stream's metadata have it.
func (b Base) String() string { return fmt.Sprintf("%d %s", b.Seq, b.Digest) }

// baseOf returns the base in a stream's metadata, the zero value if they have none, as in older streams. The error is
// Invalid.
func baseOf(config jetstream.StreamConfig) (b Base, err error) {
	text, given := config.Metadata[baseKey]
	if !given {
		return b, nil
	}
	var digest string
	if _, err := fmt.Sscanf(text, "%d %s", &b.Seq, &digest); err != nil || !fanfold.ReadDigest(&b.Digest, digest) || b.String() != strings.TrimSuffix(text, restoredBase) {
		return b, fanfold.Errorf(fanfold.Invalid, "stream %s has a base that cannot be read in its metadata: %q", config.Name, text)
	}
	return b, nil
}

// Erasable tells whether the server lets events be erased from the log. It does not where the stream was made with delete or
// purge denied, as every log once was: a server never takes that back.
func (p *Prefix) Erasable() bool {
	config := p.log.stream.CachedInfo().Config
	return !config.DenyDelete && !config.DenyPurge
}
