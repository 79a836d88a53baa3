package group

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
)

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
