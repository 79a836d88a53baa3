package group

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold"
)

// Behind names, in order, the groups that have yet to acknowledge a change up to a position, or have parked one. It looks at the changes
// after the oldest checkpoint, and evaluates no filter: a change counts that a filter would leave out. Groups of another store are left
// out. It returns the errors of the read model, Internal and Unavailable.
func (g *Groups) Behind(ctx context.Context, at fanfold.Position) (names []string, err error) {
	err = g.eachBefore(ctx, at, func(s *group, waits []bool) error {
		if slices.Contains(waits, true) {
			names = append(names, s.name)
		}
		return nil
	})
	return names, err
}

// PassOver moves checkpoints on to a position, of partitions that have acknowledged everything up to it. So they can be read once the
// changes up to it are gone. The other partitions stay. It returns the errors of the read model, Internal, Busy and Unavailable.
func (g *Groups) PassOver(ctx context.Context, at fanfold.Position) error {
	return g.eachBefore(ctx, at, func(s *group, waits []bool) error {
		for n, waits := range waits {
			if waits {
				continue
			}
			err := g.change(ctx, s, n, func(p *partition) (bool, error) {
				before := p.Generation == s.Generation && p.Checkpoint < at // it may have been reset to a place before
				if before {
					p.Checkpoint = at
				}
				return before, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// eachBefore calls fn with each group that has a partition with a checkpoint before a position, or a parked batch that begins before
// it. waits tells of each partition whether there is something up to the position that it has yet to give.
func (g *Groups) eachBefore(ctx context.Context, at fanfold.Position, fn func(s *group, waits []bool) error) error {
	return g.each(ctx, func(s *group) error {
		states, err := g.partitions(ctx, s)
		if err != nil {
			return err
		}
		waits, found, err := g.waiting(ctx, s, states, at)
		if err == nil && found {
			err = fn(s, waits)
		}
		return err
	})
}

// waiting tells of each partition whether something up to a position is yet to be given. found is false where no checkpoint and no
// parked batch is before the position. A partition before the oldest position that is kept waits for a reset.
func (g *Groups) waiting(ctx context.Context, s *group, states []*partition, at fanfold.Position) (waits []bool, found bool, err error) {
	kept, err := g.model.Oldest()
	if err != nil {
		return nil, false, err
	}
	waits = make([]bool, len(states))
	oldest, asked := at, 0
	for n, p := range states {
		if slices.ContainsFunc(p.Parked, func(r parkedRef) bool { return r.From < at }) {
			waits[n], found = true, true
		}
		if p.Checkpoint < kept {
			waits[n], found = true, true
		} else if p.Checkpoint < at {
			oldest, found = min(oldest, p.Checkpoint), true
			if !waits[n] {
				asked++
			}
		}
	}
	if asked == 0 {
		return waits, found, nil
	}
	err = g.model.EachChange(s.Settings.query(oldest), func(ch *fanfold.Change) bool {
		n := ch.Key.Partition(len(states))
		if ch.Position <= at && ch.Position > states[n].Checkpoint && !waits[n] {
			waits[n] = true
			asked--
		}
		return ch.Position <= at && asked > 0 && ctx.Err() == nil
	})
	if err == nil {
		err = ctx.Err()
	}
	return waits, found, err
}

// explain returns the error of reading a partition. A PositionGone says what to do.
func (r *reading) explain(err error) error {
	var gone *fanfold.Error
	if !errors.As(err, &gone) || gone.Code != fanfold.PositionGone {
		return err
	}
	told := fanfold.Wrap(err, fanfold.PositionGone, "partition %d of group %s stands before the history that is kept: reset the group to the oldest position or a later one, and take what was before from the documents", r.partition, r.group.name)
	if r.retry != 0 {
		told.Message = fmt.Sprintf("the parked batch %d-%d of group %s is of the history that is no longer kept: drop it, and take what was before from the documents", r.partition, r.retry, r.group.name)
	}
	told.Oldest = gone.Oldest
	return told
}
