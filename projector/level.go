package projector

import (
	"bytes"
	"errors"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// level is what one event leaves to do for the rules of one level. Levels are worked off in
// order, so that whatever a rule reads is final before the rule is computed.
type level struct {
	marked  bool                                // something is left to do
	targets map[*rulePlan]map[string]oldValue   // copies: the targets that changed
	counted map[*rulePlan]map[string]membership // counts, lists and aggregates: the parents they changed on
	capture map[*rulePlan]bool                  // frozen copies to take, on the document written to
	every   map[*rulePlan]bool                  // rules to compute on every document: a new model's
}

// oldValue is what a copy rule gave for a target before the event.
type oldValue struct {
	raw   []byte
	known bool
}

// membership is how a document's place among those counted on a parent changed.
type membership struct {
	delta   int64
	recount bool
}

func (l *level) empty() bool { return !l.marked }

// reset empties the level; its maps are used again unless they have grown large.
func (l *level) reset() {
	l.marked = false
	for r, ids := range l.targets {
		resetMap(l.targets, r, ids)
	}
	for r, parents := range l.counted {
		resetMap(l.counted, r, parents)
	}
	clear(l.capture)
	clear(l.every)
}

func resetMap[V any](all map[*rulePlan]map[string]V, r *rulePlan, inner map[string]V) {
	if len(inner) > 64 {
		delete(all, r)
		return
	}
	clear(inner)
}

// markCounters notes what a document's change from before to after alters on those it refers to,
// given the ids it held and holds.
func (f *fold) markCounters(c *collectionPlan, r *fanfold.Relation, row *sqlite.Row, was, is []string, before, after *jsondoc.Tree) error {
	for _, rule := range c.counters {
		if rule.Relation != r {
			continue
		}
		if rule.Kind != fanfold.Count && rule.Kind != fanfold.IDs {
			if err := f.enter(rule, row.Key, row.Number, was, is, before, after); err != nil {
				return err
			}
			continue
		}
		counted := len(was) > 0 && rule.counts(before, row.Key, nil)
		counts := len(is) > 0 && rule.counts(after, row.Key, f.report)
		for _, id := range was {
			f.markCounter(rule, row.Key, id, counted, counts && contains(is, id))
		}
		for _, id := range is {
			if !contains(was, id) {
				f.markCounter(rule, row.Key, id, false, counts)
			}
		}
	}
	return nil
}

func (f *fold) markCounter(rule *rulePlan, key fanfold.Key, parent string, before, after bool) {
	self := rule.Relation.To == key.Collection && parent == key.ID
	if before == after && !self {
		return
	}
	m := membership{recount: self}
	if after {
		m.delta++
	}
	if before {
		m.delta--
	}
	f.markCounted(rule, parent, m)
}

func (f *fold) markCounted(rule *rulePlan, parent string, m membership) {
	l := f.levels[rule.Level]
	l.marked = true
	if l.counted == nil {
		l.counted = map[*rulePlan]map[string]membership{}
	}
	if l.counted[rule] == nil {
		l.counted[rule] = map[string]membership{}
	}
	l.counted[rule][parent] = m
}

// markReaders marks every copy of a document that was written (after) or deleted (after nil).
func (f *fold) markReaders(c *collectionPlan, key fanfold.Key, old *sqlite.Row, after []byte) error {
	for _, r := range c.readers {
		var before []byte
		if old != nil {
			before = old.Body
		}
		if r.Relation.OnDelete == fanfold.Keep {
			done, err := f.keep(r, key, before, after)
			if err != nil {
				return err
			}
			if done {
				continue
			}
		}
		if err := f.mark(r, key, before, nil); err != nil {
			return err
		}
	}
	return nil
}

// keep leaves a deleted document's values on their holders, and takes them back when it
// returns; done tells that the holders need no more.
func (f *fold) keep(r *rulePlan, key fanfold.Key, before, after []byte) (done bool, err error) {
	switch {
	case after == nil:
		f.cache.drop(r, key.ID)
		if raw := r.evaluate(before, key.ID, nil); raw != nil {
			return true, f.tx.KeepOnHolders(r.name, r.relation, key.ID, raw)
		}
		return true, nil
	case before == nil:
		return false, f.tx.ForgetKept(r.name, key.ID, 0)
	}
	return false, nil
}

// mark notes that a copy rule may give another value for a target than it did before the
// event. changed are the members that differ, nil for any.
func (f *fold) mark(r *rulePlan, target fanfold.Key, before []byte, changed map[string]bool) error {
	f.cache.drop(r, target.ID)
	if !r.reads(changed) {
		return nil
	}
	l := f.levels[r.Level]
	if l.every[r] {
		return nil
	}
	if _, marked := l.targets[r][target.ID]; marked {
		return nil
	}
	held, err := f.tx.HasHolders(r.relation, target.ID)
	if err != nil || !held {
		return err
	}
	var old oldValue
	if before != nil {
		old = oldValue{raw: bytes.Clone(r.evaluate(before, target.ID, nil)), known: true}
	}
	l.marked = true
	if l.targets == nil {
		l.targets = map[*rulePlan]map[string]oldValue{}
	}
	if l.targets[r] == nil {
		l.targets[r] = map[string]oldValue{}
	}
	l.targets[r][target.ID] = old
	return nil
}

// propagate works off the levels and writes the changes they cause.
func (f *fold) propagate() error {
	for _, l := range f.levels {
		if l.empty() {
			continue
		}
		if err := f.settle(l); err != nil {
			return err
		}
		done, err := f.together(l)
		if err != nil {
			return err
		}
		if done {
			l.reset()
			continue
		}
		numbers, err := f.affected(l)
		if err != nil {
			return err
		}
		if err := f.tx.Each(numbers, func(row *sqlite.Row) error { return errors.Join(f.update(row, l), f.stepped()) }); err != nil {
			return err
		}
		l.reset()
	}
	return f.flushRemembered()
}

// settle drops targets whose value turned out the same.
func (f *fold) settle(l *level) error {
	for r, ids := range l.targets {
		for id, old := range ids {
			if !old.known {
				continue
			}
			body, err := f.body(fanfold.Key{Collection: r.Relation.To, ID: id})
			if err != nil {
				return err
			}
			var raw []byte
			if body != nil {
				raw = r.evaluate(body, id, f.report)
				f.cache.put(r, id, raw)
			}
			if bytes.Equal(raw, old.raw) && (raw == nil) == (old.raw == nil) {
				delete(ids, id)
			}
		}
		if len(ids) == 0 {
			delete(l.targets, r)
		}
	}
	return nil
}

// affected are the numbers of the documents a level may change, in order.
func (f *fold) affected(l *level) ([]int64, error) {
	var numbers []int64
	var err error
	for r, ids := range l.targets {
		for id := range ids {
			if numbers, err = f.tx.Holders(numbers, r.relation, id, -1); err != nil {
				return nil, err
			}
		}
	}
	for r, ids := range l.counted {
		for id := range ids {
			n, err := f.tx.NumberOf(fanfold.Key{Collection: r.Collection, ID: id})
			if err != nil {
				return nil, err
			}
			if n != 0 {
				numbers = append(numbers, n)
			}
		}
	}
	if len(l.capture) > 0 {
		numbers = append(numbers, f.direct)
	}
	seen := map[string]bool{}
	for r := range l.every {
		if !seen[r.Collection] {
			seen[r.Collection] = true
			all, err := f.tx.Numbers(r.Collection, 0, -1)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, all...)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// update brings one document up to a level.
func (f *fold) update(row *sqlite.Row, l *level) error {
	c := f.plan.collection(row.Key.Collection)
	v := &updated{f: f, row: row, work: l}
	old := &f.view
	old.Reset(row.Body)
	if err := f.take(c, row, l, old); err != nil {
		return err
	}
	body, d, fits, err := f.splicer.splice(f.plan, c, v, old)
	if err != nil {
		return err
	}
	if !fits {
		if row.Stored, err = f.tx.Stored(row.Number); err != nil {
			return err
		}
		if body, err = f.plan.embed(c, v, jsondoc.MustParse(row.Source()), old); err != nil {
			return err
		}
		d = diff(c.name, c.shape, old, jsondoc.MustParse(body))
	}
	return f.finish(c, row, body, d)
}

// finish writes a derived change of one document and marks who copies from it.
func (f *fold) finish(c *collectionPlan, row *sqlite.Row, body []byte, d *difference) error {
	if len(d.ops) == 0 {
		return nil
	}
	at := row.Position
	switch {
	case row.Number == f.direct: // its own change is already there
	case c.manyLevels() || f.event.Kind == fanfold.KindModel:
		if err := f.tx.SaveBefore(row); err != nil {
			return err
		}
	default:
		var err error
		if at, err = f.derive(row, d); err != nil {
			return err
		}
	}
	if err := f.tx.SetBody(row.Number, at, body); err != nil {
		return err
	}
	for _, r := range c.readers {
		if err := f.mark(r, row.Key, row.Body, d.changed); err != nil {
			return err
		}
	}
	f.markShown(c, body, d.changed)
	return nil
}

// manyLevels tells whether one event can change a document's derived values at several levels.
func (c *collectionPlan) manyLevels() bool {
	return len(c.rules) > 1 && c.rules[0].Level != c.rules[len(c.rules)-1].Level
}

// derive writes the change row of a derived change.
func (f *fold) derive(row *sqlite.Row, d *difference) (fanfold.Position, error) {
	at, err := f.position()
	if err != nil {
		return 0, err
	}
	f.caused(row.Key.Collection, d.rules, 1)
	return at, f.change(row.Number, &fanfold.Change{Position: at, Prior: row.Position, Key: row.Key, Op: fanfold.OpDerive,
		Revision: row.Revision, Time: f.now, Tx: f.event.Tx.ID, Rules: d.rules, Delta: d.patch()})
}

// caused counts derived changes.
func (f *fold) caused(collection string, rules []string, n int64) {
	f.causes += n
	if f.fanout == nil {
		return
	}
	f.fanout.Derived += n
	f.fanout.Collections[collection] += n
	for _, rule := range rules {
		f.fanout.Rules[rule] += n
	}
}

const page = 512

// flushRemembered writes one change for each document that several levels, or a new model,
// changed.
func (f *fold) flushRemembered() error {
	for after := int64(0); ; {
		type before struct {
			number int64
			body   []byte
		}
		var some []before
		if err := f.tx.EachBefore(after, page, func(number int64, body []byte) error {
			some = append(some, before{number, body})
			return nil
		}); err != nil {
			return err
		}
		if len(some) == 0 {
			return f.tx.ClearBefore()
		}
		for _, b := range some {
			if err := errors.Join(f.flush(b.number, b.body), f.stepped()); err != nil {
				return err
			}
			after = b.number
		}
	}
}

// changed is how a document changed, which it did.
func changed(collection string, shape *fanfold.Shape, before, after []byte) *difference {
	d := diff(collection, shape, jsondoc.MustParse(before), jsondoc.MustParse(after))
	if len(d.ops) == 0 {
		d.add("replace", "", collection, after, before) // a member that was hidden shows again
	}
	return d
}

func (f *fold) flush(number int64, before []byte) error {
	row, err := f.tx.ByNumber(number)
	if err != nil || row == nil || bytes.Equal(row.Body, before) {
		return err
	}
	shape := f.plan.collection(row.Key.Collection).shape
	if f.remodel != nil {
		shape = f.remodel.shape(row.Key.Collection)
	}
	d := changed(row.Key.Collection, shape, before, row.Body)
	if f.remodel != nil && f.beside != nil {
		return f.tx.SetPendingChange(row, row.Position, d.rules, d.patch())
	}
	at, err := f.derive(row, d)
	if err != nil {
		return err
	}
	return f.tx.SetBody(number, at, row.Body)
}
