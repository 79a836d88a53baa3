package forget

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/projector/batch"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/writer"
)

// baseFile is the name of the file in the data directory from which a base is sent.
const baseFile = "base.new"

// PlanCompaction tells what a compaction up to a moment would take away. The moment's position is one of this store. Errors are Conflict
// for a position that is not folded yet, or where the store cannot begin, and Unavailable.
func (g *Compactor) PlanCompaction(ctx context.Context, before fanfold.Moment) (*wire.CompactPlan, error) {
	plan, err := g.planCompaction(ctx, before)
	if err != nil {
		return nil, err
	}
	return &plan.CompactPlan, nil
}

// compactionPlan is what a compaction takes away, and where the store begins then.
type compactionPlan struct {
	wire.CompactPlan
	seq uint64           // the horizon's event
	at  fanfold.Position // and position
}

// planCompaction does what PlanCompaction does. It outlasts a planned start of the log's server.
func (g *Compactor) planCompaction(ctx context.Context, before fanfold.Moment) (plan *compactionPlan, err error) {
	err = g.log.Outlast(ctx, func(ctx context.Context) (err error) {
		plan, err = g.planOnce(ctx, before)
		return err
	})
	return plan, err
}

// planOnce does planCompaction's work.
func (g *Compactor) planOnce(ctx context.Context, before fanfold.Moment) (*compactionPlan, error) {
	var h fanfold.Horizon
	var asked uint64
	done := false
	err := g.store.Read(func(s *sqlite.Snapshot) (err error) {
		if h, _, err = s.Horizon(); err != nil {
			return err
		}
		if seq := before.Position.Seq(); before.Time.IsZero() && seq > s.Checkpoint.Seq {
			return fanfold.Errorf(fanfold.Conflict, "this node is at event %d, before event %d", s.Checkpoint.Seq, seq)
		} else if done = h.Seq > 0 && (before.Time.IsZero() && seq <= h.Seq || !before.Time.IsZero() && !before.Time.After(h.Time)); done {
			return nil
		}
		at, err := s.Resolve(before)
		if asked = at.Seq(); before.Time.IsZero() && at > before.Position && before.Position.Seq() > 0 { // nothing after the position goes
			asked = before.Position.Seq() - 1
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if done = done || asked <= h.Seq; done {
		return &compactionPlan{wire.CompactPlan{Before: g.Issuer.Mark(h.At()).String(), Time: h.Time, Done: true, Groups: []string{}}, h.Seq, h.At()}, nil
	}
	seq, latest, err := batch.SafeEnd(ctx, NewSource(g.log), h.Seq, asked)
	if err != nil {
		return nil, err
	}
	plan, err := g.whatGoes(ctx, h, seq)
	if err != nil {
		return nil, err
	}
	plan.Time = latest
	return plan, nil
}

// whatGoes counts what a compaction up to event seq takes away of a store that begins at h.
func (g *Compactor) whatGoes(ctx context.Context, h fanfold.Horizon, seq uint64) (*compactionPlan, error) {
	plan := &compactionPlan{CompactPlan: wire.CompactPlan{Events: int64(seq - h.Seq), Groups: []string{}}, seq: seq}
	err := g.store.Read(func(s *sqlite.Snapshot) (err error) {
		if plan.at, err = s.Resolve(fanfold.Moment{Position: fanfold.At(seq, 0)}); err != nil {
			return err
		}
		plan.Versions, err = s.Ordinal(plan.at)
		plan.Versions = max(0, plan.Versions-h.Changes)
		return err
	})
	if err != nil {
		return nil, err
	}
	plan.Before = g.Issuer.Mark(plan.at).String()
	state, err := g.log.State(ctx)
	if err != nil {
		return nil, err
	}
	if state.Count > 0 {
		plan.Bytes = int64(float64(state.Bytes) / float64(state.Count) * float64(plan.Events))
	}
	behind, err := g.Groups.Behind(ctx, plan.at)
	plan.Groups = append(plan.Groups, behind...)
	plan.Feeds = g.Groups.FeedsBehind(plan.at)
	return plan, err
}

// Compact begins to let the store begin at a moment, and returns what goes. It returns once that has begun, and Compaction says how far it is; a plan
// that is Done already begins nothing. by names who asked, "" where nobody knows. It returns the errors of PlanCompaction, and Conflict. It is a
// Conflict if the log's server cannot do it, or another compaction, a replay or a model's preparation runs. So it is if groups have not acknowledged
// all of it, unless force says so.
func (g *Compactor) Compact(ctx context.Context, before fanfold.Moment, force bool, by string) (*wire.CompactPlan, error) {
	plan, err := g.planCompaction(ctx, before)
	if err != nil {
		return nil, err
	}
	if plan.Done {
		return &plan.CompactPlan, nil
	}
	if err := g.log.Outlast(ctx, func(ctx context.Context) error { return g.mayCompact(ctx) }); err != nil {
		return nil, err
	}
	if len(plan.Groups) > 0 && !force {
		return nil, groupsBehind(plan.Groups)
	}
	run, err := g.projector.Begin(rebuild.Compact(g.compacting(plan, by)))
	if err != nil {
		return nil, err
	}
	asked := acceptedCompaction{Store: g.log.Store(), Before: plan.at, By: by, Force: force}
	if err := g.keepAccepted(asked); err != nil {
		ended, end := context.WithCancelCause(ctx)
		end(err)
		return nil, cmp.Or(err, run(ended))
	}
	g.opt.Logger.Info("a compaction begins", "before", plan.Before, "event", plan.seq, "by", by, "force", force, "events", plan.Events, "groups", plan.Groups)
	g.Background(func(ctx context.Context) {
		began := time.Now()
		err := run(ctx)
		g.endAccepted(ctx, asked, err)
		_ = os.Remove(filepath.Join(g.opt.Data, baseFile)) // the next start tries again
		level := g.opt.Logger.Info
		if err != nil {
			level = g.opt.Logger.Error
		}
		level("a compaction has ended", "before", plan.Before, "event", plan.seq, "by", by, "seconds", time.Since(began).Seconds(), "err", err)
	})
	return &plan.CompactPlan, nil
}

// mayCompact returns why no compaction may begin now, as Conflict, Unavailable or LogDamaged.
func (g *Compactor) mayCompact(ctx context.Context) error {
	if last, inForce := g.log.Prefix().Erasures(); last > inForce || inForce > g.erasures.over() {
		return fanfold.Errorf(fanfold.Conflict, "an erasure is under way: wait until it is over")
	}
	return g.mayRemove(ctx)
}

// mayRemove returns why nothing may be removed from the log now, as Conflict, Unavailable or LogDamaged.
func (g *Compactor) mayRemove(ctx context.Context) error {
	if err := cmp.Or(g.log.Damage(), writer.MayLose(ctx, g.Writer)); err != nil {
		return err
	}
	if err := g.log.Prefix().MayCompact(ctx); err != nil {
		return err
	}
	if p, _ := g.projector.Proposal(); p != nil {
		return fanfold.Errorf(fanfold.Conflict, "a model is being prepared: wait for its end")
	}
	if s := g.projector.Status().Stopped; s != nil {
		return fanfold.Errorf(fanfold.Unavailable, "the projector has stopped at event %d: %s", s.Seq, s.Reason)
	}
	return nil
}

// maxGroupsNamed bounds the groups that an error names.
const maxGroupsNamed = 20

// errGroupsBehind is the cause of groupsBehind's error.
var errGroupsBehind = errors.New("groups have not acknowledged what goes")

// groupsBehind returns the error for groups that have not acknowledged what goes.
func groupsBehind(groups []string) error {
	names := strings.Join(groups[:min(len(groups), maxGroupsNamed)], ", ")
	if more := len(groups) - maxGroupsNamed; more > 0 {
		names += ", ..."
	}
	return fanfold.Wrap(errGroupsBehind, fanfold.Conflict, "%d consumer groups have not acknowledged all changes up to there: %s; wait for them, or force it, and reset them afterwards", len(groups), names)
}

// compacting returns what the projector needs of the node for a compaction.
func (g *Compactor) compacting(plan *compactionPlan, by string) rebuild.Compacting {
	return rebuild.Compacting{Horizon: plan.seq, Before: plan.Before, By: by, File: filepath.Join(g.opt.Data, baseFile), Store: g.storeBase, Step: g.opt.CompactStep,
		Append: func(ctx context.Context, c *fanfold.Compaction) (uint64, error) {
			if err := g.Groups.PassOver(ctx, c.At()); err != nil {
				g.opt.Logger.Warn("consumer groups that wait for nothing up to the horizon could not be moved on to it", "err", err)
			}
			_, last := g.log.Prefix().Compaction()
			if _, inForce := g.log.Prefix().Erasures(); c.AsOf < inForce {
				return 0, fanfold.Errorf(fanfold.Conflict, "an erasure came into force meanwhile: compact again")
			}
			if at := g.log.Prefix().Base().Seq; at >= c.Seq { // what another node has appended meanwhile is not taken back
				return 0, fanfold.Errorf(fanfold.Conflict, "the store begins after event %d by now, and was to begin after event %d: another compaction was faster", at, c.Seq)
			}
			return g.log.Append(ctx, &fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{Base: c, UpTo: c.AsOf}, Actor: by}, fanfold.Exactly(fanfold.Revision(last)))
		}}
}

// Compaction tells how far the compaction is that runs on this node, or ran last; nil for none. It says so if the log
// is to be purged yet, which any node may do.
func (g *Compactor) Compaction() *wire.Compaction {
	out := g.projector.Compaction()
	if cut := g.compactions.cut.Load(); cut != nil && (out == nil || !out.Running) {
		return cut.report(g.Issuer)
	}
	c, seq := g.log.Prefix().Compaction()
	if out != nil && (out.Running || out.Error != "") || c == nil || g.compactions.purged.Load() >= seq {
		return out
	}
	if out == nil {
		out = &wire.Compaction{Before: g.Issuer.Mark(c.At()).String()}
	}
	out.Phase, out.Done, out.Total, out.WaitingFor = wire.PhasePurging, 0, 0, g.waitingFor(c.Seq)
	return out
}

// waitingFor returns the live nodes whose read models still have what was before event seq, as people name them.
func (g *Compactor) waitingFor(seq uint64) (names []string) {
	all := g.Nodes.All()
	for _, node := range all {
		if node.Live && node.Base < seq {
			names = append(names, strings.TrimSpace(node.ID+" "+node.Address))
		}
	}
	return names
}
