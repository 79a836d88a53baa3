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

// keeper looks after values that stay on documents: frozen ones, and what deleted documents gave.
type keeper struct {
	*folding

	values *values
}

// deleted leaves a deleted document's value on its holders, and drops what they kept when the document returns.
// done is true where the holders need no more.
func (kp *keeper) deleted(r *Rule, key fanfold.Key, before, after []byte) (done bool, err error) {
	switch {
	case after == nil:
		kp.values.cache.drop(r, key.ID)
		if raw := r.Evaluate(before, key.ID, nil); raw != nil {
			return true, kp.tx.KeptValues.AddToAll(r.FullName, r.RelationName, key.ID, raw)
		}
		return true, nil
	case before == nil:
		return false, kp.tx.KeptValues.Remove(r.FullName, key.ID, 0)
	}
	return false, nil
}

// restore takes over what an import says had stayed on the holder, of targets that it refers to. A value that
// stayed after a delete is taken over only if the target is still not there.
func (kp *keeper) restore(c *Collection, row *sqlite.Row, source *jsondoc.Tree, kept []byte) error {
	if kept == nil {
		return nil
	}
	all := jsondoc.MustParse(kept)
	for _, rule := range c.Rules {
		if k, ok := rule.KeepingRule(); ok && !rule.Relation.Derived() { // whose ids are not known yet
			if err := kp.restoreRule(k, all, rule.Relation.Targets(source), row.Number); err != nil {
				return err
			}
		}
	}
	for _, rule := range c.retired {
		if err := kp.restoreRule(rule.KeepingRule, all, rule.refers.AppendIDs(nil, source, jsondoc.Root), row.Number); err != nil {
			return err
		}
	}
	return nil
}

// restoreRule takes over what an import says had stayed on a holder by one rule, of the ids that it refers to.
func (kp *keeper) restoreRule(k model.KeepingRule, all *jsondoc.Tree, ids []string, holder int64) error {
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
			number, err := kp.tx.Documents.NumberOf(fanfold.Key{Collection: k.To, ID: id})
			if err != nil {
				return err
			}
			if number != 0 {
				continue
			}
		}
		if err := kp.tx.KeptValues.Add(k.Name(), id, holder, jsondoc.Compact(nil, all.Raw(value))); err != nil {
			return err
		}
	}
	return nil
}

// forgetRetired drops what the document kept by removed rules of targets that it no longer refers to, as it would under
// the rules.
func (kp *keeper) forgetRetired(c *Collection, d documentChange) error {
	for _, rule := range c.retired {
		is := newIDSet(rule.refers.AppendIDs(nil, d.after, jsondoc.Root))
		for _, id := range rule.refers.AppendIDs(nil, d.before, jsondoc.Root) {
			if is.has(id) {
				continue
			}
			if err := kp.tx.KeptValues.Remove(rule.name, id, d.number); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetReturned drops what stayed on documents by removed rules of a target that has returned.
func (kp *keeper) forgetReturned(c *Collection, id string) error {
	for _, rule := range c.retiredReaders {
		if err := kp.tx.KeptValues.Remove(rule.name, id, 0); err != nil {
			return err
		}
	}
	return nil
}

// forget drops what the holder kept of a target that it no longer refers to.
func (kp *keeper) forget(c *Collection, r *model.Relation, target string, holder int64) error {
	for _, rule := range c.Rules {
		if rule.KeepsValues() && rule.Relation == r {
			if err := kp.tx.KeptValues.Remove(rule.FullName, target, holder); err != nil {
				return err
			}
		}
	}
	return nil
}

// markFrozen marks the frozen copies that a write of the document takes: of ids that it has no value for yet, and of
// those that the write asks to refresh. Like all copies, they are taken when everything that they read is final.
func (kp *keeper) markFrozen(c *Collection, row *sqlite.Row, source *jsondoc.Tree, ev *fanfold.Event) error {
	for _, rule := range c.frozen {
		refresh := slices.Contains(ev.Refresh, rule.Path.String())
		for _, id := range rule.Relation.Targets(source) {
			value, err := kp.values.staying(rule, id, row.Number)
			if err != nil {
				return err
			}
			if value != nil && refresh {
				if err := kp.release(rule, id, row.Number); err != nil {
					return err
				}
				value = nil
			}
			if value == nil && !importHasNoValue(rule, id, ev.Kept) {
				kp.levels[rule.Level].markFreeze(rule)
			}
		}
	}
	return nil
}

// release drops a frozen value, unless there is no target to take another from.
func (kp *keeper) release(rule *Rule, id string, holder int64) error {
	number, err := kp.tx.Documents.NumberOf(fanfold.Key{Collection: rule.Relation.To, ID: id})
	if err != nil || number == 0 {
		return err
	}
	return kp.tx.KeptValues.Remove(rule.FullName, id, holder)
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
func (kp *keeper) freezeMarked(c *Collection, row *sqlite.Row, l *level, t *jsondoc.Tree) error {
	for _, r := range c.frozen {
		if !l.recompute[r] && (!l.freeze[r] || row.Number != kp.direct) {
			continue
		}
		for _, id := range r.Relation.Targets(t) {
			if err := kp.freeze(r, id, row.Number); err != nil {
				return err
			}
		}
	}
	return nil
}

// freeze keeps one frozen value on its holder, where the holder has none and the target gives one.
func (kp *keeper) freeze(r *Rule, id string, holder int64) error {
	raw, err := kp.values.staying(r, id, holder)
	if err != nil || raw != nil || importHasNoValue(r, id, kp.event.Kept) || !kp.amending.freezes(r, id) {
		return err
	}
	body, err := kp.tx.Documents.Body(fanfold.Key{Collection: r.Relation.To, ID: id})
	if err = errors.Join(err, kp.ended()); err != nil || body == nil {
		return err
	}
	if raw = r.Evaluate(body, id, kp.opt.Reporter); raw == nil {
		return nil
	}
	if kp.values.noneBefore && holder == kp.direct {
		kp.values.frozenByEvent[keptValueKey{r, id}] = bytes.Clone(raw)
	}
	return kp.tx.KeptValues.Add(r.FullName, id, holder, raw)
}

// keptValueKey names a value that stays on the document that the event creates.
type keptValueKey struct {
	rule   *Rule
	target string
}

// staying returns the value of a target that stays on a holder, nil for none. On the document that the event creates
// there are only those that the event has kept there.
func (v *values) staying(r *Rule, target string, holder int64) ([]byte, error) {
	if !v.noneBefore || holder != v.direct {
		return v.tx.KeptValues.Get(r.FullName, target, holder)
	}
	return v.frozenByEvent[keptValueKey{r, target}], nil
}
