package projector

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/sqlite"
)

const (
	tidyAfter = 250 * time.Millisecond // without a fold, until the read model is tidied up
	tidyTries = 4                      // to empty SQLite's log while others write
	tidyWait  = 2 * time.Second        // for the fold at most, of one who waits for a tidy read model
	tidyPause = 5 * time.Millisecond   // until such a one looks again whether something is folded
)

// tidyWhenIdle tidies up whenever nothing is folded for a while, until ctx ends.
func (p *Projector) tidyWhenIdle(ctx context.Context) {
	tick := time.NewTicker(tidyAfter)
	defer tick.Stop()
	for seen, tidied := uint64(0), ^uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		folded := p.folded.Load()
		if folded == seen && folded != tidied && p.tidy(ctx) {
			tidied = folded
		}
		seen = folded
	}
}

// Tidy gives back the space of SQLite's log after much was written, as far as readers allow. It returns within a few seconds, also where
// something else is folded.
func (p *Projector) Tidy(ctx context.Context) { p.tidy(ctx) }

// tidy does what Tidy does, and returns whether nothing is left to do.
func (p *Projector) tidy(ctx context.Context) (tidied bool) {
	ctx, cancel := context.WithTimeout(ctx, tidyWait)
	defer cancel()
	for range tidyTries {
		switch state := p.truncate(ctx); state {
		case sqlite.Moving:
			_ = p.store.Use(func(db *sqlite.DB) error { db.AwaitWALPass(); return nil }) // fails never
		default:
			return state == sqlite.Truncated
		}
	}
	return false
}

// truncate empties SQLite's log as soon as nothing is folded, and says how far it came: Held where ctx ended before.
func (p *Projector) truncate(ctx context.Context) (state sqlite.Truncation) {
	for !p.folding.TryLock() {
		select {
		case <-ctx.Done():
			return sqlite.Held
		case <-time.After(tidyPause):
		}
	}
	defer p.folding.Unlock()
	if err := p.store.Use(func(db *sqlite.DB) (err error) {
		state, err = db.TruncateWAL()
		return err
	}); err != nil {
		p.opt.Logger.Warn("SQLite's log could not be brought into the file", "err", err)
		return sqlite.Held
	}
	return state
}
