package group

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
)

// maxSetsAtOnce bounds how many partitions one request changes at the same time.
const maxSetsAtOnce = 32

// eachOf calls fn for partitions, maxSetsAtOnce of them at the same time, and returns the first error, which ends the ctx of the
// others.
func eachOf(ctx context.Context, numbers []int, fn func(ctx context.Context, number int) error) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(maxSetsAtOnce)
	for _, n := range numbers {
		work.Go(func() error { return fn(ctx, n) })
	}
	return work.Wait()
}

// Lease returns the leases that a member has, by partition, after it has joined the group, or stayed in it. It renews the
// member's leases up to its share, and adds free ones up to its share. It wants at most so many partitions, 0 for any number. A
// lease that it has beyond its share is not renewed and not returned, but its token is good until another member has taken the
// partition. Errors are Invalid, Forbidden, NotFound, Unprocessable for more than MaxMembers members, Busy and Unavailable.
func (g *Groups) Lease(ctx context.Context, name, member string, most int) ([]wire.Lease, error) {
	s, err := g.get(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := checkMember(member); err != nil {
		return nil, err
	}
	if most < 0 || most > MaxPartitions {
		return nil, fanfold.Errorf(fanfold.Invalid, "max is a number from 1 to %d; without it a member takes its whole share", MaxPartitions)
	}
	now := g.opt.Now()
	all, err := g.join(ctx, s, member, most, now)
	if err != nil {
		return nil, err
	}
	states, err := g.partitions(ctx, s)
	if err != nil {
		return nil, err
	}
	a := assignment{states: states, member: member, quota: all.quota(member, s.Settings.Partitions), now: now}
	if err := g.shorten(ctx, s, a.overlong(s.lease())); err != nil {
		return nil, err
	}
	leases := make([]*wire.Lease, len(states))
	if err := g.leaseAll(ctx, s, member, a.keep(), leases); err != nil {
		return nil, err
	}
	if err := g.leaseAll(ctx, s, member, a.want(), leases); err != nil {
		return nil, err
	}
	out := []wire.Lease{}
	for _, l := range leases {
		if l != nil {
			out = append(out, *l)
		}
	}
	return out, nil
}

// assignment is what decides which partitions a member should have.
type assignment struct {
	states []*partition
	member string
	quota  int
	now    time.Time
}

// keep returns the partitions that the member has and may keep. Of too many it keeps those with the lowest numbers, the same
// ones however often it asks.
func (a *assignment) keep() (numbers []int) {
	for n, p := range a.states {
		if p.Owner == a.member && len(numbers) < a.quota {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// want returns the free partitions that the member should take. Which ones is different for each member, so that members who
// ask at the same time seldom want the same.
func (a *assignment) want() (numbers []int) {
	missing := a.quota - len(a.keep())
	h := fnv.New32a()
	_, _ = h.Write([]byte(a.member)) // a hash does not fail
	first := int(h.Sum32() % uint32(len(a.states)))
	for i := range a.states {
		n := (first + i) % len(a.states)
		if p := a.states[n]; len(numbers) < missing && p.Owner != a.member && p.free(a.now) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// overlong returns the partitions whose leases end later than any that is given now could, but for those that the member keeps and
// so renews.
func (a *assignment) overlong(lease time.Duration) (numbers []int) {
	kept := a.keep()
	for n, p := range a.states {
		if p.overlong(a.now, lease) && !slices.Contains(kept, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// shorten makes leases that a fast clock has given end as if they were given now. An owner that goes on renews its lease, and
// nobody waits for the others until that clock's time.
func (g *Groups) shorten(ctx context.Context, s *group, numbers []int) error {
	return eachOf(ctx, numbers, func(ctx context.Context, n int) error {
		return g.change(ctx, s, n, func(p *partition) (bool, error) {
			now := g.opt.Now()
			if !p.overlong(now, s.lease()) {
				return false, nil
			}
			p.Expires = now.Add(s.lease()).UTC()
			return true, nil
		})
	})
}

// join adds a member to a group's members, or lets it stay, and returns them all.
func (g *Groups) join(ctx context.Context, s *group, name string, most int, now time.Time) (all members, err error) {
	err = g.update(ctx, s.membersKey(), func(old []byte) ([]byte, error) {
		var was members
		if old != nil {
			if err := unmarshal(fanfold.Entry{Key: s.membersKey(), Value: old}, &was); err != nil {
				return nil, err
			}
		}
		var changed bool
		all, changed = was.join(name, most, now, now.Add(s.lease()))
		if len(all) > MaxMembers {
			return nil, fanfold.Errorf(fanfold.Unprocessable, "group %s has %d members already, as many as a group has", s.name, MaxMembers)
		}
		if !changed {
			return nil, nil
		}
		return json.Marshal(all)
	})
	return all, err
}

// leaseAll gives a member the leases of some partitions, and sets those that it has got in leases.
func (g *Groups) leaseAll(ctx context.Context, s *group, member string, numbers []int, leases []*wire.Lease) error {
	var mu sync.Mutex
	return eachOf(ctx, numbers, func(ctx context.Context, n int) error {
		lease, err := g.leaseOne(ctx, s, member, n)
		mu.Lock()
		defer mu.Unlock()
		leases[n] = lease
		return err
	})
}

// leaseOne gives a member the lease of a partition: it renews its own, and takes one that is free. It returns nil where
// another member was faster.
func (g *Groups) leaseOne(ctx context.Context, s *group, member string, number int) (lease *wire.Lease, err error) {
	err = g.change(ctx, s, number, func(p *partition) (changed bool, err error) {
		now := g.opt.Now()
		until := now.Add(s.lease()).UTC()
		switch {
		case p.Owner == member && p.Token != "":
			if changed = mayRenew(p.Expires, now, until); changed {
				p.Expires = until
			}
		case p.free(now):
			p.take(member, g.opt.Random(), until)
			changed = true
		default:
			lease = nil
			return false, nil
		}
		lease = &wire.Lease{Partition: number, Token: p.Token, Checkpoint: g.opt.Issuer.Mark(p.Checkpoint).String(), Expires: p.Expires}
		return changed, nil
	})
	return lease, err
}

// Release ends a lease, where the token is still the partition's. Errors are Invalid, Forbidden, NotFound, Busy and Unavailable.
func (g *Groups) Release(ctx context.Context, name string, number int, token string) error {
	s, err := g.get(ctx, name)
	if err != nil {
		return err
	}
	return g.change(ctx, s, number, func(p *partition) (bool, error) {
		if !p.isToken(token) {
			return false, nil
		}
		p.release()
		return true, nil
	})
}

// Leave ends all leases of a member, which is no member any more. Errors are Invalid, Forbidden, NotFound, Busy and Unavailable.
func (g *Groups) Leave(ctx context.Context, name, member string) error {
	s, err := g.get(ctx, name)
	if err != nil {
		return err
	}
	if err := checkMember(member); err != nil {
		return err
	}
	err = g.update(ctx, s.membersKey(), func(old []byte) ([]byte, error) {
		var all members
		if old == nil {
			return nil, nil
		}
		if err := unmarshal(fanfold.Entry{Key: s.membersKey(), Value: old}, &all); err != nil {
			return nil, err
		}
		left, changed := all.leave(member)
		if !changed {
			return nil, nil
		}
		return json.Marshal(append(members{}, left...))
	})
	if err != nil {
		return err
	}
	states, err := g.partitions(ctx, s)
	if err != nil {
		return err
	}
	var numbers []int
	for n, p := range states {
		if p.Owner == member {
			numbers = append(numbers, n)
		}
	}
	return eachOf(ctx, numbers, func(ctx context.Context, n int) error { return g.LeaveOne(ctx, s.name, n, member) })
}

// LeaveOne ends the lease of a partition where a member has it. Errors are Invalid, Forbidden, NotFound, Busy and Unavailable.
func (g *Groups) LeaveOne(ctx context.Context, name string, number int, member string) error {
	s, err := g.get(ctx, name)
	if err != nil {
		return err
	}
	if err := checkMember(member); err != nil {
		return err
	}
	return g.change(ctx, s, number, func(p *partition) (bool, error) {
		if p.Owner != member {
			return false, nil
		}
		p.release()
		return true, nil
	})
}
