package inspect

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// MayExceed returns whether the events may cause more than limit derived changes together. It goes by the links alone
// and assumes that every value an event can reach changes. That is much cheaper than a dry run, and takes nothing where
// no rule leads away from the documents. The error is the read model's, or ctx's.
func (i *Inspector) MayExceed(ctx context.Context, events []*fanfold.Event, limit int64) (more bool, err error) {
	pl := i.projector.Plan()
	fansOut := func(ev *fanfold.Event) bool { return pl.Collection(ev.Key.Collection).FansOut }
	if !slices.ContainsFunc(events, fansOut) && int64(len(events))*maxReferenced <= limit {
		return false, nil // each changes the documents that it refers to, and nothing follows from that
	}
	err = i.store.Read(func(s *sqlite.Snapshot) error {
		e := &fanoutEstimate{ctx: ctx, s: s, plan: pl, left: limit, newLinks: map[sqlite.Link]int64{}}
		if len(events) > 1 { // later events of a transaction may reach what earlier ones linked
			for _, ev := range events {
				if err := e.countLinks(ev); err != nil {
					return err
				}
			}
		}
		for _, ev := range events {
			if err := e.event(ev); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errLimitReached) {
		return true, nil
	}
	return false, err
}

// maxReferenced is how many documents can change with one that nothing else depends on: those that it refers to now,
// or did, by as many relations as anybody has.
const maxReferenced = 100 * fanfold.MaxRelationIDs

// errLimitReached ends an estimate that has reached its limit.
var errLimitReached = errors.New("the limit is reached")

// fanoutEstimate counts the documents that events can reach.
type fanoutEstimate struct {
	ctx      context.Context
	s        *sqlite.Snapshot
	plan     *fold.Plan
	left     int64                 // derived changes until the limit
	newLinks map[sqlite.Link]int64 // that the events make
}

// spend counts n derived changes. The error is errLimitReached where they are too many.
func (e *fanoutEstimate) spend(n int64) error {
	if e.left -= n; e.left < 0 {
		return errLimitReached
	}
	return nil
}

// written returns the referenced view that the event gives its document, whose row is old; nil where it gives none. A
// patch that does not fit is refused when it is appended.
func written(ev *fanfold.Event, old *sqlite.Row) *jsondoc.Tree {
	switch {
	case ev.Kind == fanfold.KindPut:
		return jsondoc.MustParse(ev.Body)
	case ev.Kind == fanfold.KindPatch && old != nil:
		if body, err := ev.Patched(old.Source()); err == nil {
			return jsondoc.MustParse(body)
		}
	}
	return nil
}

// countLinks counts the links that an event makes.
func (e *fanoutEstimate) countLinks(ev *fanfold.Event) (err error) {
	var old *sqlite.Row
	if ev.Kind == fanfold.KindPatch {
		if old, err = e.s.Row(ev.Key); err != nil {
			return err
		}
	}
	t := written(ev, old)
	if t == nil {
		return nil
	}
	for _, rel := range e.plan.Collection(ev.Key.Collection).Relations {
		for _, id := range rel.Targets(t) {
			e.newLinks[sqlite.Link{Relation: rel.FullName(), Target: id}]++
		}
	}
	return nil
}

// event counts what one event can reach.
func (e *fanoutEstimate) event(ev *fanfold.Event) error {
	c := e.plan.Collection(ev.Key.Collection)
	if err := e.copies(c, ev.Key.ID, nil); err != nil || len(c.Counters) == 0 {
		return err
	}
	old, err := e.s.Row(ev.Key)
	if err != nil {
		return err
	}
	var views []*jsondoc.Tree
	if old != nil {
		views = append(views, jsondoc.MustParse(old.Source()))
	}
	if t := written(ev, old); t != nil {
		views = append(views, t)
	}
	for _, rule := range c.Counters {
		if err := e.targets(rule, views...); err != nil {
			return err
		}
	}
	return nil
}

// targets assumes that a rule's value changes on all documents that these views refer to.
func (e *fanoutEstimate) targets(rule *fold.Rule, views ...*jsondoc.Tree) error {
	ids := map[string]bool{}
	for _, t := range views {
		for _, id := range rule.Relation.Targets(t) {
			ids[id] = true
		}
	}
	if err := e.spend(int64(len(ids))); err != nil {
		return err
	}
	c := e.plan.Collection(rule.Collection)
	changed := rule.TopMembers()
	if !c.AffectsOthers(changed) {
		return nil
	}
	for id := range ids {
		row, err := e.s.Row(fanfold.Key{Collection: rule.Collection, ID: id})
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		if err := e.document(c, row, changed); err != nil {
			return err
		}
	}
	return nil
}

// document follows a derived change of one document.
func (e *fanoutEstimate) document(c *fold.Collection, row *sqlite.Row, changed map[string]bool) error {
	if err := e.copies(c, row.Key.ID, changed); err != nil {
		return err
	}
	for _, rule := range c.Counters {
		if rule.Kind != fanfold.Recent || !rule.ReadsAny(changed) {
			continue
		}
		if err := e.targets(rule, jsondoc.MustParse(row.Source())); err != nil {
			return err
		}
	}
	return nil
}

// copies assumes that every copy of a document's changed members changes; nil are all members.
func (e *fanoutEstimate) copies(c *fold.Collection, id string, changed map[string]bool) error {
	for _, rule := range c.Readers {
		if !rule.ReadsAny(changed) {
			continue
		}
		if err := e.holders(rule, id); err != nil {
			return err
		}
	}
	return nil
}

// holders assumes that a copy rule's value changes on all documents that refer to a target.
func (e *fanoutEstimate) holders(rule *fold.Rule, id string) error {
	c := e.plan.Collection(rule.Collection)
	members := rule.TopMembers()
	leadsOn := c.AffectsOthers(members)
	if n := e.newLinks[sqlite.Link{Relation: rule.RelationName, Target: id}]; n > 0 {
		if leadsOn { // what they lead to is not there to be looked at
			return errLimitReached
		}
		if err := e.spend(n); err != nil {
			return err
		}
	}
	if !leadsOn {
		n, err := e.s.CountHolders(rule.RelationName, id, e.left+1)
		if err != nil {
			return err
		}
		return e.spend(n)
	}
	return e.s.EachHolder(rule.RelationName, id, func(row *sqlite.Row) error {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		if err := e.spend(1); err != nil {
			return err
		}
		return e.document(c, row, maps.Clone(members))
	})
}
