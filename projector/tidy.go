package projector

import (
	"context"
	"time"

	"github.com/fanfold/fanfold/sqlite"
)

// tidyAfter is for how long nothing is folded before the read model is tidied up.
const tidyAfter = 500 * time.Millisecond

// tidyWhenIdle tidies up whenever nothing is folded for a while, until ctx ends.
func (p *Projector) tidyWhenIdle(ctx context.Context) {
	tick := time.NewTicker(tidyAfter)
	defer tick.Stop()
	for seen, tidied := uint64(0), uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		folded := p.folded.Load()
		if folded == seen && folded != tidied && !p.tidy() {
			tidied = folded
		}
		seen = folded
	}
}

// tidy gives back the space of SQLite's log. again is true where there is more to do later.
func (p *Projector) tidy() (again bool) {
	if !p.folding.TryLock() {
		return true
	}
	defer p.folding.Unlock()
	if err := p.store.Use(func(db *sqlite.DB) (err error) {
		again, err = db.TruncateIdleWAL()
		return err
	}); err != nil {
		p.opt.Logger.Warn("SQLite's log could not be brought into the file", "err", err)
		return false
	}
	return again
}
