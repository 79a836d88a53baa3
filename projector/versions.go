package projector

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// versions knows by which version of the fold each event is folded. Its answer about an event is there before readers
// can see what the event did. The projector changes it under Projector.served; it may be read at any time.
type versions struct {
	models atomic.Pointer[[]sqlite.FoldedModel] // in order
	upTo   atomic.Uint64                        // the last event that is known
}

// load reads what the read model says. The error is the read model's.
func (v *versions) load(read func(func(*sqlite.Snapshot) error) error) error {
	return read(func(s *sqlite.Snapshot) error {
		models, err := s.FoldedModels()
		if err == nil {
			v.models.Store(&models)
			v.upTo.Store(s.Checkpoint.Seq)
		}
		return err
	})
}

// add takes note of events that are about to be folded.
func (v *versions) add(events []*fanfold.Event) {
	before := *v.models.Load()
	models := before[:len(before):len(before)] // readers have it
	for _, ev := range events {
		if ev.Kind != fanfold.KindModel || len(models) > 0 && models[len(models)-1].Seq >= ev.Seq {
			continue // one that could not be folded at first comes again
		}
		models = append(models, sqlite.FoldedModel{Seq: ev.Seq, Fold: cmp.Or(ev.Fold, lastVersion(models))})
	}
	if len(models) > len(before) {
		v.models.Store(&models)
	}
	v.upTo.Store(max(v.upTo.Load(), events[len(events)-1].Seq))
}

// lastVersion returns the version after the last of some models.
func lastVersion(models []sqlite.FoldedModel) int {
	if len(models) == 0 {
		return fold.OldestVersion
	}
	return models[len(models)-1].Fold
}

// of returns the version of the event at seq, 0 where the event is not known, and whether it is a model's.
func (v *versions) of(seq uint64) (version int, model bool) {
	if seq > v.upTo.Load() {
		return 0, false
	}
	models := *v.models.Load()
	n, model := slices.BinarySearchFunc(models, seq, func(m sqlite.FoldedModel, seq uint64) int { return cmp.Compare(m.Seq, seq) })
	if model {
		n++
	}
	return lastVersion(models[:n]), model
}

// FoldOf returns the version of the fold by which the event at seq is folded, 0 where it is not folded here yet, and whether
// it is a model's.
func (p *Projector) FoldOf(seq uint64) (version int, model bool) { return p.versions.of(seq) }
