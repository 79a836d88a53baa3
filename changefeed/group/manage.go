package group

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
)

// Put makes a group, or changes the settings of the one that is there, except for its partitions and since; open feeds of the
// group end. Without a role one that is there keeps its own. It reports whether the group is new. Forbidden is for
// a role or collections that the rights do not include, and for a group that is there where they do not include the role admin.
// A secret that it has made is in settings.Push afterwards, and can be had nowhere else.
// Other errors are Invalid; Conflict; Timeout for a position that this node does not reach; Unprocessable for more than MaxGroups groups; Busy and Unavailable.
func (g *Groups) Put(ctx context.Context, name string, settings Settings) (created bool, err error) {
	keepsRole := settings.Role == ""
	settings.setDefaults()
	if err := checkName(name); err != nil {
		return false, err
	}
	if err := g.checkSettings(&settings); err != nil {
		return false, err
	}
	start, err := g.resolve(ctx, settings.Since)
	if err != nil {
		return false, err
	}
	if err := cmp.Or(g.room(ctx, name), roomToPush(ctx, g, name, settings.Push)); err != nil {
		return false, err
	}
	wanted, made := settings.Push, ""
	settings.Push = nil
	defer func() {
		if err == nil && made != "" {
			wanted.Secret = made
		}
	}()
	err = g.update(ctx, groupsPrefix+"."+name, func(old []byte) ([]byte, error) {
		s := &group{ID: g.opt.Random(), Created: g.opt.Now().UTC(), Maker: g.rights.Actor(), Store: g.opt.Issuer.Store, Start: start, Fold: foldOf(g.opt.Issuer, start)}
		if created = old == nil; !created {
			if s, err = g.readGroup(fanfold.Entry{Key: groupsPrefix + "." + name, Value: old}); err == nil {
				err = cmp.Or(g.checkAdmin(name), s.checkStore())
			}
			if err != nil {
				return nil, err
			}
			if keepsRole {
				settings.Role = s.Settings.Role
			}
			s.Fold = foldOf(g.opt.Issuer, s.Start)
			switch was := s.Settings; {
			case was.Partitions != settings.Partitions:
				return nil, fanfold.Errorf(fanfold.Conflict, "group %s has %d partitions, and that cannot change: delete it, or make another one", name, was.Partitions)
			case was.Since != settings.Since:
				return nil, fanfold.Errorf(fanfold.Conflict, "group %s began at %s, and that cannot change: use _reset", name, was.Since)
			case was.equal(&settings) && s.Push.fits(wanted):
				return nil, nil
			}
		}
		s.Push, made = s.Push.changed(wanted)
		s.Settings = settings
		return json.Marshal(s)
	})
	return created, err
}

// checkSettings returns an error for settings that cannot be asked for: Invalid, or Forbidden where the rights do not include them.
func (g *Groups) checkSettings(s *Settings) error {
	if model.IsRole(s.Role) && (g.rights == nil || !g.rights.Has(s.Role)) {
		return fanfold.Errorf(fanfold.Forbidden, "the role %s is missing: a group has a role that its maker has, and without one it is %s", s.Role, model.RoleAdmin)
	}
	if err := s.check(); err != nil {
		return err
	}
	for _, c := range s.Collections {
		if err := g.rights.CheckRead(c); err != nil {
			return err
		}
	}
	return g.feed.CheckSelection(s.selection())
}

// room returns Unprocessable where a group of a name that is not there would be one too many: of all, or of a maker who is no administrator.
func (g *Groups) room(ctx context.Context, name string) error {
	all, err := g.kv.All(ctx, groupsPrefix)
	if err != nil || slices.ContainsFunc(all, func(e fanfold.Entry) bool { return e.Key == groupsPrefix+"."+name }) {
		return err
	}
	if len(all) >= MaxGroups {
		return fanfold.Errorf(fanfold.Unprocessable, "there are %d groups already, as many as a database has: delete one", len(all))
	}
	if g.rights.Admin() {
		return nil
	}
	made := 0
	for _, e := range all {
		s, err := g.readGroup(e)
		if err != nil {
			return err
		}
		if s.Maker == g.rights.Actor() {
			made++
		}
	}
	if made >= MaxOfMaker {
		return fanfold.Errorf(fanfold.Unprocessable, "your key has made %d groups, as many as one that is no administrator's may: delete one", made)
	}
	return nil
}

// resolve returns the position that a text names. Errors are Invalid, Timeout and Unavailable.
func (g *Groups) resolve(ctx context.Context, text string) (fanfold.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, g.opt.Timeout)
	defer cancel()
	return g.feed.Resolve(ctx, text)
}

// summary returns a group as it is shown. In an open store, where roles mean nothing, only those that somebody gave are.
func (g *Groups) summary(s *group) wire.GroupSummary {
	out := wire.GroupSummary{Name: s.name, Settings: wire.GroupSettings(s.Settings), Created: s.Created, ID: s.ID}
	out.Push = s.Push.state(g.opt.Now())
	if g.rights.IsOpen() && out.Settings.Role == model.RoleAdmin {
		out.Settings.Role = ""
	}
	return out
}

// List returns the groups that the rights include, by their names. The error is Unavailable.
func (g *Groups) List(ctx context.Context) ([]wire.GroupSummary, error) {
	all, err := g.kv.All(ctx, groupsPrefix)
	if err != nil {
		return nil, err
	}
	out := make([]wire.GroupSummary, 0, len(all))
	for _, e := range all {
		s, err := g.readGroup(e)
		switch {
		case err != nil:
			return nil, err
		case g.rights != nil && g.rights.Has(s.Settings.Role):
			out = append(out, g.summary(s))
		}
	}
	slices.SortFunc(out, func(a, b wire.GroupSummary) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Delete deletes a group, with its checkpoints, leases and parked batches, also one of another store. Errors are Invalid,
// NotFound and Unavailable.
func (g *Groups) Delete(ctx context.Context, name string) error {
	for {
		s, err := g.get(ctx, name)
		if err != nil && fanfold.CodeOf(err) != fanfold.StoreChanged {
			return err
		}
		if _, err = g.kv.Set(ctx, groupsPrefix+"."+name, nil, s.revision); fanfold.CodeOf(err) == fanfold.Stale {
			continue
		}
		if err != nil {
			return err
		}
		return g.kv.Drop(ctx, s.ID)
	}
}

// Reset makes all partitions of a group begin at what a text names: a position, 0, now or a time. All leases end, and batches
// parked after that position come again by themselves. Unless force says so, it is refused while a lease is held. Errors are
// Invalid, NotFound, Conflict, Timeout, Busy and Unavailable.
func (g *Groups) Reset(ctx context.Context, name, to string, force bool) error {
	s, err := g.get(ctx, name)
	if err != nil {
		return err
	}
	start, err := g.resolve(ctx, to)
	if err != nil {
		return err
	}
	before, err := g.partitions(ctx, s)
	if err != nil {
		return err
	}
	for n, p := range before {
		if now := g.opt.Now(); !force && p.held(now) {
			return fanfold.Errorf(fanfold.Conflict, "member %s holds the lease of partition %d for another %v: stop the members, or reset by force, which ends their leases", p.Owner, n, p.Expires.Sub(now).Round(time.Second))
		}
	}
	err = g.update(ctx, groupsPrefix+"."+name, func(old []byte) ([]byte, error) {
		current := new(group)
		if err := unmarshal(fanfold.Entry{Key: name, Value: old}, current); err != nil || current.ID != s.ID {
			return nil, fanfold.Wrap(err, fanfold.NotFound, "group %s was deleted", name)
		}
		current.Start, current.Fold = start, foldOf(g.opt.Issuer, start)
		current.Generation++
		return json.Marshal(current)
	})
	if err != nil {
		return err
	}
	return g.forgetParked(ctx, s, before, start)
}

// forgetParked takes away what is kept of the batches that a reset to start has taken off the list.
func (g *Groups) forgetParked(ctx context.Context, s *group, before []*partition, start fanfold.Position) error {
	for n, p := range before {
		for _, r := range p.Parked {
			if r.From >= start {
				if err := g.kv.Drop(ctx, s.parkedKey(n, r.Number)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ForgetParked takes away what consumers have said of changes that they could not handle, of every group that g's rights include. It may
// have a part of a document that is erased. Parked batches stay so. Errors are Internal, Busy and Unavailable.
func (g *Groups) ForgetParked(ctx context.Context) error {
	return g.each(ctx, func(s *group) error {
		states, err := g.partitions(ctx, s)
		for n, p := range states {
			for _, r := range p.Parked {
				if err == nil {
					err = g.forgetError(ctx, s.parkedKey(n, r.Number))
				}
			}
			if err == nil && p.Error != "" {
				err = g.change(ctx, s, n, func(p *partition) (bool, error) {
					had := p.Error != ""
					p.Error = ""
					return had, nil
				})
			}
		}
		return err
	})
}

// forgetError takes away what a consumer has said of a parked batch.
func (g *Groups) forgetError(ctx context.Context, key string) error {
	return g.update(ctx, key, func(old []byte) ([]byte, error) {
		var batch wire.Failure
		if old == nil {
			return nil, nil
		}
		if err := unmarshal(fanfold.Entry{Key: key, Value: old}, &batch); err != nil || batch.Error == "" {
			return nil, err
		}
		batch.Error = ""
		return json.Marshal(batch)
	})
}
