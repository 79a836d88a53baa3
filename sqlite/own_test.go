package sqlite_test

import (
	"runtime"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// TestOwnSnapshots: snapshots that are their own, more than the pool has, hold up no read and no swap. They show what they showed, also once
// the generation is replaced and closed.
func TestOwnSnapshots(t *testing.T) {
	store, key := openStore(t, t.TempDir()), fanfold.Key{Collection: "c", ID: "1"}
	if err := insert(store, 1, key, `{"v":1}`); err != nil {
		t.Fatal(err)
	}
	many := 3 * max(2, runtime.GOMAXPROCS(0))
	began, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	for range many {
		go func() {
			ended <- store.Read(func(s *sqlite.Snapshot) error {
				if err := s.Own(t.Context()); err != nil {
					return err
				}
				began <- struct{}{}
				<-release
				doc, err := s.Get(key, fanfold.Embedded)
				if err == nil && string(doc.Body) != `{"v":1}` {
					t.Errorf("the document has become %s", doc.Body)
				}
				return err
			})
		}()
		<-began
	}
	next, err := store.Copy(t.Context(), func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Swap(next); err != nil {
		t.Fatal(err)
	}
	for range many {
		requireBody(t, store, key, `{"v":1}`)
	}
	close(release)
	for range many {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for range many { // everything that was taken is back
		requireBody(t, store, key, `{"v":1}`)
	}
}
