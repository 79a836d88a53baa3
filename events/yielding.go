package events

import (
	"context"
	"time"
)

// How long a search of the log goes on before it looks for writes, and how many times as long it leaves the server to these.
const (
	searchTurn  = 4 * time.Millisecond
	writesShare = 2
)

// yielding has a search of the whole log wait for its turn while this process writes: the server delivers as fast as it can, and writes wait for it.
type yielding struct {
	log   *Log
	began time.Time // of the turn
	last  uint64    // event that this process had written as it began
}

// toWrites is called at each event. It blocks where a turn is over, and something was written in it; at most until ctx ends.
func (y *yielding) toWrites(ctx context.Context, seq uint64) {
	if seq%16 != 0 {
		return
	}
	took := time.Since(y.began)
	if took < searchTurn {
		return
	}
	if last := y.log.run.Load().highest.Load(); last > y.last {
		y.last = last
		select {
		case <-time.After(writesShare * took):
		case <-ctx.Done():
		}
	}
	y.began = time.Now()
}
