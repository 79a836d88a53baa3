package projector

import (
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// TestVersionsOfEvents: an event is folded by the version that the last model before it set, or kept. The version of an event
// that is about to be folded is known already, and no other is guessed.
func TestVersionsOfEvents(t *testing.T) {
	store, err := sqlite.OpenStore(t.TempDir(), sqlite.Options{Fingerprint: fold.Fingerprint()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	var v versions
	if err := v.load(store.Read); err != nil {
		t.Fatal(err)
	}
	batch := []*fanfold.Event{{Seq: 1, Kind: fanfold.KindPut}, {Seq: 2, Kind: fanfold.KindModel}, {Seq: 3, Kind: fanfold.KindPrepare, Fold: 9},
		{Seq: 4, Kind: fanfold.KindModel, Fold: 9}, {Seq: 5, Kind: fanfold.KindModel}, {Seq: 6, Kind: fanfold.KindPut}}
	v.add(batch[:5])
	v.add(batch[3:]) // as after an event that could not be folded at first
	for seq, want := range []struct {
		version int
		model   bool
	}{{8, false}, {8, false}, {8, true}, {8, false}, {9, true}, {9, true}, {9, false}, {0, false}} {
		if version, model := v.of(uint64(seq)); version != want.version || model != want.model {
			t.Errorf("event %d: version %d, model %v, want %+v", seq, version, model, want)
		}
	}
}
