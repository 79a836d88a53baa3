package inspect

import (
	"errors"
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// MayExceed tells whether the events may cause more than limit derived changes together, from the
// links alone: it takes every value that an event can reach for changed. It is much cheaper than a
// dry run, and does nothing where no rule leads away from the documents.
func (i *Inspector) MayExceed(events []*fanfold.Event, limit int64) (more bool, err error) {
	pl := i.projector.Plan()
	fansOut := func(ev *fanfold.Event) bool { return pl.Collection(ev.Key.Collection).FansOut }
	if !slices.ContainsFunc(events, fansOut) && int64(len(events))*maxParents <= limit {
		return false, nil // each changes the documents that it refers to, and nothing follows from that
	}
	err = i.store.Read(func(s *sqlite.Snapshot) error {
		r := &fanoutEstimate{s: s, plan: pl, left: limit, links: map[sqlite.Link]int64{}}
		own := events
		if len(events) == 1 {
			own = nil
		}
		for _, ev := range own { // links that a transaction makes itself
			if err := r.countLinks(ev); err != nil {
				return err
			}
		}
		for _, ev := range events {
			if err := r.event(ev); err != nil {
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

// maxParents is how many documents one that nothing else depends on can change: those that it
// refers to now, or did, by as many relations as anybody has.
const maxParents = 100 * fanfold.MaxRelationIDs

var errLimitReached = errors.New("the limit is reached")

// reach counts documents down.
type fanoutEstimate struct {
	s     *sqlite.Snapshot
	plan  *fold.Plan
	left  int64
	links map[sqlite.Link]int64 // that the events make
}

// link counts the links of an event that writes a document.
func (r *fanoutEstimate) countLinks(ev *fanfold.Event) error {
	c := r.plan.Collection(ev.Key.Collection)
	var t *jsondoc.Tree
	switch ev.Kind {
	case fanfold.KindPut:
		t = jsondoc.MustParse(ev.Body)
	case fanfold.KindPatch:
		row, err := r.s.Row(ev.Key)
		if err != nil || row == nil {
			return err
		}
		body, err := ev.Patched(row.Source())
		if err != nil {
			return nil //nolint:nilerr // the append will tell
		}
		t = jsondoc.MustParse(body)
	default:
		return nil
	}
	for _, rel := range c.Relations {
		for _, id := range rel.Targets(t) {
			r.links[sqlite.Link{Relation: rel.FullName(), Target: id}]++
		}
	}
	return nil
}

func (r *fanoutEstimate) spend(n int64) error {
	if r.left -= n; r.left < 0 {
		return errLimitReached
	}
	return nil
}

func (r *fanoutEstimate) event(ev *fanfold.Event) error {
	c := r.plan.Collection(ev.Key.Collection)
	if err := r.copies(c, ev.Key.ID, nil); err != nil || len(c.Counters) == 0 {
		return err
	}
	old, err := r.s.Row(ev.Key)
	if err != nil {
		return err
	}
	trees := []*jsondoc.Tree{}
	if old != nil {
		trees = append(trees, jsondoc.MustParse(old.Source()))
	}
	switch ev.Kind {
	case fanfold.KindPut:
		trees = append(trees, jsondoc.MustParse(ev.Body))
	case fanfold.KindPatch:
		if old != nil {
			if body, err := ev.Patched(old.Source()); err == nil {
				trees = append(trees, jsondoc.MustParse(body))
			}
		}
	}
	for _, rule := range c.Counters {
		ids := map[string]bool{}
		for _, t := range trees {
			for _, id := range rule.Relation.Targets(t) {
				ids[id] = true
			}
		}
		if err := r.parents(rule, ids); err != nil {
			return err
		}
	}
	return nil
}

// parents takes a rule's value on these documents for changed.
func (r *fanoutEstimate) parents(rule *fold.Rule, ids map[string]bool) error {
	if err := r.spend(int64(len(ids))); err != nil {
		return err
	}
	c := r.plan.Collection(rule.Collection)
	changed := rule.TopMembers()
	if !c.AffectsOthers(changed) {
		return nil
	}
	for id := range ids {
		row, err := r.s.Row(fanfold.Key{Collection: rule.Collection, ID: id})
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		if err := r.document(c, row, changed); err != nil {
			return err
		}
	}
	return nil
}

// document follows a derived change of one document.
func (r *fanoutEstimate) document(c *fold.Collection, row *sqlite.Row, changed map[string]bool) error {
	if err := r.copies(c, row.Key.ID, changed); err != nil {
		return err
	}
	for _, rule := range c.Counters {
		if rule.Kind != fanfold.Recent || !rule.ReadsAny(changed) {
			continue
		}
		ids := map[string]bool{}
		for _, id := range rule.Relation.Targets(jsondoc.MustParse(row.Source())) {
			ids[id] = true
		}
		if err := r.parents(rule, ids); err != nil {
			return err
		}
	}
	return nil
}

// copies takes every copy of a document's changed members for changed; nil are all members.
func (r *fanoutEstimate) copies(c *fold.Collection, id string, changed map[string]bool) error {
	for _, rule := range c.Readers {
		if !rule.ReadsAny(changed) {
			continue
		}
		holders := r.plan.Collection(rule.Collection)
		tops := rule.TopMembers()
		if made := r.links[sqlite.Link{Relation: rule.RelationName, Target: id}]; made > 0 {
			if holders.AffectsOthers(tops) { // what they lead to is not there to be looked at
				return errLimitReached
			}
			if err := r.spend(made); err != nil {
				return err
			}
		}
		if !holders.AffectsOthers(tops) {
			n, err := r.s.CountHolders(rule.RelationName, id, r.left+1)
			if err == nil {
				err = r.spend(n)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := r.s.EachHolder(rule.RelationName, id, func(row *sqlite.Row) error {
			if err := r.spend(1); err != nil {
				return err
			}
			return r.document(holders, row, maps.Clone(tops))
		}); err != nil {
			return err
		}
	}
	return nil
}
