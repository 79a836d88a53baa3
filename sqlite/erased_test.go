package sqlite

import (
	"errors"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// TestErasedChanges: the times, transactions and actors of changes, and when documents were created and written, stay known where the
// changes that have them were erased.
func TestErasedChanges(t *testing.T) {
	store := openInternal(t)
	at := func(seq int64) time.Time { return time.Unix(seq, 0).UTC() }
	doc, other := fanfold.Key{Collection: "a", ID: "1"}, fanfold.Key{Collection: "b", ID: "1"}
	erase := func(tx *Tx, p fanfold.Position) error {
		return tx.c.Exec("DELETE FROM change WHERE position = ?", int64(p))
	}
	if err := store.current.Update(func(tx *Tx) error {
		if err := errors.Join(
			tx.AddChange(&fanfold.Change{Position: fanfold.At(1, 0), Key: doc, Op: fanfold.OpCreate, Time: at(1)}),
			tx.AddChange(&fanfold.Change{Position: fanfold.At(2, 0), Key: other, Op: fanfold.OpCreate, Time: at(2), Tx: "t", Actor: "key:k"}),
			tx.AddChange(&fanfold.Change{Position: fanfold.At(2, 1), Key: doc, Number: 1, Prior: fanfold.At(1, 0), Op: fanfold.OpDerive, Revision: 1, Rules: []string{"a.n"},
				Delta: []byte(`[{"op":"replace","path":"/n","value":1,"old":0}]`)}),
			tx.AddChange(&fanfold.Change{Position: fanfold.At(3, 0), Key: doc, Number: 1, Prior: fanfold.At(2, 1), Op: fanfold.OpReplace, Time: at(3), Previous: []byte(`{"n":1}`)}),
		); err != nil {
			return err
		}
		return tx.changes.flush()
	}); err != nil {
		t.Fatal(err)
	}
	check := func(what string) {
		t.Helper()
		if err := store.current.Read(func(s *Snapshot) error {
			ch, err := s.Change(fanfold.At(2, 1))
			if err != nil {
				return err
			}
			if !ch.Time.Equal(at(2)) || ch.Tx != "t" || ch.Actor != "key:k" {
				t.Errorf("%s: the derived change is of %v, transaction %q, actor %q", what, ch.Time, ch.Tx, ch.Actor)
			}
			v, _, err := (&history{s: s}).after(ch, 1000)
			if err != nil {
				return err
			}
			if v == nil || string(v.Body) != `{"n":1}` || !v.Created.Equal(at(1)) || !v.Updated.Equal(at(1)) {
				t.Errorf("%s: the version after it is %+v", what, v)
			}
			last, err := s.Before(at(3))
			if last != fanfold.At(2, 1) {
				t.Errorf("%s: the last change before the write is %s", what, last)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	check("before")
	if err := store.current.Update(func(tx *Tx) error {
		return errors.Join(erase(tx, fanfold.At(1, 0)), erase(tx, fanfold.At(2, 0)))
	}); err != nil {
		t.Fatal(err)
	}
	check("erased")
}
