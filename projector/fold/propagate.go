package fold

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// level collects what one event leaves to do for the rules of one level. Levels are worked off in order, so that
// whatever a rule reads is final before the rule is computed.
type level struct {
	number    int
	marked    bool                                      // something is left to do
	targets   map[*Rule]map[string]oldValue             // copies: the targets that changed
	counted   map[*Rule]map[string]membership           // counts, lists and aggregates: the documents on which they changed
	freeze    map[*Rule]bool                            // frozen copies to take, on the document written to
	recompute map[*Rule]bool                            // rules to compute on every document: a new model's
	refit     map[int64]bool                            // documents, by number, that have no room for all their values
	own       map[int64]bool                            // documents, by number, whose own-view rules may change
	entering  map[*Rule]map[int64]entryBefore           // rules that look at derived members: what documents, by number, entered before
	relinking map[*model.Relation]map[int64]formerLinks // relations over derived ids: what documents, by number, referred to before
	relinkAll map[string]bool                           // such relations, by full name, that need all links: a new model's
}

// oldValue is what a copy rule gave for a target before the event. Of a long value there is a digest only, because an
// event may change a million targets.
type oldValue struct {
	raw    []byte // nil for no value, and for a long one
	digest [sha256.Size]byte
	long   bool
	known  bool
}

// newOldValue returns raw as the value before the event; nil is "no value".
func newOldValue(raw []byte) oldValue {
	if len(raw) > sqlite.MaxShallow {
		return oldValue{digest: sha256.Sum256(raw), long: true, known: true}
	}
	return oldValue{raw: bytes.Clone(raw), known: true}
}

// equals returns whether the value is known, and is raw.
func (o oldValue) equals(raw []byte) bool {
	if o.long {
		return len(raw) > sqlite.MaxShallow && sha256.Sum256(raw) == o.digest
	}
	return o.known && bytes.Equal(raw, o.raw) && (raw == nil) == (o.raw == nil)
}

// membership says how a document's place among those counted on a target changed.
type membership struct {
	delta   int64
	recount bool   // the value is made from the links or entries again
	newest  bool   // of a Recent by creation: all that happened is that the document which the event creates came into it
	entered []byte // of a Min or Max: all that happened is that this sort key came into it
}

// marks notes what an event leaves to do on the levels that follow.
type marks struct {
	*folding

	holders *knownHolders
	values  *values
	keeper  *keeper
	unmoved []unmovedEntry // of the document that the event writes to
}

// empty returns whether nothing is left to do.
func (l *level) empty() bool { return !l.marked }

// markFreeze marks a frozen copy to take on the document written to.
func (l *level) markFreeze(rule *Rule) {
	if l.freeze == nil {
		l.freeze = map[*Rule]bool{}
	}
	l.freeze[rule], l.marked = true, true
}

// markRecompute marks a rule to compute on every document.
func (l *level) markRecompute(rule *Rule) {
	if l.recompute == nil {
		l.recompute = map[*Rule]bool{}
	}
	l.recompute[rule], l.marked = true, true
}

// reset empties the level; its maps are used again unless they have grown large.
func (l *level) reset() {
	l.marked = false
	for r, ids := range l.targets {
		resetMap(l.targets, r, ids)
	}
	for r, ids := range l.counted {
		resetMap(l.counted, r, ids)
	}
	clear(l.freeze)
	clear(l.recompute)
	clear(l.refit)
	clear(l.own)
	clear(l.entering)
	clear(l.relinking)
	clear(l.relinkAll)
}

// resetMap empties the inner map of a rule, or drops it where it has grown large.
func resetMap[V any](all map[*Rule]map[string]V, r *Rule, inner map[string]V) {
	if len(inner) > 64 {
		delete(all, r)
		return
	}
	clear(inner)
}

// moveCounters marks what the document's change alters on the documents that it referred to by a relation, and refers
// to now.
func (es *entries) moveCounters(c *Collection, r *model.Relation, refs referenceChange) error {
	for _, rule := range c.Counters {
		if rule.Relation != r || rule.EntersDerived { // whose entries are made later
			continue
		}
		if rule.Kind != model.Count && rule.Kind != model.IDs {
			if err := es.update(rule, refs); err != nil {
				return err
			}
			continue
		}
		was, is := newIDSet(refs.was), newIDSet(refs.is)
		counted := len(refs.was) > 0 && rule.Includes(refs.before, refs.key, nil)
		counts := len(refs.is) > 0 && rule.Includes(refs.after, refs.key, es.opt.Reporter)
		for _, id := range refs.was {
			es.moveCounter(rule, refs.key, id, membershipChange(counted, counts && is.has(id)))
		}
		for _, id := range refs.is {
			if !was.has(id) {
				es.moveCounter(rule, refs.key, id, membershipChange(false, counts))
			}
		}
	}
	return nil
}

// membershipChange returns how a document's place changed that was counted before, or not, and is after, or not.
func membershipChange(before, after bool) (m membership) {
	if after {
		m.delta++
	}
	if before {
		m.delta--
	}
	return m
}

// moveCounter marks a count or id list on target where the document's place in it changed. A document that refers to
// itself is counted again: its own row is being written.
func (es *entries) moveCounter(rule *Rule, key fanfold.Key, target string, m membership) {
	m.recount = rule.Relation.To == key.Collection && target == key.ID
	if m.delta != 0 || m.recount {
		es.marks.counted(rule, target, m)
	}
}

// counted marks a value of target that is made of the documents that refer to it.
func (ms *marks) counted(rule *Rule, target string, m membership) {
	if ms.opt.Estimate && !rule.leadsOn {
		ms.countDerived(rule.Collection, []string{rule.FullName}, 1)
		return
	}
	l := ms.levels[rule.Level]
	l.marked = true
	if l.counted == nil {
		l.counted = map[*Rule]map[string]membership{}
	}
	if l.counted[rule] == nil {
		l.counted[rule] = map[string]membership{}
	}
	if before, marked := l.counted[rule][target]; marked && before.recount {
		m.newest = m.newest && before.newest
	}
	l.counted[rule][target] = m
}

// readers marks every copy of a document that was written, or deleted: after is nil then.
func (ms *marks) readers(c *Collection, key fanfold.Key, old *sqlite.Row, after []byte) error {
	if old == nil {
		if err := ms.keeper.forgetReturned(c, key.ID); err != nil {
			return err
		}
	}
	for _, r := range c.Readers {
		var before []byte
		if old != nil {
			before = old.Body
		}
		if r.Relation.OnDelete == model.Keep {
			done, err := ms.keeper.deleted(r, key, before, after)
			if err != nil {
				return err
			}
			if done {
				continue
			}
		}
		if err := ms.copies(r, key, before, nil); err != nil {
			return err
		}
	}
	return nil
}

// copies marks the copies by a rule of a target that may give another value than before the event. changed names the
// members that differ, nil any. The rule's old value is evaluated once here, and not at all if nobody refers to the
// target.
func (ms *marks) copies(r *Rule, target fanfold.Key, before []byte, changed map[string]bool) error {
	if !r.ReadsAny(changed) {
		return nil
	}
	ms.values.cache.drop(r, target.ID)
	l := ms.levels[r.Level]
	if l.recompute[r] {
		return nil
	}
	if _, marked := l.targets[r][target.ID]; marked {
		return nil
	}
	if !ms.levels[r.Relation.Level].relinkAll[r.RelationName] { // else the links are yet to come
		hasHolders, err := ms.holders.has(r.RelationName, target.ID)
		if err != nil || !hasHolders {
			return err
		}
	}
	var old oldValue
	if before != nil {
		old = newOldValue(ms.values.evaluate(r, before, target.ID, nil))
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
		f.levelsDone = l.number + 1
		if l.empty() {
			continue
		}
		f.values.contributions.clear()
		if err := f.settleLinks(l); err != nil {
			return err
		}
		if err := f.entries.settle(l); err != nil {
			return err
		}
		if err := errors.Join(f.dropUnchangedTargets(l), f.countFinalTargets(l)); err != nil {
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
		if done, err = f.together.update(l, numbers); err == nil && !done {
			err = f.tx.Documents.Each(numbers, func(row *sqlite.Row) error { return errors.Join(f.update(row, l), f.callOnDocument()) })
		}
		if err != nil {
			return err
		}
		l.reset()
	}
	f.levelsDone = 0
	f.values.contributions.clear()
	return f.flushChanged()
}

// dropUnchangedTargets drops the targets of a level for which the rule gives the same value as before.
func (f *Fold) dropUnchangedTargets(l *level) error {
	for r, ids := range l.targets {
		for id, old := range ids {
			if !old.known {
				continue
			}
			body, err := f.tx.Documents.Body(fanfold.Key{Collection: r.Relation.To, ID: id})
			if err = errors.Join(err, f.ended()); err != nil {
				return err
			}
			var raw []byte
			if body != nil {
				raw = f.values.evaluate(r, body, id, f.opt.Reporter)
				f.values.cache.put(r, id, raw)
			}
			if old.equals(raw) {
				delete(ids, id)
			}
		}
		if len(ids) == 0 {
			delete(l.targets, r)
		}
	}
	return nil
}

// affected returns the numbers of the documents that a level may change, in order of creation: the event's own where no others change.
func (f *Fold) affected(l *level) ([]int64, error) {
	if f.opt.Alone {
		return slices.DeleteFunc([]int64{f.direct}, func(n int64) bool { return n == 0 }), nil
	}
	numbers, err := f.holders.ofLevel(nil, l)
	if err != nil {
		return nil, err
	}
	for r, ids := range l.counted {
		for id := range ids {
			n, err := f.tx.Documents.NumberOf(fanfold.Key{Collection: r.Collection, ID: id})
			if err != nil {
				return nil, err
			}
			if n != 0 {
				numbers = append(numbers, n)
			}
		}
	}
	if len(l.freeze) > 0 {
		numbers = append(numbers, f.direct)
	}
	numbers = slices.AppendSeq(slices.AppendSeq(numbers, maps.Keys(l.refit)), maps.Keys(l.own))
	collections := map[string]bool{}
	for r := range l.recompute {
		if collections[r.Collection] {
			continue
		}
		collections[r.Collection] = true
		all, err := f.tx.Documents.Numbers(r.Collection, 0, -1)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, all...)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// update brings one document up to a level: its values are changed where they stand or, where that cannot be, the
// view is written from the referenced one.
func (f *Fold) update(row *sqlite.Row, l *level) error {
	if err := f.ended(); err != nil {
		return err
	}
	c := f.plan.Collection(row.Key.Collection)
	v := &changedValues{f: f, row: row, level: l, refit: l.refit[row.Number]}
	old := &f.view
	old.Reset(row.Body)
	if err := f.keeper.freezeMarked(c, row, l, old); err != nil {
		return err
	}
	if row.Omitted == nil && !v.refit {
		view, d, fits, err := f.splicer.view(f.plan, c, v, old)
		if err == nil && fits {
			return f.applyDerived(c, row, view, d)
		}
		if err := unlessTooLong(err); err != nil {
			return err
		}
	}
	view, err := f.rewrite(c, v, old)
	if err != nil {
		return err
	}
	return f.applyDerived(c, row, view, Diff(c.Name, c.Shape, old, jsondoc.MustParse(view.Body)))
}

// unlessTooLong returns the error, nil where it is that a view is too long with all values.
func unlessTooLong(err error) error {
	if errors.Is(err, errPastLimit) {
		return nil
	}
	return err
}

// rewrite writes a document's view from the referenced one. If there is no room for all values, the document is
// written again on the later levels: the values on this level may leave more room or less to them.
func (f *Fold) rewrite(c *Collection, v *changedValues, old *jsondoc.Tree) (view sqlite.View, err error) {
	row := v.row
	src := jsondoc.MustParse(row.ReferencedText())
	if row.Omitted == nil && !v.refit {
		view.Body, view.Omitted, err = f.plan.View(c, v, src, old)
	} else {
		view.Body, view.Omitted, err = f.plan.fitted(c, v, src, old)
	}
	if err != nil {
		return view, err
	}
	view.Referenced = c.StoreSource(view.Body, src)
	if row.Omitted != nil || view.Omitted != nil || v.refit {
		f.marks.refit(c, row.Number, v.level.number+1)
	}
	return view, nil
}

// refit has a document's view written again on the levels from first on that have rules of its collection.
func (ms *marks) refit(c *Collection, number int64, first int) {
	for _, r := range c.Rules {
		if r.Level < first {
			continue
		}
		l := ms.levels[r.Level]
		if l.refit == nil {
			l.refit = map[int64]bool{}
		}
		l.refit[number], l.marked = true, true
	}
}
