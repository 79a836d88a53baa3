package sqlite_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fanfold/fanfold/sqlite"
)

// update runs fn in a transaction on the store's generation.
func update(t *testing.T, store *sqlite.Store, fn func(tx *sqlite.Tx) error) {
	t.Helper()
	if err := store.Use(func(db *sqlite.DB) error { return db.Update(fn) }); err != nil {
		t.Fatal(err)
	}
}

// TestFailedStatementTakesAll: of a transaction in which a statement fails that writes many rows nothing is left, those rows that it
// wrote before included.
func TestFailedStatementTakesAll(t *testing.T) {
	store := openStore(t, t.TempDir())
	err := store.Use(func(db *sqlite.DB) error {
		return db.Update(func(tx *sqlite.Tx) error {
			for i := range int64(100) {
				if err := tx.Links.Add("r", "t", min(i, 90), false); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err == nil {
		t.Fatal("a link was stored twice")
	}
	update(t, store, func(tx *sqlite.Tx) error { return tx.Links.Add("r", "t", 7, false) })
	update(t, store, func(tx *sqlite.Tx) error {
		if n, err := tx.Links.CountHolders("r", "t", -1); err != nil || n != 1 {
			return fmt.Errorf("%d holders, %w", n, err)
		}
		return nil
	})
}

// TestPendingRowsAreRead: a transaction reads its own rows, whether or not they were written, and so does the next.
func TestPendingRowsAreRead(t *testing.T) {
	store := openStore(t, t.TempDir())
	check := func(tx *sqlite.Tx) error {
		holders, err := tx.Links.Holders(nil, "r", "t", -1)
		if err != nil || !slices.Equal(holders, []int64{1, 2, 3}) {
			return fmt.Errorf("holders %v, %w", holders, err)
		}
		if held, err := tx.Links.HasHolders("r", "u"); err != nil || held {
			return fmt.Errorf("the removed link's target is held: %v, %w", held, err)
		}
		if least, err := tx.Aggregates.FirstEntry("e", "t"); err != nil || string(least) != "a" {
			return fmt.Errorf("entry %q, %w", least, err)
		}
		if n, sum, err := tx.Aggregates.Total("e", "t"); err != nil || n != 2 || sum != "5" {
			return fmt.Errorf("total %d of %s, %w", n, sum, err)
		}
		if n, _, err := tx.Aggregates.Total("e", "none"); err != nil || n != 0 {
			return fmt.Errorf("the removed total is of %d, %w", n, err)
		}
		if value, err := tx.KeptValues.Get("k", "t", 1); err != nil || string(value) != "2" {
			return fmt.Errorf("kept %q, %w", value, err)
		}
		holder, seq, err := tx.Snapshot().Claim("c", "p", "v")
		if err != nil || holder != "1" || seq != 7 {
			return fmt.Errorf("claim %q %d, %w", holder, seq, err)
		}
		holder, seq, err = tx.Snapshot().Claim("c", "p", "free")
		if err != nil || holder != "" || seq != 8 {
			return fmt.Errorf("freed claim %q %d, %w", holder, seq, err)
		}
		return nil
	}
	update(t, store, func(tx *sqlite.Tx) error {
		return errors.Join(tx.Links.Add("r", "t", 3, true), tx.Links.Add("r", "t", 1, true), tx.Links.AddAll([]sqlite.Link{{Relation: "r", Target: "t"}}, 2),
			tx.Links.Add("r", "u", 4, false), tx.Links.Remove("r", "u", 4), tx.Aggregates.AddEntry("e", "t", []byte("b"), 1), tx.Aggregates.AddEntry("e", "t", []byte("a"), 2),
			tx.Aggregates.SetTotal("e", "t", 1, "3"), tx.Aggregates.SetTotal("e", "t", 2, "5"), tx.Aggregates.SetTotal("e", "none", 1, "1"), tx.Aggregates.SetTotal("e", "none", 0, ""),
			tx.KeptValues.Add("k", "t", 1, []byte("1")), tx.KeptValues.Add("k", "t", 1, []byte("2")), tx.Uniques.SetSequence("c", "p", "v", 7), tx.Uniques.Set("c", "p", "v", "1"),
			tx.Uniques.SetSequence("c", "p", "free", 8), tx.Uniques.Set("c", "p", "free", "1"), tx.Uniques.Free("c", "p", "free", "1"), check(tx))
	})
	update(t, store, check)
	update(t, store, func(tx *sqlite.Tx) error {
		return errors.Join(tx.Aggregates.SetTotal("e", "t", 9, "9"), tx.Aggregates.Forget("e"))
	})
	update(t, store, func(tx *sqlite.Tx) error {
		if n, _, err := tx.Aggregates.Total("e", "t"); err != nil || n != 0 {
			return fmt.Errorf("a forgotten total is of %d, %w", n, err)
		}
		return nil
	})
}

// TestPendingRowsEndWithTheTransaction: what a transaction has pending, and what it knew, goes with it where it fails.
func TestPendingRowsEndWithTheTransaction(t *testing.T) {
	store, failure := openStore(t, t.TempDir()), errors.New("failure")
	err := store.Use(func(db *sqlite.DB) error {
		return db.Update(func(tx *sqlite.Tx) error {
			return errors.Join(tx.Links.Add("r", "t", 1, true), tx.Aggregates.SetTotal("e", "t", 2, "5"), tx.Uniques.Set("c", "p", "v", "1"), failure)
		})
	})
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	update(t, store, func(tx *sqlite.Tx) error {
		held, err := tx.Links.HasHolders("r", "t")
		n, _, err2 := tx.Aggregates.Total("e", "t")
		holder, _, err3 := tx.Snapshot().Claim("c", "p", "v")
		if held || n != 0 || holder != "" {
			t.Errorf("held %v, total of %d, claimed by %q", held, n, holder)
		}
		return errors.Join(err, err2, err3)
	})
}

// TestPendingRowsAreBounded: a transaction of many rows writes them as it goes.
func TestPendingRowsAreBounded(t *testing.T) {
	store := openStore(t, t.TempDir())
	const many = 60_000
	update(t, store, func(tx *sqlite.Tx) error {
		for i := range int64(many) {
			target := fmt.Sprint(i)
			if err := errors.Join(tx.Links.Add("r", target, i, true), tx.Aggregates.SetTotal("e", target, 1, "1"), tx.Uniques.Set("c", "p", target, target)); err != nil {
				return err
			}
		}
		if rows := tx.PendingRows(); rows > many {
			t.Errorf("%d rows are kept back", rows)
		}
		return nil
	})
	update(t, store, func(tx *sqlite.Tx) error {
		for i := range int64(many) {
			held, err := tx.Links.HasHolders("r", fmt.Sprint(i))
			n, _, err2 := tx.Aggregates.Total("e", fmt.Sprint(i))
			if err := errors.Join(err, err2); err != nil || !held || n != 1 {
				return fmt.Errorf("row %d: held %v, total of %d, %w", i, held, n, err)
			}
		}
		return nil
	})
}
