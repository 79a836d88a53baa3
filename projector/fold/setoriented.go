package fold

import (
	"errors"
	"slices"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/sqlite"
)

// DefaultSetOrientedFrom is how many holders a fan-out has that is folded by set-oriented SQL, where the rule allows
// it.
const DefaultSetOrientedFrom = 64

// foldSetOriented folds a level by two statements for all documents. It can if the level's only work is changed
// values of one target that replace the same members of every holder, and nothing depends on those. The rows are
// those that document after document would give. done is false where it did nothing.
func (f *Fold) foldSetOriented(l *level) (done bool, err error) {
	if f.opt.SetOrientedFrom < 0 || f.preparing != nil || f.event.Kind == fanfold.KindModel {
		return false, nil
	}
	rules, id := l.soleTarget()
	if len(rules) == 0 {
		return false, nil
	}
	relation, c := rules[0].Relation, f.plan.Collection(rules[0].Collection)
	if relation.Path.Arrays() {
		return false, nil
	}
	var d Difference
	var members []sqlite.Member
	growth := 0
	for _, r := range rules {
		raw, _ := f.values.cache.get(r, id)
		m, ok := replacement(r, l.targets[r][id], raw)
		if top := r.TopMembers(); !ok || r.Relation != relation || c.AffectsOthers(top) || c.follows(top) {
			return false, nil
		}
		d.add("/"+jsondoc.PointerEscape(r.Path[0].Name), r.FullName, m.Value, l.targets[r][id].raw)
		members = append(members, m)
		growth += len(m.Value) - len(l.targets[r][id].raw)
	}
	if c.manyLevels() {
		if sole, err := f.isSoleWork(l); err != nil || !sole {
			return false, err
		}
	}
	holders, err := f.setOrientedHolders(relation.FullName(), id, growth)
	if err != nil || holders == 0 {
		return false, err
	}
	first, err := f.nextPositions(holders)
	if err != nil {
		return false, err
	}
	f.countDerived(c.Name, d.Rules, int64(holders))
	if err := errors.Join(f.showHolders(c, relation.FullName(), id, &d), f.indexer.changeHolders(c, l, rules, id)); err != nil {
		return false, err
	}
	return true, f.tx.ReplaceMembers(relation.FullName(), id, members, holders,
		fanfold.Change{Position: first, Time: f.now, Tx: f.event.Tx.ID, Call: f.transaction.call, Actor: f.event.Actor, Rules: d.Rules, Delta: d.Patch()})
}

// isSoleWork returns whether no other level has work, so that no document of this level gets another change from the
// event. No view from before the event waits for later, and targets of later levels give the same values as before.
// These values are final, because nothing depends on what this level changes.
func (f *Fold) isSoleWork(l *level) (bool, error) {
	if f.tx.Before.Any() {
		return false, nil
	}
	for _, other := range f.levels {
		if other == l || other.empty() {
			continue
		}
		if len(other.freeze)+len(other.recompute)+len(other.refit)+len(other.own)+len(other.entering)+len(other.relinking) > 0 {
			return false, nil
		}
		for _, ids := range other.counted {
			if len(ids) > 0 {
				return false, nil
			}
		}
		for r, ids := range other.targets {
			for id, old := range ids {
				if same, err := f.givesStill(r, id, old); err != nil || !same {
					return false, err
				}
			}
		}
	}
	return true, nil
}

// givesStill returns whether a copy rule gives a target's value from before the event.
func (f *Fold) givesStill(r *Rule, id string, old oldValue) (bool, error) {
	body, err := f.tx.Documents.Body(fanfold.Key{Collection: r.Relation.To, ID: id})
	if err != nil {
		return false, err
	}
	var raw []byte
	if body != nil {
		raw = r.Evaluate(body, id, nil)
	}
	return old.equals(raw), nil
}

// replacement returns the top-level member that the rule's new value replaces on every holder. ok is false where it is
// not one that every holder has and SQLite can write.
func replacement(r *Rule, old oldValue, raw []byte) (m sqlite.Member, ok bool) {
	path, ok := sqlPath(r.Path[0].Name)
	if !ok || len(r.Path) != 1 || !old.known || old.raw == nil || raw == nil || len(raw) >= sqlite.MaxShallow {
		return m, false
	}
	return sqlite.Member{Path: path, Value: raw}, true
}

// nextPositions returns the first of n positions that follow each other.
func (f *Fold) nextPositions(n int) (first fanfold.Position, err error) {
	if first, err = f.nextPosition(); err != nil {
		return 0, err
	}
	if f.changes += n - 1; f.changes-1 > fanfold.MaxChanges {
		_, err = f.nextPosition() // which says so
	}
	return first, err
}

// setOrientedHolders returns how many documents refer to a target, or 0 if set-oriented SQL does not fit. They are
// then too few, or one is written by the event, has a view that SQLite cannot read, or may lack room for so many more
// bytes.
func (f *Fold) setOrientedHolders(relation, target string, growth int) (int, error) {
	least := int64(f.opt.SetOrientedFrom)
	if n, err := f.tx.Links.CountHolders(relation, target, least); err != nil || n < least {
		return 0, err
	}
	if self, err := f.tx.Links.Has(relation, target, f.direct); err != nil || self {
		return 0, err
	}
	if unfit, err := f.tx.Links.UnfitHolders(relation, target, growth, f.plan.Model.EmbeddedLimit); err != nil || unfit {
		return 0, err
	}
	n, err := f.tx.Links.CountHolders(relation, target, -1)
	return int(n), err
}

// soleTarget returns the copies whose values changed, by name, and their only target. It returns none if there is
// more than one target, or anything else to do on the level.
func (l *level) soleTarget() (rules []*Rule, id string) {
	if len(l.freeze)+len(l.recompute)+len(l.refit)+len(l.own) > 0 {
		return nil, ""
	}
	for _, ids := range l.counted {
		if len(ids) > 0 {
			return nil, ""
		}
	}
	for r, ids := range l.targets {
		for target := range ids {
			if len(ids) > 1 || len(rules) > 0 && target != id {
				return nil, ""
			}
			rules, id = append(rules, r), target
		}
	}
	slices.SortFunc(rules, func(a, b *Rule) int { return strings.Compare(a.FullName, b.FullName) })
	return rules, id
}

// sqlPath returns the path of a top-level member as SQLite's JSON functions write it. ok is false for names that would
// need escapes.
func sqlPath(name string) (path string, ok bool) {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return "", false
		}
	}
	return `$."` + name + `"`, true
}
