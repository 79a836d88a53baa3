package fold

import (
	"github.com/fanfold/fanfold/model"
)

// An estimate needs the number of derived changes only. See Options.Estimate.

// isRead returns whether the effects of an event can depend on the view that it gives a document, and not only on the document's entries
// into values of others. Copies of a document that the event creates, from which nothing follows, are counted instead.
func (f *Fold) isRead(c *Collection, id string) (bool, error) {
	if len(c.derivedCounters)+len(c.derived) > 0 {
		return true, nil
	}
	for _, r := range c.Counters {
		if r.leadsOn && (r.Kind == model.Recent || r.Kind == model.IDs || r.Collection == c.Name) {
			return true, nil
		}
	}
	var final []*Rule
	for _, r := range c.Readers {
		held, err := f.holders.has(r.RelationName, id)
		switch {
		case err != nil:
			return false, err
		case held && f.creates && !r.leadsOn:
			final = append(final, r)
		case held:
			return true, nil
		}
	}
	for _, r := range final {
		if err := f.countHoldersOf(r, id); err != nil {
			return false, err
		}
	}
	return false, nil
}

// countHoldersOf counts the holders of a target as documents that a rule changes.
func (f *Fold) countHoldersOf(r *Rule, target string) error {
	n, err := f.tx.Links.CountHolders(r.RelationName, target, -1)
	if err == nil {
		f.countDerived(r.Collection, []string{r.FullName}, n)
	}
	return err
}

// countFinalTargets counts the holders of those targets of a level whose copies lead to no other changes, and drops the
// targets. It does nothing where the fold is no estimate.
func (f *Fold) countFinalTargets(l *level) error {
	if !f.opt.Estimate {
		return nil
	}
	for r, ids := range l.targets {
		if r.leadsOn {
			continue
		}
		for id := range ids {
			if err := f.countHoldersOf(r, id); err != nil {
				return err
			}
		}
		delete(l.targets, r)
	}
	return nil
}
