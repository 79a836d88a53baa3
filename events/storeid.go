package events

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// storeKey is the key of the store's id in the stream's metadata.
const storeKey = "fanfold-store"

// Store returns the store's id, which is the same for every node of the log and after every replay.
func (l *Log) Store() fanfold.StoreID { return l.store }

// identify returns the id of the store whose log a stream is. A stream that has none is given one that follows from when
// it was made, so that two nodes that do so at the same time agree. If the server does not let its metadata be written,
// the id is used all the same.
func (l *Log) identify(ctx context.Context, s jetstream.Stream) fanfold.StoreID {
	info := s.CachedInfo()
	if id := fanfold.StoreID(info.Config.Metadata[storeKey]); id.Valid() {
		return id
	}
	made := binary.BigEndian.AppendUint64([]byte(info.Config.Name+"\x00"), uint64(info.Created.UnixNano()))
	sum := sha256.Sum256(made)
	id := storeIDOf([5]byte(sum[:5]))
	config := info.Config
	config.Metadata = map[string]string{storeKey: string(id)}
	for key, value := range info.Config.Metadata {
		if key != storeKey {
			config.Metadata[key] = value
		}
	}
	if _, err := l.js.UpdateStream(ctx, config); err != nil {
		l.opt.Logger.Warn("the store's id cannot be written into the stream's metadata", "store", id, "err", err)
	}
	return id
}

// newStoreID returns a random id.
func newStoreID() fanfold.StoreID {
	var random [5]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return storeIDOf(random)
}

// storeIDOf returns the id that 40 bits make.
func storeIDOf(bits [5]byte) fanfold.StoreID {
	return fanfold.StoreID(strings.ToLower(base32.StdEncoding.EncodeToString(bits[:])))
}
