package fold

import (
	"github.com/fanfold/fanfold/model"
)

// An estimate needs the number of derived changes only. See Options.Estimate.

// isRead returns whether what an event leads to can depend on the view that it gives a document, and not only on what the
// document enters into the values of others.
func (f *Fold) isRead(c *Collection, id string) (bool, error) {
	if len(c.derivedCounters)+len(c.derived) > 0 {
		return true, nil
	}
	for _, r := range c.Counters {
		if r.leadsOn && (r.Kind == model.Recent || r.Kind == model.IDs || r.Collection == c.Name) {
			return true, nil
		}
	}
	for _, r := range c.Readers {
		if held, err := f.hasHolders(r.RelationName, id); err != nil || held {
			return held, err
		}
	}
	return false, nil
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
			n, err := f.tx.CountHolders(r.RelationName, id, -1)
			if err != nil {
				return err
			}
			f.countDerived(r.Collection, []string{r.FullName}, n)
		}
		delete(l.targets, r)
	}
	return nil
}
