package sqlite_test

import (
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestLanesHoldUpNoRead: reads of lanes that last, and many that wait for their turn, hold up no lookup and no snapshot. One read of a lane
// runs at a time, also while the generation is replaced.
func TestLanesHoldUpNoRead(t *testing.T) {
	suite.Concurrent(t)
	const waiting = 50
	store, key := openStore(t, t.TempDir()), fanfold.Key{Collection: "c", ID: "1"}
	if err := insert(store, 1, key, `{"v":1}`); err != nil {
		t.Fatal(err)
	}
	lanes := []sqlite.Lane{store.Lanes.CatchUp, store.Lanes.Head, store.Lanes.Long}
	began, release, ended := make(chan struct{}, len(lanes)*waiting), make(chan struct{}), make(chan error)
	for _, lane := range lanes {
		for range waiting {
			go func() {
				ended <- lane.Read(func(*sqlite.Snapshot) error {
					began <- struct{}{}
					<-release
					return nil
				})
			}()
		}
	}
	for range lanes {
		<-began
	}
	for range 100 { // more than there are connections
		requireBody(t, store, key, `{"v":1}`)
		if err := store.Read(func(*sqlite.Snapshot) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(began) > 0 {
		t.Errorf("%d more reads of lanes run", len(began))
	}
	next, err := store.Copy(t.Context(), func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	swapped := make(chan error)
	go func() { swapped <- store.Swap(next) }()
	close(release)
	for range len(lanes) * waiting {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if err := <-swapped; err != nil {
		t.Error(err)
	}
}
