package projector

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/sqlite"
)

const (
	tidyAfter = 250 * time.Millisecond // without a fold, until the read model is tidied up
	tidyTries = 4                      // to empty SQLite's log while others write
	tidyPause = 5 * time.Millisecond   // until it is looked again whether something is folded
	heldPause = 50 * time.Millisecond  // until SQLite's log is tried again, which readers hold
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
		if folded == seen && folded != tidied && !p.isFolding() {
			brief, cancel := context.WithTimeout(ctx, tidyAfter)
			if p.tidy(brief) {
				tidied = folded
			}
			cancel()
		}
		seen = folded
	}
}

// isFolding returns whether a batch is being folded, which may take long.
func (p *Projector) isFolding() bool {
	if p.served.TryLock() {
		p.served.Unlock()
		return false
	}
	return true
}

// Tidy gives back the space of SQLite's log after much was written. While readers hold it, or something else is folded, it tries again until
// ctx ends. A part of the log that is on its way into the file then is awaited.
func (p *Projector) Tidy(ctx context.Context) {
	for !p.tidy(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(heldPause):
		}
	}
}

// tidy tries once what Tidy does, and returns whether nothing is left to do.
func (p *Projector) tidy(ctx context.Context) (tidied bool) {
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
	for !p.served.TryLock() {
		select {
		case <-ctx.Done():
			return sqlite.Held
		case <-time.After(tidyPause):
		}
	}
	defer p.served.Unlock()
	if err := p.store.Use(func(db *sqlite.DB) (err error) {
		state, err = db.TruncateWAL()
		return err
	}); err != nil {
		p.opt.Logger.Warn("SQLite's log could not be brought into the file", "err", err)
		return sqlite.Held
	}
	return state
}
