package projector

import (
	"context"
	"time"

	"github.com/fanfold/fanfold"
)

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
	end, now := atomicEnd{}, time.Time{}
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
		if end.add(ev); end.reached() {
			safe, latest = at, now
		}
	}
	if safe == 0 {
		return 0, latest, fanfold.Errorf(fanfold.Conflict, "the store cannot begin at event %d, which belongs to what was stored with later events: choose a later position", seq)
	}
	return safe, latest, nil
}
