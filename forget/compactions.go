package forget

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/sqlite"
)

// compactions is what a node does about compactions besides running them.
type compactions struct {
	bases    *buckets.Bases
	built    atomic.Uint64                   // the last event of the base on which the read model is built, as was seen last
	seen     atomic.Pointer[fanfold.Horizon] // as was seen last; nil before that
	purged   atomic.Uint64                   // the compact event of the last purge that is over
	failed   atomic.Pointer[error]           // why the last purge failed; nil for none that did
	cut      atomic.Pointer[cutCompaction]   // one that a former process was cut off in, until it goes on; nil for none
	accepted sync.Mutex                      // of who changes its file
	wake     chan struct{}                   // has an element where there is something to look at

	noticed    uint64    // the last compact event that was noticed
	noticedAt  time.Time // and when
	rebuildDue time.Time // when a rebuild that failed is tried again
	rebuilds   int       // that have failed in a row
	purgeDue   time.Time // when a purge that failed is tried again
	retained   time.Time // when it was last looked at how much is kept
	refused    string    // why the last compaction by the node itself did not begin
}

// How often a node looks after compactions, and what it waits for.
const (
	compactionsEvery = time.Second
	retainEvery      = time.Minute
	purgeAnyway      = 10 * time.Minute // after which a node that still has an old read model is not waited for
	rebuildRetry     = time.Second      // doubled for each failure, up to the next
	maxRebuildRetry  = time.Minute
	purgeRetry       = 10 * time.Second
	leastRetain      = time.Hour
	retainShare      = 10 // a compaction by the node itself takes away at least a tenth of the events
)

// CheckRetain returns Invalid for a history that is too short.
func CheckRetain(retain time.Duration) error {
	if retain != 0 && retain < leastRetain {
		return fanfold.Errorf(fanfold.Invalid, "--retain %v is less than %v; 0 keeps everything", retain, leastRetain)
	}
	return nil
}

// open reads where the read model begins, and which compaction was cut off, and removes files that are half written.
func (g *Compactor) open() error {
	g.compactions.bases, g.compactions.wake = buckets.NewBases(g.log), make(chan struct{}, 1)
	for _, name := range []string{baseFile, erasedBaseFile} {
		if err := os.Remove(filepath.Join(g.opt.Data, name)); err != nil && !os.IsNotExist(err) {
			return fanfold.Wrap(err, fanfold.Unavailable, "a base that was not finished cannot be removed: %v", err)
		}
	}
	return cmp.Or(g.noteHorizon(), g.readAccepted())
}

// horizon returns where the read model begins, as was seen last.
func (c *compactions) horizon() fanfold.Horizon {
	if h := c.seen.Load(); h != nil {
		return *h
	}
	return fanfold.Horizon{}
}

// isBehind tells whether the read model has what was before the horizon.
func (c *compactions) isBehind() bool { return c.built.Load() < c.horizon().Seq }

// ended has it looked at what is to be done after a compaction.
func (c *compactions) ended() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// noteHorizon takes note of where the read model begins. The error is the read model's.
func (g *Compactor) noteHorizon() error {
	return g.store.Read(func(s *sqlite.Snapshot) error {
		h, built, err := s.Horizon()
		if err == nil {
			g.compactions.seen.Store(&h)
			g.compactions.built.Store(built)
		}
		return err
	})
}

// runCompactions looks after compactions until ctx ends, and returns nil.
func (g *Compactor) runCompactions(ctx context.Context) error {
	tick := time.NewTicker(compactionsEvery)
	defer tick.Stop()
	for noted := uint64(0); ; {
		woken := false
		select {
		case <-ctx.Done():
			return nil
		case <-g.compactions.wake:
			woken = true
			_ = os.Remove(filepath.Join(g.opt.Data, baseFile)) // the next start tries again
		case <-tick.C:
		}
		if applied := g.store.Applied.Seq(); woken || applied != noted || g.compactions.isBehind() {
			if g.noteHorizon() != nil {
				continue // the read model is being closed
			}
			noted = applied
		}
		g.goOnCompacting(ctx)
		g.rebuildOnBase(ctx)
		g.purge(ctx)
		g.retain(ctx)
	}
}

// rebuildOnBase builds the read model anew where a compact event was folded, so that it has nothing of what was before. A failure is logged, and tried again.
func (g *Compactor) rebuildOnBase(ctx context.Context) {
	c := &g.compactions
	h := c.horizon()
	if !c.isBehind() || time.Now().Before(c.rebuildDue) {
		return
	}
	run, err := g.projector.BeginReplay()
	if err != nil { // a compaction, or another replay, which may begin with the base
		return
	}
	g.opt.Logger.Info("the read model is built anew from the base, without what was before it", "event", h.Seq)
	if err = run(ctx); err == nil {
		err = g.noteHorizon()
	}
	if c.rebuilds++; err == nil {
		c.rebuilds = 0
		g.opt.Logger.Info("the read model was built anew from the base", "event", h.Seq)
	} else if ctx.Err() == nil {
		g.opt.Logger.Warn("the read model could not be built anew from the base, and is tried again", "event", h.Seq, "err", err)
		c.rebuildDue = time.Now().Add(min(rebuildRetry<<min(c.rebuilds, 10), maxRebuildRetry))
	}
}

// purge removes from the log what is before the horizon, once no live node needs it, and then bases and snapshots from before. Whoever finds it undone does it.
func (g *Compactor) purge(ctx context.Context) {
	c := &g.compactions
	what, seq := g.log.Prefix().Compaction()
	if last, inForce := g.log.Prefix().Erasures(); what == nil || c.purged.Load() >= seq || last > inForce { // an erasure replaces the base
		return
	}
	if c.noticed != seq {
		c.noticed, c.noticedAt = seq, time.Now()
	}
	if c.built.Load() < what.Seq || time.Now().Before(c.purgeDue) {
		return
	}
	waiting, err := g.isWaitedFor(ctx, func(node wire.Node) bool { return node.Base < what.Seq })
	if err != nil || waiting && time.Since(c.noticedAt) < purgeAnyway {
		return
	}
	switch err = g.purgeUpTo(ctx, what); {
	case err == nil:
		c.purged.Store(seq)
		c.failed.Store(nil)
		g.opt.Logger.Info("the log was purged", "before", what.Seq)
	case fanfold.CodeOf(err) != fanfold.Conflict && ctx.Err() == nil: // otherwise it is too early
		g.opt.Logger.Warn("the log could not be purged, and is tried again", "before", what.Seq, "err", err)
		c.failed.Store(&err)
		c.purgeDue = time.Now().Add(purgeRetry)
	}
}

// purgeUpTo does purge's work.
func (g *Compactor) purgeUpTo(ctx context.Context, what *fanfold.Compaction) error {
	if err := g.log.Prefix().Purge(ctx, g.checkBase); err != nil {
		return err
	}
	if err := g.compactStep(StepPurged); err != nil {
		return err
	}
	if err := g.Groups.PassOver(ctx, what.At()); err != nil {
		return err
	}
	if err := g.compactions.bases.Remove(ctx, what.Base, what.Seq); err != nil {
		return err
	}
	if g.opt.Outside {
		if err := buckets.NewSnapshots(g.log).Remove(ctx, what.Seq); err != nil {
			return err
		}
	}
	return g.compactStep(StepRemoved)
}

// checkBase reads the base through: what it stands for is gone once the log is purged. The error is LogDamaged, Unavailable or ctx's.
func (g *Compactor) checkBase(ctx context.Context) error {
	report, err := NewSource(g.log).VerifyBase(ctx)
	if err == nil && report != nil && report.Error != "" {
		err = fanfold.Errorf(fanfold.LogDamaged, "the base up to event %d %s", report.Seq, report.Error)
	}
	return err
}

// The later steps of a compaction, after a projector.Compacting.
const (
	StepPurged  = "purged"  // the log has lost what goes
	StepRemoved = "removed" // bases and snapshots from before are gone
)

// byRetain stands for the node itself among those who ask for compactions.
const byRetain = "retain"

// retain compacts the store where it keeps more than it is to keep. Of several nodes the live one with the smallest id does it.
func (g *Compactor) retain(ctx context.Context) {
	c := &g.compactions
	if g.opt.Retain == 0 || time.Since(c.retained) < retainEvery || !g.leads() {
		return
	}
	c.retained = time.Now()
	err := g.CompactIfDue(ctx, fanfold.Moment{Time: time.Now().Add(-g.opt.Retain)})
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	if c.refused != reason && ctx.Err() == nil && err != nil {
		g.opt.Logger.Warn("history that is older than --retain cannot go yet, and is tried again", "err", err)
	}
	c.refused = reason
}

// CompactIfDue begins a compaction up to a moment where at least a tenth of the events that are kept goes by it. It returns the errors of Compact.
func (g *Compactor) CompactIfDue(ctx context.Context, before fanfold.Moment) error {
	var oldest time.Time
	if h := g.compactions.horizon(); h.Seq > 0 {
		oldest = h.Time
	}
	if !before.Time.After(oldest) {
		return nil
	}
	plan, _, err := g.planCompaction(ctx, before)
	if err != nil || plan.Done {
		return err
	}
	last, err := g.log.LastSeq(ctx)
	if err != nil {
		return err
	}
	kept := last - g.compactions.horizon().Seq
	if uint64(plan.Events)*retainShare < kept {
		return nil
	}
	_, err = g.Compact(ctx, before, false, byRetain)
	return err
}

// Built returns the last event of the base on which the read model is built, as was seen last; 0 for none.
func (g *Forgetter) Built() uint64 { return g.compactions.built.Load() }

// History returns how far back the store can be read. The error is the read model's.
func (g *Forgetter) History(s *sqlite.Snapshot) (*wire.History, error) {
	h, _, err := s.Horizon()
	if err != nil {
		return nil, err
	}
	out := &wire.History{Oldest: g.Issuer.Mark(h.At()), Compaction: g.Compactor.Compaction()}
	if h.Seq > 0 {
		out.OldestTime = h.Time
	}
	if c, seq := g.log.Prefix().Compaction(); c != nil {
		out.Base = &wire.HistoryBase{Seq: c.Seq, Name: c.Base.Name, Bytes: c.Base.Bytes, Sum: c.Base.Sum.String(), Event: seq}
	}
	out.Erasures, err = g.Eraser.current(s)
	return out, err
}

// Gauge is a number that says how far the store has forgotten.
type Gauge struct {
	Name, Help string
	Value      func() float64
}

// Gauges returns what is measured of the history that is kept.
func (g *Forgetter) Gauges() []Gauge {
	return []Gauge{
		{"fanfold_history_oldest_sequence", "The last event that is not kept, after which the history begins; 0 while all events are kept.",
			func() float64 { return float64(g.compactions.horizon().Seq) }},
		{"fanfold_history_oldest_timestamp_seconds", "Time of the last event that is not kept; 0 while all events are kept.", func() float64 {
			if h := g.compactions.horizon(); h.Seq > 0 {
				return float64(h.Time.UnixNano()) / 1e9
			}
			return 0
		}},
		{"fanfold_compaction_progress_ratio", "How far the phase is at which the running compaction is, from 0 to 1; 1 where none runs.", func() float64 {
			if c := g.projector.Compaction(); c != nil && c.Running {
				return ratio(float64(c.Done), float64(c.Total))
			}
			return 1
		}},
		{"fanfold_erasure_progress_ratio", "How far the erasures are that are not over, from 0 to 1; 1 where none is.", g.Eraser.progress},
	}
}
