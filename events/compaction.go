package events

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// storedCompaction is the payload of a compact event.
type storedCompaction struct {
	Version int            `json:"v"`
	Op      fanfold.Kind   `json:"op"`
	Before  uint64         `json:"before"` // the horizon's event
	Digest  fanfold.Digest `json:"digest"` // of all events up to it
	Base    storedBase     `json:"base"`
	Erasure uint64         `json:"erasure,omitempty"` // the last erase event that the base knows of
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
	b, _ := json.Marshal(storedCompaction{3, "compact", c.Seq, c.Digest, storedBaseOf(c), c.Erasure}) // no value of it fails
	return b
}

// storedBaseOf returns what is stored of a base.
func storedBaseOf(c *fanfold.Compaction) storedBase {
	return storedBase{c.Base.Name, c.Base.Bytes, c.Base.Sum, c.Event, c.Position, c.Changes, c.Time.UTC()}
}

// valid tells whether a horizon can have this base.
func (b *storedBase) valid(before uint64) bool {
	return before > 0 && b.Name != "" && len(b.Name) <= maxBaseName && b.Bytes > 0 && b.Changes >= 0 && b.Position.Seq() <= before
}

// compaction returns what a base, which knows of erasures up to one, says with its horizon.
func (b *storedBase) compaction(before uint64, digest fanfold.Digest, erasure uint64) *fanfold.Compaction {
	return &fanfold.Compaction{
		Horizon: fanfold.Horizon{Seq: before, Event: b.Event, Digest: digest, Position: b.Position, Changes: b.Changes, Time: b.Time.UTC()},
		Base:    fanfold.BaseFile{Name: b.Name, Bytes: b.Bytes, Sum: b.Sum}, Erasure: erasure}
}

// decodeCompaction reads the payload of a compact event. The error is Invalid.
func decodeCompaction(payload []byte, ev *fanfold.Event) error {
	var s storedCompaction
	in := json.NewDecoder(bytes.NewReader(payload))
	in.DisallowUnknownFields()
	if len(payload) > maxCompactionBytes || in.Decode(&s) != nil {
		return invalidPayload("is no compaction that this program can read: a newer Fanfold may have written it; use that one")
	}
	if !s.Base.valid(s.Before) {
		return invalidPayload("is a compaction without a horizon or a base")
	}
	ev.Loss = &fanfold.Loss{UpTo: s.Erasure, Base: s.Base.compaction(s.Before, s.Digest, s.Erasure)}
	return nil
}

// purgesSafely tells whether a server of a version keeps its stream where it is killed in a purge. One before 2.14 could come up empty.
func purgesSafely(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return err == nil && (major > 2 || major == 2 && minor >= 14)
}

// MayCompact returns nil where the server can remove events from the log's beginning, so that nothing else is lost. Otherwise the error is
// Conflict, and says what to do. Unavailable is for a server that does not answer.
func (p *Prefix) MayCompact(ctx context.Context) error {
	var info *jetstream.StreamInfo
	err := p.log.Outlast(ctx, func(ctx context.Context) (err error) {
		if info, err = p.log.stream.Info(ctx); err != nil {
			err = fanfold.Wrap(err, fanfold.Unavailable, "the log's settings cannot be read")
		}
		return err
	})
	if err != nil {
		return err
	}
	if info.Config.DenyDelete || info.Config.DenyPurge {
		return fanfold.Errorf(fanfold.Conflict, "stream %s was made so that nothing can be removed from it, which cannot be changed: make a backup with fanfold backup, and restore it with fanfold restore into a new store", p.log.opt.Database)
	}
	if version := p.log.nc.ConnectedServerVersion(); p.log.opt.Embedded == nil && !purgesSafely(version) {
		return fanfold.Errorf(fanfold.Conflict, "the NATS server %s has version %s, which may lose a stream when it is killed while it removes events from it: use version 2.14 or later on every server of the log", p.log.nc.ConnectedServerName(), version)
	}
	return nil
}

// Purge removes the events up to the base. It is safe to call it again, and on several nodes. An embedded server's log may keep some of them:
// those in the block file with the first event after the base. It blocks until the server has done it. It returns Unavailable, the errors of
// MayCompact, and Conflict if a write from before the compact event may still be on its way. check is called right before; its error is
// Purge's, too. nil is for no check.
func (p *Prefix) Purge(ctx context.Context, check func(ctx context.Context) error) error {
	known := p.horizon.known.Load()
	if known.compaction == nil {
		return nil
	}
	if age, wait := time.Since(known.noted), p.purgeWait(); age < wait {
		return fanfold.Errorf(fanfold.Conflict, "a write from before event %d may still be on its way: the log is purged in %v", known.seq, (wait - age).Round(time.Second))
	}
	if err := p.MayCompact(ctx); err != nil {
		return err
	}
	if check != nil {
		if err := check(ctx); err != nil {
			return err
		}
	}
	if err := p.log.waitWhole(ctx, p.log.run.Load(), known.seq); err != nil { // a loss of power must not take the event and leave the purge
		return err
	}
	return p.purgeTo(ctx, known.base.Seq)
}

// purgeTo removes the events up to one; the stream has the next. The error is Unavailable.
func (p *Prefix) purgeTo(ctx context.Context, last uint64) (err error) {
	next := last + 1
	if e := p.log.opt.Embedded; e != nil {
		if next, err = e.BlockStart(p.log.opt.Database, next); err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "the log's files cannot be read: %v", err)
		}
	}
	if next > 1 && next > p.horizon.first.Load() {
		if err := p.log.stream.Purge(ctx, jetstream.WithPurgeSequence(next)); err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "the log cannot be purged up to event %d: %v", last, err)
		}
	}
	s, err := p.log.State(ctx)
	if e := p.log.opt.Embedded; e != nil && err == nil && s.First <= last+1 {
		if err = e.RemoveBefore(p.log.opt.Database, s.First); err != nil {
			err = fanfold.Wrap(err, fanfold.Unavailable, "files of purged events cannot be removed: %v", err)
		}
	}
	return err
}
