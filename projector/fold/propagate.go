package fold

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
	marked  bool                            // something is left to do
	targets map[*Rule]map[string]oldValue   // copies: the targets that changed
	counted map[*Rule]map[string]membership // counts, lists and aggregates: the parents they changed on
	capture map[*Rule]bool                  // frozen copies to take, on the document written to
	every   map[*Rule]bool                  // rules to compute on every document: a new model's
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

func resetMap[V any](all map[*Rule]map[string]V, r *Rule, inner map[string]V) {
	if len(inner) > 64 {
		delete(all, r)
		return
	}
	clear(inner)
}

// markCounters notes what a document's change from before to after alters on those it refers to,
// given the ids it held and holds.
func (f *Fold) markCounters(c *Collection, r *fanfold.Relation, row *sqlite.Row, was, is []string, before, after *jsondoc.Tree) error {
	for _, rule := range c.Counters {
		if rule.Relation != r {
			continue
		}
		if rule.Kind != fanfold.Count && rule.Kind != fanfold.IDs {
			if err := f.updateEntries(rule, row.Key, row.Number, was, is, before, after); err != nil {
				return err
			}
			continue
		}
		counted := len(was) > 0 && rule.Includes(before, row.Key, nil)
		counts := len(is) > 0 && rule.Includes(after, row.Key, f.opt.Reporter)
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

func (f *Fold) markCounter(rule *Rule, key fanfold.Key, parent string, before, after bool) {
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

func (f *Fold) markCounted(rule *Rule, parent string, m membership) {
	l := f.levels[rule.Level]
	l.marked = true
	if l.counted == nil {
		l.counted = map[*Rule]map[string]membership{}
	}
	if l.counted[rule] == nil {
		l.counted[rule] = map[string]membership{}
	}
	l.counted[rule][parent] = m
}

// markReaders marks every copy of a document that was written (after) or deleted (after nil).
func (f *Fold) markReaders(c *Collection, key fanfold.Key, old *sqlite.Row, after []byte) error {
	for _, r := range c.Readers {
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
func (f *Fold) keep(r *Rule, key fanfold.Key, before, after []byte) (done bool, err error) {
	switch {
	case after == nil:
		f.cache.drop(r, key.ID)
		if raw := r.Evaluate(before, key.ID, nil); raw != nil {
			return true, f.tx.KeepOnHolders(r.FullName, r.RelationName, key.ID, raw)
		}
		return true, nil
	case before == nil:
		return false, f.tx.ForgetKept(r.FullName, key.ID, 0)
	}
	return false, nil
}

// mark notes that a copy rule may give another value for a target than it did before the
// event. changed are the members that differ, nil for any.
func (f *Fold) mark(r *Rule, target fanfold.Key, before []byte, changed map[string]bool) error {
	f.cache.drop(r, target.ID)
	if !r.ReadsAny(changed) {
		return nil
	}
	l := f.levels[r.Level]
	if l.every[r] {
		return nil
	}
	if _, marked := l.targets[r][target.ID]; marked {
		return nil
	}
	held, err := f.tx.HasHolders(r.RelationName, target.ID)
	if err != nil || !held {
		return err
	}
	var old oldValue
	if before != nil {
		old = oldValue{raw: bytes.Clone(r.Evaluate(before, target.ID, nil)), known: true}
	}
	l.marked = true
	if l.targets == nil {
		l.targets = map[*Rule]map[string]oldValue{}
	}
	if l.targets[r] == nil {
		l.targets[r] = map[string]oldValue{}
	}
	l.targets[r][target.ID] = old
	return nil
}

// propagate works off the levels and writes the changes they cause.
func (f *Fold) propagate() error {
	for _, l := range f.levels {
		if l.empty() {
			continue
		}
		if err := f.dropUnchangedTargets(l); err != nil {
			return err
		}
		done, err := f.foldSetOriented(l)
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
		if err := f.tx.Each(numbers, func(row *sqlite.Row) error { return errors.Join(f.update(row, l), f.reportStep()) }); err != nil {
			return err
		}
		l.reset()
	}
	return f.flushChanged()
}

// settle drops targets whose value turned out the same.
func (f *Fold) dropUnchangedTargets(l *level) error {
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
				raw = r.Evaluate(body, id, f.opt.Reporter)
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
func (f *Fold) affected(l *level) ([]int64, error) {
	var numbers []int64
	var err error
	for r, ids := range l.targets {
		for id := range ids {
			if numbers, err = f.tx.Holders(numbers, r.RelationName, id, -1); err != nil {
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
func (f *Fold) update(row *sqlite.Row, l *level) error {
	c := f.plan.Collection(row.Key.Collection)
	v := &changedValues{f: f, row: row, work: l}
	old := &f.view
	old.Reset(row.Body)
	if err := f.captureFrozen(c, row, l, old); err != nil {
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
		if body, err = f.plan.Embed(c, v, jsondoc.MustParse(row.Source()), old); err != nil {
			return err
		}
		d = Diff(c.Name, c.Shape, old, jsondoc.MustParse(body))
	}
	return f.applyDerived(c, row, body, d)
}

// finish writes a derived change of one document and marks who copies from it.
func (f *Fold) applyDerived(c *Collection, row *sqlite.Row, body []byte, d *Difference) error {
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
	for _, r := range c.Readers {
		if err := f.mark(r, row.Key, row.Body, d.members); err != nil {
			return err
		}
	}
	f.markShown(c, body, d.members)
	return nil
}

// manyLevels tells whether one event can change a document's derived values at several levels.
func (c *Collection) manyLevels() bool {
	return len(c.Rules) > 1 && c.Rules[0].Level != c.Rules[len(c.Rules)-1].Level
}

// derive writes the change row of a derived change.
func (f *Fold) derive(row *sqlite.Row, d *Difference) (fanfold.Position, error) {
	at, err := f.position()
	if err != nil {
		return 0, err
	}
	f.countDerived(row.Key.Collection, d.Rules, 1)
	return at, f.change(row.Number, &fanfold.Change{Position: at, Prior: row.Position, Key: row.Key, Op: fanfold.OpDerive,
		Revision: row.Revision, Time: f.now, Tx: f.event.Tx.ID, Rules: d.Rules, Delta: d.Patch()})
}

// caused counts derived changes.
func (f *Fold) countDerived(collection string, rules []string, n int64) {
	f.causes += n
	out := f.opt.Fanout
	if out == nil {
		return
	}
	out.Derived += n
	out.Collections[collection] += n
	for _, rule := range rules {
		out.Rules[rule] += n
	}
}

const pageRows = 512

// flushRemembered writes one change for each document that several levels, or a new model,
// changed.
func (f *Fold) flushChanged() error {
	for after := int64(0); ; {
		type before struct {
			number int64
			body   []byte
		}
		var some []before
		if err := f.tx.EachBefore(after, pageRows, func(number int64, body []byte) error {
			some = append(some, before{number, body})
			return nil
		}); err != nil {
			return err
		}
		if len(some) == 0 {
			return f.tx.ClearBefore()
		}
		for _, b := range some {
			if err := errors.Join(f.flush(b.number, b.body), f.reportStep()); err != nil {
				return err
			}
			after = b.number
		}
	}
}

func (f *Fold) flush(number int64, before []byte) error {
	row, err := f.tx.ByNumber(number)
	if err != nil || row == nil || bytes.Equal(row.Body, before) {
		return err
	}
	shape := f.plan.Collection(row.Key.Collection).Shape
	if f.modelChange != nil {
		shape = f.modelChange.ShapeOf(row.Key.Collection)
	}
	d := DiffChanged(row.Key.Collection, shape, before, row.Body)
	if f.modelChange != nil && f.preparing != nil {
		return f.tx.SetPendingChange(row, row.Position, d.Rules, d.Patch())
	}
	at, err := f.derive(row, d)
	if err != nil {
		return err
	}
	return f.tx.SetBody(number, at, row.Body)
}
