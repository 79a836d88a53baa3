package group

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
)

// Backup returns every group that g's rights include, with the checkpoints of its partitions and what is parked, but without leases. Groups of
// another store are left out. Errors are Internal and Unavailable.
func (g *Groups) Backup(ctx context.Context) ([]backup.Group, error) {
	var out []backup.Group
	err := g.each(ctx, func(s *group) error {
		saved, err := g.saved(ctx, s)
		if err == nil {
			out = append(out, saved)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// each calls fn with every group that g's rights include. It leaves out groups of another store, and groups that are gone by then.
// Errors are fn's, Internal and Unavailable.
func (g *Groups) each(ctx context.Context, fn func(s *group) error) error {
	list, err := g.List(ctx)
	if err != nil {
		return err
	}
	for _, l := range list {
		s, err := g.get(ctx, l.Name)
		switch fanfold.CodeOf(err) {
		case "":
			err = fn(s)
		case fanfold.NotFound, fanfold.StoreChanged:
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// saved returns a group as a backup has it.
func (g *Groups) saved(ctx context.Context, s *group) (out backup.Group, err error) {
	out = backup.Group{Name: s.name, Created: s.Created, Start: s.Start, Fold: s.Fold}
	if out.Settings, err = json.Marshal(s.Settings); err != nil {
		return out, err
	}
	states, err := g.partitions(ctx, s)
	if err != nil {
		return out, err
	}
	for i, p := range states {
		if p.Checkpoint == s.Start && len(p.Parked) == 0 {
			continue
		}
		c := backup.Checkpoint{Partition: i, Checkpoint: p.Checkpoint, Fold: p.Fold}
		for _, r := range p.Parked {
			c.Parked = append(c.Parked, backup.Parked{From: r.From, To: r.To})
		}
		out.Partitions = append(out.Partitions, c)
	}
	return out, nil
}

// Restore makes the groups of a backup in an empty bucket, for the store that was restored up to an event. Nobody holds a lease. A checkpoint
// that is later becomes that event's end, for other events will have its place. Errors are Invalid for a group that cannot be read, and Unavailable.
func Restore(ctx context.Context, kv KV, store fanfold.StoreID, last uint64, groups []backup.Group) error {
	end := fanfold.EndOf(last)
	for i := range groups {
		if err := restoreGroup(ctx, kv, store, end, &groups[i]); err != nil {
			return err
		}
	}
	return nil
}

// restoreGroup makes one group. Its name comes last, so that a group that is there has its partitions.
func restoreGroup(ctx context.Context, kv KV, store fanfold.StoreID, end fanfold.Position, from *backup.Group) error {
	s := &group{ID: strings.ToLower(rand.Text()[:16]), Created: from.Created, Store: store, Start: from.Start, Fold: from.Fold}
	if err := checkName(from.Name); err != nil {
		return err
	}
	if err := json.Unmarshal(from.Settings, &s.Settings); err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "the settings of group %s cannot be read: %v", fanfold.Clip(from.Name), err)
	}
	if s.Start > end {
		s.Start, s.Fold = end, 0
	}
	for _, c := range from.Partitions {
		if err := setNew(ctx, kv, s.partitionKey(c.Partition), restoredPartition(c, end)); err != nil {
			return err
		}
	}
	return setNew(ctx, kv, groupsPrefix+"."+from.Name, s)
}

// restoredPartition returns the state of a partition, where the store ends at a position.
func restoredPartition(c backup.Checkpoint, end fanfold.Position) *partition {
	p := &partition{Checkpoint: c.Checkpoint, Fold: c.Fold}
	if p.Checkpoint > end {
		p.Checkpoint, p.Fold = end, 0
	}
	for _, r := range c.Parked {
		if r.To = min(r.To, p.Checkpoint); r.From < r.To {
			p.LastParked++
			p.Parked = append(p.Parked, parkedRef{Number: p.LastParked, From: r.From, To: r.To})
		}
	}
	return p
}

// setNew gives a key that is not there a value.
func setNew(ctx context.Context, kv KV, key string, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		_, err = kv.Set(ctx, key, text, 0)
	}
	return err
}
