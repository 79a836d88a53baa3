package fold

import (
	"slices"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite"
)

// An announced model is prepared in a copy of the read model. Prepare brings the copy up to the model, ApplyAll
// follows the log under it, and FinishPreparation does at the model's event what depends on that moment.

// Prepare brings a copy of the read model, at the event it shows, up to the model that change leads to. Later events
// are folded under that model. The model's changes wait in the copy as pending changes without positions. Documents
// that later events touch are noted there. It returns the errors of the copy and of OnDocument's function; the
// transaction and the fold are then to be thrown away.
func (f *Fold) Prepare(tx *sqlite.Tx, change *ModelChange) error {
	next := change.Next
	retired := slices.DeleteFunc(slices.Clone(next.Retired), func(k model.KeepingRule) bool { return slices.Contains(change.retiring, k.Name()) })
	plan, err := compilePlan(next.Model, next.Seq, next.Reserved, slices.Concat(retired, change.returned), change.NewRules)
	if err != nil {
		return err
	}
	for _, r := range plan.Rules {
		r.returns = change.returns(r)
	}
	plan.unpaged = change.relinked
	f.preparing = change
	f.begin(tx, &fanfold.Event{Kind: fanfold.KindModel, Seq: tx.Checkpoint().Seq})
	if err := sqlite.NameRules(tx, next.Model); err != nil { // as the model's event does
		return err
	}
	f.setPlan(plan)
	return modelWork{f, change}.apply()
}

// FinishPreparation makes what could not be prepared (frozen values, places in pages, unique values) as of the model
// event ev, and gives every pending change its position. It returns the plan of the model. On an error the transaction
// is to be thrown away. The caller has copied the kept values of change.Retiring from the read model.
func FinishPreparation(tx *sqlite.Tx, ev *fanfold.Event, change *ModelChange, reporter Reporter) (*Plan, error) {
	f := New(change.Prev, Options{Reporter: reporter})
	f.begin(tx, ev)
	adopted, err := f.adoptModel(ev)
	if err != nil {
		return nil, err
	}
	next := adopted.Next
	if err := f.freezeNew(change, next); err != nil {
		return nil, err
	}
	for _, r := range next.Model.Relations() {
		if r.PageSize > 0 && change.relinked[r.FullName()] {
			if err := tx.Links.GivePlaces(r.FullName()); err != nil {
				return nil, err
			}
		}
	}
	if err := (modelWork{f, change}).freeClaims(); err != nil {
		return nil, err
	}
	for name, all := range change.Unique {
		for _, u := range all {
			if err := tx.Uniques.ClaimCandidates(name, u.Name()); err != nil {
				return nil, err
			}
		}
	}
	if err := tx.Coming.Activate(ev.Seq, f.now.UnixNano(), ev.Actor); err != nil {
		return nil, err
	}
	tx.SetCheckpoint(ev.Seq, f.now, Fingerprint())
	return next, nil
}

// freezeNew keeps the values of new frozen copies, as they are now, on every holder.
func (f *Fold) freezeNew(change *ModelChange, next *Plan) error {
	for _, r := range next.Rules {
		if !change.NewRules[r.FullName] || !r.Frozen {
			continue
		}
		if err := f.tx.Links.Targets(r.RelationName, r.Relation.To, func(id string, body []byte) error {
			if raw := r.Evaluate(body, id, nil); raw != nil {
				return f.tx.KeptValues.AddToAll(r.FullName, r.RelationName, id, raw)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
