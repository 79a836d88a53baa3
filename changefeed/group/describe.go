package group

import (
	"context"
	"slices"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/changefeed"
	"github.com/fanfold/fanfold/internal/wire"
)

// Describe returns what there is to know of a group. Errors are Invalid, Forbidden, NotFound and Unavailable.
func (g *Groups) Describe(ctx context.Context, name string) (*wire.Group, error) {
	s, err := g.get(ctx, name)
	if err != nil {
		return nil, err
	}
	states, err := g.partitions(ctx, s)
	if err != nil {
		return nil, err
	}
	oldest, err := g.model.Oldest()
	if err != nil {
		return nil, err
	}
	lags, err := g.lags(ctx, s, states, oldest)
	if err == nil {
		err = boundLags(g.model, lags, states, oldest)
	}
	if err != nil {
		return nil, err
	}
	now := g.opt.Now()
	d := &wire.Group{GroupSummary: g.summary(s), Lag: total(lags), Members: []wire.GroupMember{}}
	for n, p := range states {
		info := wire.GroupPartition{Partition: n, Checkpoint: g.opt.Issuer.Mark(p.Checkpoint).String(), Lag: lags[n], Attempts: p.Attempts, Error: p.Error, Parked: len(p.Parked), Answer: p.Answer, Gone: p.Checkpoint < oldest}
		if p.held(now) {
			info.Owner, info.Expires = p.Owner, p.Expires
		}
		if p.wait(now) > 0 {
			info.NotBefore = p.NotBefore
		}
		d.Partitions = append(d.Partitions, info)
	}
	e, err := g.kv.Get(ctx, s.membersKey())
	if err != nil || e.Value == nil {
		return d, err
	}
	var all members
	if err := unmarshal(e, &all); err != nil {
		return nil, err
	}
	for _, m := range all {
		if now.Before(m.Expires) {
			d.Members = append(d.Members, wire.GroupMember{Member: m.Name, Expires: m.Expires, Max: m.Max})
		}
	}
	return d, nil
}

// Backlog says how much of a group's work is to be done.
type Backlog struct {
	Changes int64   // after the checkpoints of its partitions
	Seconds float64 // since the oldest of them was made
	Parked  int     // batches
}

// Backlog returns what a group has to do. If its lag is not known, it takes all changes after its oldest checkpoint,
// which are not fewer. The lag is not known if it is too large to be counted, or with a filter. Errors are Invalid,
// NotFound and Unavailable.
func (g *Groups) Backlog(ctx context.Context, name string) (b Backlog, err error) {
	s, err := g.get(ctx, name)
	if err != nil {
		return b, err
	}
	states, err := g.partitions(ctx, s)
	if err != nil || len(states) == 0 {
		return b, err
	}
	from := states[0].Checkpoint
	for _, p := range states {
		b.Parked += len(p.Parked)
		from = min(from, p.Checkpoint)
	}
	oldest, err := g.model.Oldest()
	if err != nil {
		return b, err
	}
	var known wire.GroupLag
	if s.Settings.Filter == "" { // metrics are asked for too often to evaluate one
		lags, err := g.lags(ctx, s, states, oldest)
		if err != nil {
			return b, err
		}
		known = total(lags)
	}
	if known.Changes != nil {
		b.Changes, b.Seconds = *known.Changes, *known.Seconds
		return b, nil
	}
	from = max(from, oldest)
	upTo, all, err := g.model.Ordinal(from)
	if err != nil {
		return b, err
	}
	b.Changes = all - upTo
	err = g.model.EachChange(fanfold.ChangeQuery{After: from}, func(ch *fanfold.Change) bool {
		b.Seconds = max(0, g.opt.Now().Sub(ch.Time).Seconds())
		return false
	})
	return b, err
}

// boundLags says of each lag that was not counted how large it is at most, but for checkpoints before the oldest position.
func boundLags(model ReadModel, lags []wire.GroupLag, states []*partition, oldest fanfold.Position) error {
	known := map[fanfold.Position]int64{} // partitions that nobody has read have the same checkpoint
	for n, p := range states {
		if lags[n].Changes != nil || p.Checkpoint < oldest {
			continue
		}
		most, found := known[p.Checkpoint]
		if !found {
			upTo, all, err := model.Ordinal(p.Checkpoint)
			if err != nil {
				return err
			}
			most = all - upTo
			known[p.Checkpoint] = most
		}
		lags[n].Most = &most
	}
	return nil
}

// total returns the lag of a group from the lags of its partitions. A bound counts the changes of all partitions, so the largest bounds
// the group, too.
func total(lags []wire.GroupLag) (all wire.GroupLag) {
	changes, seconds := int64(0), 0.0
	for _, l := range lags {
		if l.Changes == nil {
			return wire.GroupLag{Most: mostOf(lags)}
		}
		changes += *l.Changes
		seconds = max(seconds, *l.Seconds)
	}
	return wire.GroupLag{Changes: &changes, Seconds: &seconds}
}

// mostOf returns the largest bound of lags that were not counted, nil where one of these has none.
func mostOf(lags []wire.GroupLag) (most *int64) {
	for _, l := range lags {
		switch {
		case l.Changes != nil:
		case l.Most == nil:
			return nil
		case most == nil || *l.Most > *most:
			most = l.Most
		}
	}
	return most
}

// lags returns the lag of each partition. It counts at most Options.LagBound changes, of all kinds, from the oldest checkpoint
// on that is no further from the end. It evaluates a filter, or rules of access, for at most Options.FilterBound. Partitions whose checkpoints are further have no lag
// that is known. Nor have checkpoints before the oldest position, and groups whose filter takes too long.
func (g *Groups) lags(ctx context.Context, s *group, states []*partition, oldest fanfold.Position) ([]wire.GroupLag, error) {
	bound := g.opt.LagBound
	role := g.rights.As(s.Settings.Role)
	judged := s.Settings.Filter != "" || role.Key() != "" // rows are looked at one by one: by a filter, or by rules of access
	if judged {
		bound = g.opt.FilterBound
	}
	from, found, err := g.countable(states, oldest, bound)
	if err != nil || !found {
		return make([]wire.GroupLag, len(states)), err
	}
	lags, count := countFrom(from, states, g.opt.Now())
	if !judged {
		return lags, g.model.EachChange(s.Settings.query(from), func(ch *fanfold.Change) bool {
			count(ch)
			return true
		})
	}
	all, err := g.feed.EachSelected(ctx, role, &changefeed.Scope{Since: from, Selection: s.Settings.selection()}, count)
	if err != nil || !all {
		return make([]wire.GroupLag, len(states)), err
	}
	return lags, nil
}

// countFrom returns the lags of partitions, nothing yet for those whose checkpoints are not before a position, and a function that counts a
// change after it.
func countFrom(from fanfold.Position, states []*partition, now time.Time) (lags []wire.GroupLag, count func(ch *fanfold.Change)) {
	lags = make([]wire.GroupLag, len(states))
	for n, p := range states {
		if p.Checkpoint >= from {
			lags[n] = wire.GroupLag{Changes: new(int64), Seconds: new(float64)}
		}
	}
	return lags, func(ch *fanfold.Change) {
		n := ch.Key.Partition(len(states))
		lag := lags[n]
		if lag.Changes == nil || ch.Position <= states[n].Checkpoint {
			return
		}
		if *lag.Changes == 0 {
			*lag.Seconds = max(0, now.Sub(ch.Time).Seconds())
		}
		*lag.Changes++
	}
}

// countable returns the oldest checkpoint that is followed by no more than bound changes. found is false where there
// is none. Those before the oldest position do not count.
func (g *Groups) countable(states []*partition, oldest fanfold.Position, bound int64) (from fanfold.Position, found bool, err error) {
	checkpoints := make([]fanfold.Position, 0, len(states))
	for _, p := range states {
		if p.Checkpoint >= oldest {
			checkpoints = append(checkpoints, p.Checkpoint)
		}
	}
	slices.Sort(checkpoints)
	checkpoints = slices.Compact(checkpoints)
	for low, high := 0, len(checkpoints); ; { // the first from which they can be counted is in [low, high]
		if low == high {
			if low == len(checkpoints) {
				return 0, false, nil
			}
			return checkpoints[low], true, nil
		}
		mid := (low + high) / 2
		upTo, all, err := g.model.Ordinal(checkpoints[mid])
		if err != nil {
			return 0, false, err
		}
		if all-upTo <= bound {
			high = mid
		} else {
			low = mid + 1
		}
	}
}
