package projector

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// errDry rolls a dry run back.
var errDry = errors.New("a dry run")

// DryRun folds events as if they were the log's next ones, tells what they cause, and rolls
// everything back. Folding waits for that long, readers do not. Patches go by the documents as they
// are: NotFound where there is none, Conflict where a patch does not fit; FanoutLimit where an event
// causes more changes than one may have.
func (p *Projector) DryRun(ctx context.Context, events []*fanfold.Event) (*fanfold.Fanout, error) {
	p.folding.Lock()
	defer p.folding.Unlock()
	out := &fanfold.Fanout{Rules: map[string]int64{}, Collections: map[string]int64{}}
	err := p.store.Use(func(db *sqlite.DB) error {
		f := p.newFold(p.plan.Load(), nil)
		f.fanout = out
		return db.Update(func(tx *sqlite.Tx) error {
			cp := tx.Checkpoint()
			out.Position = cp.At()
			for i, given := range events {
				if err := ctx.Err(); err != nil {
					return err
				}
				ev := *given
				ev.Seq, ev.Time, ev.Tx, ev.IdempotencyKey = cp.Seq+1+uint64(i), cp.Time, fanfold.TxPart{}, fanfold.IdempotencyKey{}
				if err := f.rehearse(tx, &ev); err != nil {
					return err
				}
			}
			return errDry
		})
	})
	if errors.Is(err, errDry) {
		return out, nil
	}
	return nil, err
}

// rehearse folds one event of a dry run.
func (f *fold) rehearse(tx *sqlite.Tx, ev *fanfold.Event) error {
	if ev.Kind == fanfold.KindPatch {
		row, err := tx.Get(ev.Key)
		switch {
		case err != nil:
			return err
		case row == nil:
			return fanfold.Errorf(fanfold.NotFound, "there is no document %s", ev.Key)
		}
		ev.Base = row.Revision
		if _, err := ev.Patched(row.Source()); err != nil {
			return fanfold.Errorf(fanfold.Conflict, "the patch does not fit the document as it is: %v", err)
		}
	}
	err := f.apply(tx, ev)
	if f.n > fanfold.MaxChanges {
		return fanfold.Wrap(err, fanfold.FanoutLimit, "the write of %s would cause more than %d changes, which is as many as one can have", ev.Key, fanfold.MaxChanges)
	}
	return err
}

// Reaches tells whether the events may cause more than limit derived changes together, from the
// links alone: it takes every value that an event can reach for changed. It is much cheaper than a
// dry run, and does nothing where no rule leads away from the documents.
func (p *Projector) Reaches(events []*fanfold.Event, limit int64) (more bool, err error) {
	pl := p.plan.Load()
	if !slices.ContainsFunc(events, func(ev *fanfold.Event) bool { return pl.collection(ev.Key.Collection).fansOut }) {
		return int64(len(events))*maxParents > limit && slices.ContainsFunc(events, func(ev *fanfold.Event) bool { return len(pl.collection(ev.Key.Collection).counters) > 0 }), nil
	}
	err = p.store.Read(func(s *sqlite.Snapshot) error {
		r := &reach{s: s, plan: pl, left: limit, links: map[sqlite.Link]int64{}}
		own := events
		if len(events) == 1 {
			own = nil
		}
		for _, ev := range own { // links that a transaction makes itself
			if err := r.link(ev); err != nil {
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
	if errors.Is(err, errReached) {
		return true, nil
	}
	return false, err
}

// maxParents is how many documents one that nothing else depends on can change: those that it
// refers to now, or did, by as many relations as anybody has.
const maxParents = 100 * fanfold.MaxRelationIDs

var errReached = errors.New("the limit is reached")

// reach counts documents down.
type reach struct {
	s     *sqlite.Snapshot
	plan  *plan
	left  int64
	links map[sqlite.Link]int64 // that the events make
}

// link counts the links of an event that writes a document.
func (r *reach) link(ev *fanfold.Event) error {
	c := r.plan.collection(ev.Key.Collection)
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
	for _, rel := range c.relations {
		for _, id := range rel.Targets(t) {
			r.links[sqlite.Link{Relation: rel.FullName(), Target: id}]++
		}
	}
	return nil
}

func (r *reach) take(n int64) error {
	if r.left -= n; r.left < 0 {
		return errReached
	}
	return nil
}

func (r *reach) event(ev *fanfold.Event) error {
	c := r.plan.collection(ev.Key.Collection)
	if err := r.copies(c, ev.Key.ID, nil); err != nil || len(c.counters) == 0 {
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
	for _, rule := range c.counters {
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
func (r *reach) parents(rule *rulePlan, ids map[string]bool) error {
	if err := r.take(int64(len(ids))); err != nil {
		return err
	}
	c := r.plan.collection(rule.Collection)
	changed := rule.tops()
	if !c.leads(changed) {
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

// tops are the top-level members in which the rule's values stand.
func (r *rulePlan) tops() map[string]bool {
	tops := map[string]bool{}
	for _, path := range r.Paths() {
		p, _ := fanfold.ParsePath(path)
		tops[p[0].Name] = true
	}
	return tops
}

// leads tells whether a change of these members can change other documents.
func (c *collectionPlan) leads(changed map[string]bool) bool {
	for _, rule := range c.readers {
		if rule.reads(changed) {
			return true
		}
	}
	for _, rule := range c.counters {
		if rule.Kind == fanfold.Recent && rule.reads(changed) {
			return true
		}
	}
	return false
}

// document follows a derived change of one document.
func (r *reach) document(c *collectionPlan, row *sqlite.Row, changed map[string]bool) error {
	if err := r.copies(c, row.Key.ID, changed); err != nil {
		return err
	}
	for _, rule := range c.counters {
		if rule.Kind != fanfold.Recent || !rule.reads(changed) {
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
func (r *reach) copies(c *collectionPlan, id string, changed map[string]bool) error {
	for _, rule := range c.readers {
		if !rule.reads(changed) {
			continue
		}
		holders := r.plan.collection(rule.Collection)
		tops := rule.tops()
		if made := r.links[sqlite.Link{Relation: rule.relation, Target: id}]; made > 0 {
			if holders.leads(tops) { // what they lead to is not there to be looked at
				return errReached
			}
			if err := r.take(made); err != nil {
				return err
			}
		}
		if !holders.leads(tops) {
			n, err := r.s.CountHolders(rule.relation, id, r.left+1)
			if err == nil {
				err = r.take(n)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := r.s.EachHolder(rule.relation, id, func(row *sqlite.Row) error {
			if err := r.take(1); err != nil {
				return err
			}
			return r.document(holders, row, maps.Clone(tops))
		}); err != nil {
			return err
		}
	}
	return nil
}
