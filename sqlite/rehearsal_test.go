package sqlite_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite"
)

// rehearsed calls fn with a transaction that is not kept.
func rehearsed(t *testing.T, store *sqlite.Store, bounds sqlite.Rehearsal, fn func(tx *sqlite.Tx) error) error {
	t.Helper()
	return store.Read(func(s *sqlite.Snapshot) error { return fn(s.Rehearse(bounds)) })
}

// setViews gives documents another view.
func setViews(tx *sqlite.Tx, body string, numbers ...int64) error {
	return tx.Documents.Each(numbers, func(r *sqlite.Row) error {
		return tx.Documents.SetView(r.Number, sqlite.View{Position: r.Position, Body: []byte(body)})
	})
}

// TestRehearsalKeepsNothing: a rehearsal reads what it writes, documents, links and entries, and leaves the file as it was.
func TestRehearsalKeepsNothing(t *testing.T) {
	store, key := openStore(t, t.TempDir()), fanfold.Key{Collection: "c", ID: "1"}
	if err := insert(store, 1, key, `{"v":1}`); err != nil {
		t.Fatal(err)
	}
	if err := store.Use(func(db *sqlite.DB) error {
		return db.Update(func(tx *sqlite.Tx) error {
			return errors.Join(tx.Links.Add("r", "t", 1, false), tx.Aggregates.AddEntry("rule", "t", []byte("b"), 1))
		})
	}); err != nil {
		t.Fatal(err)
	}
	err := rehearsed(t, store, sqlite.Rehearsal{}, func(tx *sqlite.Tx) error {
		added := &sqlite.Row{Number: 2, Key: fanfold.Key{Collection: "c", ID: "2"}, Body: []byte(`{"v":3}`)}
		if err := errors.Join(setViews(tx, `{"v":2}`, 1), tx.Documents.Insert(added), tx.Links.Add("r", "t", 2, false), tx.Links.Remove("r", "t", 1),
			tx.Aggregates.AddEntry("rule", "t", []byte("a"), 2)); err != nil {
			return err
		}
		body, err := tx.Documents.Body(key)
		holders, err2 := tx.Links.Holders(nil, "r", "t", -1)
		first, err3 := tx.Aggregates.FirstEntry("rule", "t")
		if string(body) != `{"v":2}` || !slices.Equal(holders, []int64{2}) || string(first) != "a" {
			t.Errorf("the rehearsal reads %s, holders %v, first entry %s", body, holders, first)
		}
		return errors.Join(err, err2, err3)
	})
	if err != nil {
		t.Fatal(err)
	}
	requireBody(t, store, key, `{"v":1}`)
	if err := rehearsed(t, store, sqlite.Rehearsal{}, func(tx *sqlite.Tx) error {
		holders, err := tx.Links.Holders(nil, "r", "t", -1)
		if !slices.Equal(holders, []int64{1}) {
			t.Errorf("after the rehearsal the holders are %v", holders)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestRehearsalEnds: a rehearsal ends where it would change more documents, or hold more bytes, than it may.
func TestRehearsalEnds(t *testing.T) {
	store := openStore(t, t.TempDir())
	for number, id := range []string{"1", "2"} {
		if err := insert(store, uint64(number+1), fanfold.Key{Collection: "c", ID: id}, `{"v":1}`); err != nil {
			t.Fatal(err)
		}
	}
	for _, bounds := range []sqlite.Rehearsal{{MaxDocuments: 1}, {MaxBytes: 10}} {
		if err := rehearsed(t, store, bounds, func(tx *sqlite.Tx) error { return setViews(tx, `{"v":2}`, 1, 2) }); !errors.Is(err, sqlite.ErrRehearsalEnds) {
			t.Errorf("with %+v two documents are changed: %v", bounds, err)
		}
		if err := rehearsed(t, store, bounds, func(tx *sqlite.Tx) error { return setViews(tx, `{"v":2}`, 1) }); err != nil {
			t.Errorf("with %+v one document cannot be changed: %v", bounds, err)
		}
	}
}

// TestRehearsalResumes: a rehearsal goes on with another snapshot, and reads nothing again, until something is folded.
func TestRehearsalResumes(t *testing.T) {
	store, key, gone := openStore(t, t.TempDir()), fanfold.Key{Collection: "c", ID: "1"}, fanfold.Key{Collection: "c", ID: "2"}
	for number, k := range []fanfold.Key{key, gone} {
		if err := insert(store, uint64(number+1), k, `{"v":1}`); err != nil {
			t.Fatal(err)
		}
	}
	var tx *sqlite.Tx
	if err := rehearsed(t, store, sqlite.Rehearsal{}, func(begun *sqlite.Tx) error {
		tx = begun
		absent, err := tx.Documents.NumberOf(fanfold.Key{Collection: "c", ID: "3"})
		row, err2 := tx.Documents.Get(gone)
		if err = errors.Join(err, err2, setViews(tx, `{"v":2}`, 1)); err == nil {
			err = tx.Documents.Delete(row, 3, 0)
		}
		if tx.TakeBack(); absent != 0 {
			t.Errorf("document %d is there", absent)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := store.Read(func(s *sqlite.Snapshot) error {
		if !s.Resume(tx) {
			t.Fatal("the rehearsal does not go on")
		}
		changed, err := tx.Documents.Body(key)
		deleted, err2 := tx.Documents.Body(gone)
		absent, err3 := tx.Documents.NumberOf(fanfold.Key{Collection: "c", ID: "3"})
		if string(changed) != `{"v":1}` || string(deleted) != `{"v":1}` || absent != 0 || s.RowsRead() > 1 {
			t.Errorf("the documents are %s, %s and %d, after %d rows that were read", changed, deleted, absent, s.RowsRead())
		}
		return errors.Join(err, err2, err3)
	}); err != nil {
		t.Fatal(err)
	}
	if err := insert(store, 3, fanfold.Key{Collection: "c", ID: "3"}, `{"v":1}`); err != nil {
		t.Fatal(err)
	}
	if err := store.Read(func(s *sqlite.Snapshot) error {
		if s.Resume(tx) {
			t.Error("the rehearsal goes on after something was folded")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
