package group

import (
	"context"
	"encoding/json"

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
