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
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
)

// compactions is what a node does about compactions besides running them.
type compactions struct {
	built    atomic.Uint64                   // the last event of the base on which the read model is built, as was seen last
	seen     atomic.Pointer[fanfold.Horizon] // as was seen last; nil before that
	purged   atomic.Uint64                   // the compact event of the last purge that is over
	failed   atomic.Pointer[error]           // why the last purge failed; nil for none that did
	cut      atomic.Pointer[cutCompaction]   // one that a former process was cut off in, until it goes on; nil for none
	accepted sync.Mutex                      // of who changes its file
	noted    uint64                          // the last event that was folded when it was looked where the read model begins
	refused  string                          // why the last compaction by the node itself did not begin
}

const (
	retainEvery = time.Minute
	leastRetain = time.Hour
	retainShare = 10 // a compaction by the node itself takes away at least a tenth of the events
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

// look takes note of where the read model begins, if that may have changed. The error is the read model's.
func (g *Compactor) look() error {
	applied := g.store.Applied.Seq()
	if applied == g.compactions.noted && !g.compactions.isBehind() {
		return nil
	}
	g.compactions.noted = applied
	return g.noteHorizon()
}

// toRebuild returns the last event before the read model's horizon where the read model has what was before it.
func (g *Compactor) toRebuild() uint64 {
	if g.compactions.isBehind() {
		return g.compactions.horizon().Seq
	}
	return 0
}

// rebuildOnBase builds the read model anew where a compact event was folded, so that it has nothing of what was before.
func (g *Compactor) rebuildOnBase(ctx context.Context) error {
	h := g.compactions.horizon()
	run, err := g.projector.Begin(rebuild.Replay())
	if err != nil { // a compaction, or another replay, which may begin with the base
		return nil //nolint:nilerr // it is looked at again
	}
	g.opt.Logger.Info("the read model is built anew from the base, without what was before it", "event", h.Seq)
	if err = run(ctx); err == nil {
		err = g.noteHorizon()
	}
	if err == nil {
		g.opt.Logger.Info("the read model was built anew from the base", "event", h.Seq)
	}
	return err
}

// toPurge returns the compact event up to whose horizon the log is to be purged.
func (g *Compactor) toPurge() uint64 {
	if _, seq := g.log.Prefix().Compaction(); g.compactions.purged.Load() < seq {
		return seq
	}
	return 0
}

// mayPurge tells whether the node itself does not need what is before the horizon, and no erasure is about to replace the base.
func (g *Compactor) mayPurge() bool {
	what, _ := g.log.Prefix().Compaction()
	last, inForce := g.log.Prefix().Erasures()
	return what != nil && g.compactions.built.Load() >= what.Seq && last == inForce
}

// holdsUp tells whether a node's read model still has what is before the horizon.
func (g *Compactor) holdsUp(node wire.Node) bool {
	what, _ := g.log.Prefix().Compaction()
	return node.Base < what.Seq
}

// purge removes from the log what is before the horizon, and then bases and snapshots from before. Whoever finds it undone does it.
func (g *Compactor) purge(ctx context.Context) error {
	c := &g.compactions
	what, seq := g.log.Prefix().Compaction()
	err := g.purgeUpTo(ctx, what)
	switch {
	case err == nil:
		c.purged.Store(seq)
		c.failed.Store(nil)
		g.opt.Logger.Info("the log was purged", "before", what.Seq)
	case fanfold.CodeOf(err) == fanfold.Conflict: // it is too early
		return nil
	default:
		c.failed.Store(&err)
	}
	return err
}

// purgeUpTo does purge's work.
func (g *Compactor) purgeUpTo(ctx context.Context, what *fanfold.Compaction) error {
	if err := g.log.Prefix().Purge(ctx, g.checkBase); err != nil {
		return err
	}
	if err := g.opt.CompactStep(StepPurged); err != nil {
		return err
	}
	if err := g.Groups.PassOver(ctx, what.At()); err != nil {
		return err
	}
	if err := g.snapshots.Remove(ctx, what.Base, what.Seq); err != nil {
		return err
	}
	return g.opt.CompactStep(StepRemoved)
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

// toRetain returns 1 where the node keeps a part of its history alone.
func (g *Compactor) toRetain() uint64 { return min(1, uint64(g.opt.Retain)) }

// retain compacts the store where it keeps more than it is to keep. It says so once that it cannot.
func (g *Compactor) retain(ctx context.Context) error {
	err := g.CompactIfDue(ctx, fanfold.Moment{Time: time.Now().Add(-g.opt.Retain)})
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	said := reason == g.compactions.refused
	if g.compactions.refused = reason; said {
		return nil
	}
	return err
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
	plan, err := g.planCompaction(ctx, before)
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
	out := &wire.History{Oldest: g.Issuer.Mark(h.At()).String(), Compaction: g.Compactor.Compaction()}
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
