// Package batch reads a log in batches, and folds each in one transaction of a read model. A batch divides nothing that was stored at once.
package batch

import (
	"context"
	"io"
	"time"

	"github.com/fanfold/fanfold"
)

// Reader delivers the log's events in order.
type Reader interface {
	// Next waits for the next event and returns it with how many the log has after it. The error is the log's, after
	// which the reader is of no more use, or ctx's.
	Next(ctx context.Context) (ev *fanfold.Event, pending uint64, err error)
	// WaitSynced waits until an event that was read is durable, so that what it causes may be shown. The error is the
	// log's, or ctx's.
	WaitSynced(ctx context.Context, seq uint64) error
	// Close gives the reader back. Nothing may be read then.
	Close()
}

// Log holds the events: what is needed of them to build read models.
type Log interface {
	// Events returns a reader that begins at event from, and reads as of an erasure: see ErasuresAfter. The caller closes it. The error, and the
	// reader's, is also PositionGone, where what is erased by a later erasure is gone.
	Events(ctx context.Context, from uint64, asOf fanfold.AsOf) (Reader, error)
	// Base returns the base at which the log begins, nil where it begins with its first event. The error is Unavailable.
	Base(ctx context.Context) (*Base, error)
	// Erasures returns the last erase event that is known, and the last one that is in force; 0 for none.
	Erasures() (last, inForce fanfold.AsOf)
	// ErasuresAfter returns the documents of the erase events after one, up to another, in order. A read model as of an erasure has the substitutes
	// of what the erase events up to that list.
	ErasuresAfter(after, upTo fanfold.AsOf) []*fanfold.Erasure
}

// Base is the state at the horizon at which a log begins.
type Base struct {
	Horizon fanfold.Horizon // at least Seq and Digest
	AsOf    fanfold.AsOf
	// Open returns the file, which is read to its end. The error is Unavailable.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// SafeEnd returns the last event up to seq after which the log can be cut, and the latest time of an event that was read up to there. A cut
// divides no transaction, and no document from the claims and links that guard it. SafeEnd reads the log after event base, as much of it as can be stored at once before
// seq. The error is Conflict where there is no such event, ctx's, and Unavailable.
func SafeEnd(ctx context.Context, log Log, base, seq uint64) (safe uint64, latest time.Time, err error) {
	from := base
	if seq > base+2*maxGuardedRound {
		from = seq - 2*maxGuardedRound
	}
	_, inForce := log.Erasures()
	reader, err := log.Events(ctx, from+1, inForce)
	if err != nil {
		return 0, latest, err
	}
	defer reader.Close()
	end, now := End{}, time.Time{}
	for at := from; at < seq; {
		ev, _, err := reader.Next(ctx)
		if err != nil {
			return 0, latest, err
		}
		if at = ev.Seq; at > seq {
			break
		}
		if ev.Time.After(now) {
			now = ev.Time
		}
		if end.Add(ev); end.Reached() {
			safe, latest = at, now
		}
	}
	if safe == 0 {
		return 0, latest, fanfold.Errorf(fanfold.Conflict, "the store cannot begin at event %d, which belongs to what was stored with later events: choose a later position", seq)
	}
	return safe, latest, nil
}
