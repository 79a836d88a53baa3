package rebuild

import (
	"context"
	"io"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/projector/batch"
)

// The uses, a row each. Every read model is removed in the end unless it takes over.
//
//	use         as of     up to                 compared           then
//	Replay      in force  the served one        -                  takes over
//	ReplayTo    in force  an event              -                  takes over, in a store that nobody folds into
//	Check       served    the served one        all rows           -
//	Prefix      in force  a moment              -                  takes over, in a store of its own
//	Compact     served    the horizon           -                  is written as the base
//	            served    the served one        rows after it      takes over once the compact event is in the log
//	onBase      in force  the base              -                  takes over where the served one is before it
//	erased      next      the served one        views              follows the log until its erasure is in force, and takes over
//	changeOver  in force  the served one        -                  takes over where none is prepared
//	comingModel served    the served one        touched documents  follows the log until its model applies, and takes over
//	erasedBase  next      the base              -                  is written as the base of an erasure

// Replay builds the read model anew. It takes over once it has caught up with the one that is served.
func Replay() Rebuild {
	return Rebuild{shown: State{use: replays}, asOf: (*Builder).asOf, until: applied, then: swapIn}
}

// ReplayTo does what Replay does up to event last, for a store that nobody folds into. The read model that is there may be old, or damaged.
func ReplayTo(last uint64) Rebuild {
	return Rebuild{shown: State{use: replays, Target: last}, asOf: (*Builder).asOf, until: func(*build) uint64 { return last }, then: swapIn}
}

// Check builds a read model that is compared with the one that is served, row by row at one event.
func Check() Rebuild {
	return Rebuild{shown: State{use: replays, Check: &wire.Check{}}, asOf: (*Builder).AsOf, until: applied, then: check}
}

// Prefix builds the read model of a prefix of the log in place of the store's, on which no projector runs. The error is Conflict for a position that
// the log has not reached.
func Prefix(past Past) (Rebuild, error) {
	last := past.target()
	if last > past.Last {
		return Rebuild{}, fanfold.Errorf(fanfold.Conflict, "the log ends at event %d, before event %d", past.Last, last)
	}
	return Rebuild{shown: State{use: replays, Target: last}, asOf: (*Builder).asOf, until: func(m *build) uint64 { return m.at },
		then: func(ctx context.Context, m *build) error {
			if err := m.toEnd(ctx, past); err != nil {
				return err
			}
			m.b.served.Lock()
			defer m.b.served.Unlock()
			return m.takeOver()
		}}, nil
}

// Compact lets the store begin at a horizon. Until the event is appended, an error leaves everything as it was.
func Compact(asked Compacting) Rebuild {
	c := &compaction{Compacting: asked}
	return Rebuild{shown: State{use: compactions, Compaction: wire.Compaction{Before: asked.Before, By: asked.By}, Total: int64(asked.Horizon)}, asOf: (*Builder).AsOf, until: applied,
		begin: c.begin, then: c.takeOver}
}

// toHorizon builds what a compaction's base has.
func (c *compaction) toHorizon(next *build) Rebuild {
	past := Past{To: fanfold.Moment{Position: fanfold.At(c.Horizon, fanfold.MaxChanges)}, Last: c.Horizon}
	return Rebuild{shown: State{use: compactions}, asOf: func(*Builder) fanfold.AsOf { return next.lists }, then: func(ctx context.Context, m *build) error {
		if err := m.toEnd(ctx, past); err != nil {
			return err
		}
		return c.write(ctx, m, next)
	}}
}

// onBase makes a base the read model that is served, unless a replay is faster.
func onBase(base *batch.Base) Rebuild {
	return Rebuild{asOf: (*Builder).asOf, until: func(m *build) uint64 { return m.base.Seq }, begin: func(ctx context.Context, m *build) error { return m.load(ctx, base) },
		then: func(_ context.Context, m *build) error {
			m.b.served.Lock()
			defer m.b.served.Unlock()
			if m.b.store.Applied.Seq() >= base.Horizon.Seq {
				return nil
			}
			return m.takeOver()
		}}
}

// erased builds the read model for an erasure that is not in force yet.
func erased(w *prepared) Rebuild {
	return Rebuild{shown: State{use: erasures}, asOf: func(*Builder) fanfold.AsOf { return w.erasure }, until: applied, begin: w.begin, then: w.follow}
}

// changeOver builds the read model as of the erasures that are in force.
func changeOver() Rebuild {
	return Rebuild{shown: State{use: erasures}, asOf: (*Builder).asOf, until: applied, then: swapIn}
}

// comingModel prepares an announced model in a copy of the read model that is served.
func comingModel(w *coming) Rebuild {
	return Rebuild{shown: w.shown(), asOf: (*Builder).AsOf, copies: true, begin: w.begin, until: applied, then: w.follow}
}

// erasedBase writes the log's base as of an erasure, and takes note of its horizon.
func erasedBase(asOf fanfold.AsOf, w io.Writer, h *fanfold.Horizon) Rebuild {
	return Rebuild{asOf: func(*Builder) fanfold.AsOf { return asOf }, then: func(ctx context.Context, m *build) (err error) {
		*h, err = m.db.WriteSaltedBase(ctx, w)
		return err
	}}
}

// applied returns the last event that is served.
func applied(m *build) uint64 { return m.b.store.Applied.Seq() }

// AsOf returns which lists of the log the served read model knows.
func (b *Builder) AsOf() fanfold.AsOf { return fanfold.AsOf(b.served.AsOf.Load()) }

// asOf returns the erasure for which a read model is built to replace the served one.
func (b *Builder) asOf() fanfold.AsOf {
	_, inForce := b.log.Erasures()
	return max(inForce, fanfold.AsOf(b.served.Asked.Load()), b.AsOf())
}
