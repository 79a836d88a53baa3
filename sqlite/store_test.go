package sqlite_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestSwapSurvivesReopening: after Swap, readers and a store that is opened later find the new
// generation, and a scanner on the old one still reads it.
func TestSwapSurvivesReopening(t *testing.T) {
	dir, key := t.TempDir(), fanfold.Key{Collection: "c", ID: "1"}
	store := openUnclosed(t, dir)
	if err := insert(store, 1, key, `{"v":1}`); err != nil {
		t.Fatal(err)
	}
	old, err := store.Scan()
	if err != nil {
		t.Fatal(err)
	}
	next, err := store.Copy(t.Context(), func(int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Update(func(tx *sqlite.Tx) error {
		return tx.Documents.SetView(1, sqlite.View{Position: fanfold.At(1, 0), Body: []byte(`{"v":2}`)})
	}); err != nil {
		t.Fatal(err)
	}
	if err := store.Swap(next); err != nil {
		t.Fatal(err)
	}
	requireBody(t, store, key, `{"v":2}`)
	if doc, err := old.Get(key, fanfold.Embedded); err != nil || string(doc.Body) != `{"v":1}` {
		t.Errorf("the scanner on the old generation reads %v, %v", doc, err)
	}
	if err := errors.Join(old.Close(), store.Close()); err != nil {
		t.Fatal(err)
	}
	store = openStore(t, dir)
	requireBody(t, store, key, `{"v":2}`)
	if seq := store.Applied.Seq(); seq != 1 {
		t.Errorf("the reopened store is at event %d, want 1", seq)
	}
}

func requireBody(t *testing.T, store *sqlite.Store, key fanfold.Key, want string) {
	t.Helper()
	if doc, _, err := store.Get(key, fanfold.Embedded); err != nil || doc == nil || string(doc.Body) != want {
		t.Fatalf("%v is %v, %v; want %s", key, doc, err, want)
	}
}

// TestUpdateRollsBack: a transaction whose function fails leaves nothing, neither in the file nor
// in the row cache.
func TestUpdateRollsBack(t *testing.T) {
	store, key := openStore(t, t.TempDir()), fanfold.Key{Collection: "c", ID: "1"}
	if err := insert(store, 1, key, `{"v":1}`); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	err := store.Use(func(db *sqlite.DB) error {
		return db.Update(func(tx *sqlite.Tx) error {
			if err := tx.Documents.Each([]int64{1}, func(r *sqlite.Row) error {
				return tx.Documents.SetView(r.Number, sqlite.View{Position: r.Position, Body: []byte(`{"v":2}`)})
			}); err != nil {
				return err
			}
			tx.SetCheckpoint(2, tx.Checkpoint().Time, "example")
			return failed
		})
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	err = store.Use(func(db *sqlite.DB) error {
		return db.Update(func(tx *sqlite.Tx) error {
			if body, err := tx.Documents.Body(key); err != nil || string(body) != `{"v":1}` || tx.Checkpoint().Seq != 1 {
				t.Errorf("after the rollback there is %s at event %d, %v", body, tx.Checkpoint().Seq, err)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	requireBody(t, store, key, `{"v":1}`)
}

// TestWaitForAnEvent: Wait returns when its event is folded, when the projector stops, and when
// the context ends.
func TestWaitForAnEvent(t *testing.T) {
	suite.Concurrent(t)
	store := openStore(t, t.TempDir())
	a := store.Applied
	results := make(chan error)
	go func() { results <- a.Wait(t.Context(), 2) }()
	changed := a.Changed(0)
	a.Set(2)
	if err := <-results; err != nil {
		t.Error(err)
	}
	<-changed
	stopped := errors.New("stopped")
	go func() { results <- a.Wait(t.Context(), 3) }()
	a.Stop(stopped)
	if err := <-results; !errors.Is(err, stopped) {
		t.Error(err)
	}
	a.Resume()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Wait(ended, 3); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
