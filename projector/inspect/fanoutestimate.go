package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// MayExceed returns whether the events may cause more than limit derived changes together. It is never false of events
// that do, as far as this node has folded. It asks the cheapest first: how many documents there can be. A rehearsal of
// the fold follows, which stops at values that stay. Only if that changes many documents does it ask the links, and
// takes every value that an event can reach for changed. The error is the read model's, or ctx's.
func (i *Inspector) MayExceed(ctx context.Context, events []*fanfold.Event, limit int64) (more bool, err error) {
	pl := i.projector.Plan()
	fansOut := func(ev *fanfold.Event) bool { return pl.Collection(ev.Key.Collection).FansOut }
	count := int64(len(events))
	if !slices.ContainsFunc(events, fansOut) && count*maxReferenced <= limit {
		return false, nil // each changes the documents that it refers to, and nothing follows from that
	}
	err = i.store.Read(func(s *sqlite.Snapshot) error {
		defer func() { i.rowsRead.Add(int64(s.RowsRead())) }()
		if documents := int64(s.Checkpoint.Seq) + count; documents <= limit/count {
			return nil // an event changes each document once, and each was made by an event
		}
		each := &eachEstimate{ctx: ctx}
		each.moveTo(s, pl)
		derived, err := each.of(events...)
		switch {
		case err == nil && derived > limit:
			return errLimitReached
		case err == nil || ctx.Err() != nil:
			return err
		}
		return estimate(ctx, s, pl, events, limit)
	})
	if errors.Is(err, errLimitReached) {
		return true, nil
	}
	return false, err
}

// Bounds of the cheaper ways of MayExceed.
const (
	maxRehearsed      = 256 // documents that an event changes
	maxRehearsedBytes = 16 << 20
	maxCounted        = 1000 // up to as many holders are counted before they are looked at
)

// estimate returns errLimitReached where events can reach more than limit derived changes by the links. It assumes that
// every value that they can reach changes.
func estimate(ctx context.Context, s *sqlite.Snapshot, pl *fold.Plan, events []*fanfold.Event, limit int64) error {
	e := &fanoutEstimate{ctx: ctx, s: s, plan: pl, left: limit, newLinks: map[sqlite.Link]int64{}, seen: map[visit]bool{}}
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
}

// maxReferenced is how many documents can change with one that nothing else depends on: those that it refers to now,
// or did, by as many relations as anybody has.
const maxReferenced = 100 * model.MaxRelationIDs

// errLimitReached ends an estimate that has reached its limit.
var errLimitReached = errors.New("the limit is reached")

// fanoutEstimate counts the documents that events can reach.
type fanoutEstimate struct {
	ctx      context.Context
	s        *sqlite.Snapshot
	plan     *fold.Plan
	left     int64                 // derived changes until the limit
	newLinks map[sqlite.Link]int64 // that the events make
	seen     map[visit]bool        // changes that the event being counted was followed to
}

// visit is a derived change of a document: of the values of a rule.
type visit struct {
	number int64
	rule   *fold.Rule
}

// maxSeen is how many changes are remembered. One that is counted again makes the estimate higher than it need be.
const maxSeen = 100_000

// first returns whether an event is followed to a change for the first time. Rules can lead to one document in many ways:
// by two rules from each to the next in two to the power of how many there are.
func (e *fanoutEstimate) first(v visit) bool {
	if e.seen[v] {
		return false
	}
	if len(e.seen) >= maxSeen {
		clear(e.seen)
	}
	e.seen[v] = true
	return true
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
		if body, err := jsondoc.Patched(old.ReferencedText(), ev.Body, ev.Merges()); err == nil {
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
		if rel.Derived() { // where an event may change such links there is no estimate
			continue
		}
		for _, id := range rel.Targets(t) {
			e.newLinks[sqlite.Link{Relation: rel.FullName(), Target: id}]++
		}
	}
	return nil
}

// event counts what one event can reach.
func (e *fanoutEstimate) event(ev *fanfold.Event) error {
	clear(e.seen)
	c := e.plan.Collection(ev.Key.Collection)
	if c.Relinks(nil) { // to what, only the fold knows
		return errLimitReached
	}
	if err := e.copies(c, ev.Key.ID, nil); err != nil || len(c.Counters) == 0 {
		return err
	}
	old, err := e.s.Row(ev.Key)
	if err != nil {
		return err
	}
	var views []*jsondoc.Tree
	if old != nil {
		views = append(views, jsondoc.MustParse(old.ReferencedText()))
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
	changed := e.plan.Alters(rule)
	if !c.AffectsOthers(changed) {
		return nil
	}
	for id := range ids {
		number, err := e.s.NumberOf(fanfold.Key{Collection: rule.Collection, ID: id})
		if err != nil {
			return err
		}
		if number == 0 || !e.first(visit{number, rule}) {
			continue
		}
		if err := e.document(c, number, id, changed); err != nil {
			return err
		}
	}
	return nil
}

// document follows a derived change of one document.
func (e *fanoutEstimate) document(c *fold.Collection, number int64, id string, changed map[string]bool) error {
	if c.Relinks(changed) { // to what, only the fold knows
		return errLimitReached
	}
	if err := errors.Join(e.ctx.Err(), e.copies(c, id, changed)); err != nil {
		return err
	}
	for _, rule := range c.Counters {
		if !rule.ReadsHolderMembers(changed) {
			continue
		}
		row, err := e.s.RowByNumber(number)
		if err != nil {
			return err
		}
		view := row.Body
		if !rule.Relation.Derived() {
			view = row.ReferencedText()
		}
		if err := e.targets(rule, jsondoc.MustParse(view)); err != nil {
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
	members := e.plan.Alters(rule)
	leadsOn := c.AffectsOthers(members)
	if n := e.newLinks[sqlite.Link{Relation: rule.RelationName, Target: id}]; n > 0 {
		if leadsOn { // what they lead to is not there to be looked at
			return errLimitReached
		}
		if err := e.spend(n); err != nil {
			return err
		}
	}
	if !leadsOn || e.left <= maxCounted { // few enough are counted before they are looked at
		n, err := e.s.CountHolders(rule.RelationName, id, e.left+1)
		if err != nil || !leadsOn {
			return cmp.Or(err, e.spend(n))
		}
		if n > e.left {
			return errLimitReached
		}
	}
	return e.s.EachHolder(rule.RelationName, id, func(number int64, id string) error {
		if !e.first(visit{number, rule}) {
			return nil
		}
		if err := e.spend(1); err != nil {
			return err
		}
		return e.document(c, number, id, members)
	})
}
