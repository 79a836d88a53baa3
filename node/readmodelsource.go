package node

import (
	"context"
	"io"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/projector/batch"
)

// EventSource has the events of a log up to one that is known.
type EventSource struct {
	Log    batch.Log
	Store  fanfold.StoreID
	Origin fanfold.Origin
	Last   uint64 // the last event; 0 for none
	Closed bool   // see ReadModel
}

// EventSource returns the node's log as it is now. Nothing is read after the node is closed. The error is Unavailable.
func (n *Node) EventSource(ctx context.Context) (EventSource, error) {
	last, err := n.Log.LastSeq(ctx)
	return EventSource{Log: forget.NewSource(n.Log), Store: n.Log.Store(), Origin: n.Log.Origin(), Last: last, Closed: n.keys.Closed()}, err
}

// Issuer returns what takes and gives out positions of the log.
func (s EventSource) Issuer() fanfold.Issuer { return fanfold.Issuer{Store: s.Store, Origin: s.Origin} }

// EventsOfBackup returns the events of a backup. Nobody knows whether its store lets in who has no key, so it counts as closed. The error
// is Invalid for a backup that does not have everything.
func EventsOfBackup(b *backup.Backup) (EventSource, error) {
	return EventSource{Log: backupLog{b}, Store: b.Store, Origin: b.Predecessors, Last: b.Position, Closed: true}, b.CheckComplete()
}

// backupLog makes a backup a batch.Log.
type backupLog struct{ *backup.Backup }

// Events returns a reader of the backup's events from a sequence on, which ends with io.EOF. The projector closes it.
func (l backupLog) Events(ctx context.Context, from uint64, _ fanfold.AsOf) (batch.Reader, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &backupReader{events: make(chan *fanfold.Event, 256), ended: make(chan struct{}), cancel: cancel}
	go r.read(ctx, l.Backup, from)
	return r, nil
}

// Erasures returns the erasure after which the backup was made: it has the substitutes of what was erased before. A later one is in force
// nowhere in it.
func (l backupLog) Erasures() (last, inForce fanfold.AsOf) {
	return fanfold.AsOf(l.Erasure), fanfold.AsOf(l.Erasure)
}

// ErasuresAfter returns nothing: see Erasures.
func (l backupLog) ErasuresAfter(fanfold.AsOf, fanfold.AsOf) []*fanfold.Erasure { return nil }

// Base returns the base at which the backup's log begins, nil where it begins with its first event. It is as of the backup's erasure.
func (l backupLog) Base(context.Context) (*batch.Base, error) {
	if l.Backup.Base == nil {
		return nil, nil
	}
	return &batch.Base{Horizon: l.Backup.Base.Horizon(), AsOf: fanfold.AsOf(l.Erasure), Open: func(context.Context) (io.ReadCloser, error) { return l.OpenBase() }}, nil
}

// backupReader reads a backup in a goroutine of its own.
type backupReader struct {
	events chan *fanfold.Event
	ended  chan struct{} // closed once err is set, and nothing more comes
	err    error
	cancel context.CancelFunc
}

// read delivers events until the backup ends, ctx ends, or something fails.
func (r *backupReader) read(ctx context.Context, b *backup.Backup, from uint64) {
	defer close(r.ended)
	defer close(r.events)
	decoder := events.NewDecoder("")
	r.err = b.Events(ctx, from-1, func(stored *backup.Event) error {
		m := transfer.MessageOf(stored)
		m.Data = slices.Clone(m.Data)
		ev, err := decoder.Decode(m)
		if err != nil {
			return err
		}
		select {
		case r.events <- ev:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if r.err == nil {
		r.err = io.EOF
	}
}

// Next returns the next event. It returns io.EOF after the last one, and the errors of ctx and the backup.
func (r *backupReader) Next(ctx context.Context) (*fanfold.Event, uint64, error) {
	select {
	case ev, more := <-r.events:
		if more {
			return ev, 1, nil
		}
		<-r.ended
		return nil, 0, r.err
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// WaitSynced returns nil: the events of a backup are on the disk.
func (r *backupReader) WaitSynced(context.Context, uint64) error { return nil }

// Close ends the reading.
func (r *backupReader) Close() {
	r.cancel()
	<-r.ended
}
