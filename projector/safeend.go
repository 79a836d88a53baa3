package projector

import (
	"context"

	"github.com/fanfold/fanfold"
)

// SafeEnd returns the last event up to seq behind which the log can be cut, because nothing is yet to come of what was stored at once: a
// transaction, or a document after the claims and links that guard it. It reads the log after event base, as much of it as can be stored at once before
// seq. The error is Conflict where there is no such event, ctx's, and Unavailable.
func SafeEnd(ctx context.Context, log Log, base, seq uint64) (uint64, error) {
	from := base
	if seq > base+2*maxGuardedRound {
		from = seq - 2*maxGuardedRound
	}
	reader, err := log.Events(ctx, from+1)
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	safe, end := uint64(0), atomicEnd{}
	for at := from; at < seq; {
		ev, _, err := reader.Next(ctx)
		if err != nil {
			return 0, err
		}
		if at = ev.Seq; at > seq {
			break
		}
		if end.add(ev); end.reached() {
			safe = at
		}
	}
	if safe == 0 {
		return 0, fanfold.Errorf(fanfold.Conflict, "the store cannot begin at event %d, which belongs to what was stored with later events: choose a later position", seq)
	}
	return safe, nil
}
