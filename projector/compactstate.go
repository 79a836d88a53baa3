package projector

import (
	"time"

	"github.com/fanfold/fanfold/internal/wire"
)

// beginCompaction starts a compaction. It returns false where one runs already, or a replay.
func (r *replayState) beginCompaction(c *wire.Compaction) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy() {
		return false
	}
	c.Running, c.Phase, c.Started = true, wire.PhaseReplaying, time.Now().UTC()
	r.compaction = c
	return true
}

// compacts notes how far the compaction is.
func (r *replayState) compacts(phase string, done, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.compaction
	c.Phase, c.Done, c.Total = phase, done, total
	c.Seconds = time.Since(c.Started).Seconds()
}

// endCompaction notes how the compaction ended.
func (r *replayState) endCompaction(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.compaction
	c.Running, c.Seconds = false, time.Since(c.Started).Seconds()
	if c.Phase = wire.PhaseDone; err != nil {
		c.Error = reason(err)
	}
}

// Compaction returns how far the compaction is that runs, or ran last; nil for none.
func (p *Projector) Compaction() *wire.Compaction {
	r := &p.replay
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.compaction == nil {
		return nil
	}
	return new(*r.compaction)
}
