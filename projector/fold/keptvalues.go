package fold

import (
	"bytes"
	"errors"
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// keepDeleted leaves a deleted document's value on its holders, and drops what they kept when the document returns.
// done is true where the holders need no more.
func (f *Fold) keepDeleted(r *Rule, key fanfold.Key, before, after []byte) (done bool, err error) {
	switch {
	case after == nil:
		f.cache.drop(r, key.ID)
		if raw := r.Evaluate(before, key.ID, nil); raw != nil {
			return true, f.tx.KeptValues.AddToAll(r.FullName, r.RelationName, key.ID, raw)
		}
		return true, nil
	case before == nil:
		return false, f.tx.KeptValues.Remove(r.FullName, key.ID, 0)
	}
	return false, nil
}

// restoreKeptValues takes over what an import says had stayed on the holder, of targets that it refers to. A value that
// stayed after a delete is taken over only if the target is still not there.
func (f *Fold) restoreKeptValues(c *Collection, row *sqlite.Row, source *jsondoc.Tree, kept []byte) error {
	if kept == nil {
		return nil
	}
	all := jsondoc.MustParse(kept)
	for _, rule := range c.Rules {
		if k, ok := rule.KeepingRule(); ok && !rule.Relation.Derived() { // whose ids are not known yet
			if err := f.restoreRule(k, all, rule.Relation.Targets(source), row.Number); err != nil {
				return err
			}
		}
	}
	for _, rule := range c.retired {
		if err := f.restoreRule(rule.KeepingRule, all, rule.refers.AppendIDs(nil, source, jsondoc.Root), row.Number); err != nil {
			return err
		}
	}
	return nil
}

// restoreRule takes over what an import says had stayed on a holder by one rule, of the ids that it refers to.
func (f *Fold) restoreRule(k model.KeepingRule, all *jsondoc.Tree, ids []string, holder int64) error {
	values := all.Member(jsondoc.Root, k.Name())
	if values == jsondoc.None {
		return nil
	}
	for _, id := range ids {
		value := all.Member(values, id)
		if value == jsondoc.None {
			continue
		}
		if !k.Frozen {
			number, err := f.tx.Documents.NumberOf(fanfold.Key{Collection: k.To, ID: id})
			if err != nil {
				return err
			}
			if number != 0 {
				continue
			}
		}
		if err := f.tx.KeptValues.Add(k.Name(), id, holder, jsondoc.Compact(nil, all.Raw(value))); err != nil {
			return err
		}
	}
	return nil
}

// forgetRetired drops what the document kept by removed rules of targets that it no longer refers to, as it would under
// the rules.
func (f *Fold) forgetRetired(c *Collection, d documentChange) error {
	for _, rule := range c.retired {
		is := newIDSet(rule.refers.AppendIDs(nil, d.after, jsondoc.Root))
		for _, id := range rule.refers.AppendIDs(nil, d.before, jsondoc.Root) {
			if is.has(id) {
				continue
			}
			if err := f.tx.KeptValues.Remove(rule.name, id, d.number); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetReturned drops what stayed on documents by removed rules of a target that has returned.
func (f *Fold) forgetReturned(c *Collection, id string) error {
	for _, rule := range c.retiredReaders {
		if err := f.tx.KeptValues.Remove(rule.name, id, 0); err != nil {
			return err
		}
	}
	return nil
}

// forgetKeptValues drops what the holder kept of a target that it no longer refers to.
func (f *Fold) forgetKeptValues(c *Collection, r *model.Relation, target string, holder int64) error {
	for _, rule := range c.Rules {
		if rule.KeepsValues() && rule.Relation == r {
			if err := f.tx.KeptValues.Remove(rule.FullName, target, holder); err != nil {
				return err
			}
		}
	}
	return nil
}

// markFrozen marks the frozen copies that a write of the document takes: of ids that it has no value for yet, and of
// those that the write asks to refresh. Like all copies, they are taken when everything that they read is final.
func (f *Fold) markFrozen(c *Collection, row *sqlite.Row, source *jsondoc.Tree, ev *fanfold.Event) error {
	for _, rule := range c.frozen {
		refresh := slices.Contains(ev.Refresh, rule.Path.String())
		for _, id := range rule.Relation.Targets(source) {
			value, err := f.keptValue(rule, id, row.Number)
			if err != nil {
				return err
			}
			if value != nil && refresh {
				if err := f.releaseFrozen(rule, id, row.Number); err != nil {
					return err
				}
				value = nil
			}
			if value == nil && !importHasNoValue(rule, id, ev.Kept) {
				f.levels[rule.Level].markFreeze(rule)
			}
		}
	}
	return nil
}

// releaseFrozen drops a frozen value, unless there is no target to take another from.
func (f *Fold) releaseFrozen(rule *Rule, id string, holder int64) error {
	number, err := f.tx.Documents.NumberOf(fanfold.Key{Collection: rule.Relation.To, ID: id})
	if err != nil || number == 0 {
		return err
	}
	return f.tx.KeptValues.Remove(rule.FullName, id, holder)
}

// importHasNoValue returns whether an import says that the document has no value for the id: where it names the rule,
// it lists every value of it that there is.
func importHasNoValue(rule *Rule, id string, kept []byte) bool {
	if kept == nil {
		return false
	}
	t := jsondoc.MustParse(kept)
	values := t.Member(jsondoc.Root, rule.FullName)
	if values == jsondoc.None {
		return false
	}
	return t.Member(values, id) == jsondoc.None
}

// freezeMarked keeps the frozen values of a level that the document does not have yet, whether or not there is a place
// for them in it.
func (f *Fold) freezeMarked(c *Collection, row *sqlite.Row, l *level, t *jsondoc.Tree) error {
	for _, r := range c.frozen {
		if !l.recompute[r] && (!l.freeze[r] || row.Number != f.direct) {
			continue
		}
		for _, id := range r.Relation.Targets(t) {
			if err := f.freeze(r, id, row.Number); err != nil {
				return err
			}
		}
	}
	return nil
}

// freeze keeps one frozen value on its holder, where the holder has none and the target gives one.
func (f *Fold) freeze(r *Rule, id string, holder int64) error {
	raw, err := f.keptValue(r, id, holder)
	if err != nil || raw != nil || importHasNoValue(r, id, f.event.Kept) || !f.amending.freezes(r, id) {
		return err
	}
	body, err := f.tx.Documents.Body(fanfold.Key{Collection: r.Relation.To, ID: id})
	if err = errors.Join(err, f.ended()); err != nil || body == nil {
		return err
	}
	if raw = r.Evaluate(body, id, f.opt.Reporter); raw == nil {
		return nil
	}
	if f.createsWithoutKept && holder == f.direct {
		f.keptByEvent[keptValueKey{r, id}] = bytes.Clone(raw)
	}
	return f.tx.KeptValues.Add(r.FullName, id, holder, raw)
}

// keptValueKey names a value that stays on the document that the event creates.
type keptValueKey struct {
	rule   *Rule
	target string
}

// keptValue returns the value of a target that stays on a holder, nil for none. On the document that the event creates
// there are only those that the event has kept there.
func (f *Fold) keptValue(r *Rule, target string, holder int64) ([]byte, error) {
	if !f.createsWithoutKept || holder != f.direct {
		return f.tx.KeptValues.Get(r.FullName, target, holder)
	}
	return f.keptByEvent[keptValueKey{r, target}], nil
}
