package sqlite

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// within runs fn in a transaction on the store's generation.
func within(t *testing.T, store *Store, fn func(tx *Tx) error) {
	t.Helper()
	if err := store.Use(func(db *DB) error { return db.Update(fn) }); err != nil {
		t.Fatal(err)
	}
}

// storedEntries returns the entries in the file, in order, and how many each index says that it has.
func storedEntries(t *testing.T, store *Store) (entries []indexEntry, counts map[int64]int64) {
	t.Helper()
	counts = map[int64]int64{}
	if err := store.Read(func(s *Snapshot) error {
		all, err := s.AllIndexes()
		for _, x := range all {
			counts[x.ID] = x.Entries
		}
		if err != nil {
			return err
		}
		return s.c.Query("SELECT idx, key, tie FROM index_entry ORDER BY idx, key, tie", func(r driver.Row) error {
			entries = append(entries, indexEntry{id: r.Int(0), key: bytes.Clone(r.Blob(1)), tie: r.Int(2)})
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return entries, counts
}

// TestIndexEntryChanges adds and removes entries at random, some of them several times in a transaction, and compares the file
// with a map.
func TestIndexEntryChanges(t *testing.T) {
	store, rng, want := openInternal(t), rand.New(rand.NewPCG(1, 2)), map[string]indexEntry{}
	within(t, store, func(tx *Tx) error {
		for _, name := range []string{"a", "b", "c"} {
			if _, err := tx.Indexes.Add("docs", name, "[]"); err != nil {
				return err
			}
		}
		return nil
	})
	for range 30 {
		within(t, store, func(tx *Tx) error {
			for range rng.IntN(200) {
				e := indexEntry{id: 1 + rng.Int64N(3), key: bytes.Repeat([]byte{byte(rng.IntN(4))}, rng.IntN(3)), tie: rng.Int64N(5) - 2}
				name, change := fmt.Sprint(e), tx.Indexes.AddEntry
				if _, there := want[name]; there {
					change = tx.Indexes.RemoveEntry
					delete(want, name)
				} else {
					want[name] = e
				}
				if err := change(e.id, e.key, e.tie); err != nil {
					return err
				}
				if rng.IntN(40) == 0 { // a statement about the table meets all of it
					if _, err := tx.Indexes.CountPrefix(1, nil, []byte{9}, 9); err != nil {
						return err
					}
				}
			}
			return nil
		})
		requireEntries(t, store, want)
	}
	within(t, store, func(tx *Tx) error { return tx.Indexes.Remove(2) })
	for name, e := range want {
		if e.id == 2 {
			delete(want, name)
		}
	}
	requireEntries(t, store, want)
}

// requireEntries fails the test unless the file has these entries.
func requireEntries(t *testing.T, store *Store, want map[string]indexEntry) {
	t.Helper()
	got, counts := storedEntries(t, store)
	for _, e := range got {
		if _, there := want[fmt.Sprint(e)]; !there {
			t.Fatalf("%v is there", e)
		}
		counts[e.id]--
	}
	for id, n := range counts {
		if n != 0 {
			t.Fatalf("index %d counts %d entries too many", id, n)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("there are %d entries, want %d", len(got), len(want))
	}
}

// TestIndexBuild builds indexes of more entries than memory is for, beside entries of others that are pending.
func TestIndexBuild(t *testing.T) {
	for _, spills := range []bool{false, true} {
		store := openInternal(t)
		within(t, store, func(tx *Tx) error {
			for _, name := range []string{"a", "b", "c"} {
				if _, err := tx.Indexes.Add("docs", name, "[]"); err != nil {
					return err
				}
			}
			if err := tx.Indexes.AddEntry(2, []byte("pending"), 7); err != nil {
				return err
			}
			b := tx.Indexes.Build()
			for i := range int64(100) {
				if spills && i%30 == 29 {
					b.bytes = maxBuildBytes
				}
				if err := b.Add(1+2*(i%2), fmt.Append(nil, (i*37)%100), i); err != nil {
					return err
				}
			}
			if b.spilled != spills {
				return fmt.Errorf("spilled is %t", b.spilled)
			}
			return b.Finish()
		})
		got, counts := storedEntries(t, store)
		if len(got) != 101 || counts[1] != 50 || counts[2] != 1 || counts[3] != 50 || !slices.IsSortedFunc(got, compareIndexEntries) {
			t.Errorf("there are %d entries, and %v are counted", len(got), counts)
		}
		within(t, store, func(tx *Tx) error { // nothing of it is left for the next one
			b := tx.Indexes.Build()
			b.spilled = true
			return b.Finish()
		})
		if again, _ := storedEntries(t, store); len(again) != len(got) {
			t.Errorf("there are %d entries after nothing was built", len(again))
		}
	}
}

// TestEachKey compares the different keys of walks with a loop over all entries. Some keys have hundreds of entries, and are counted
// by themselves.
func TestEachKey(t *testing.T) {
	store, rng := openInternal(t), rand.New(rand.NewPCG(3, 4))
	var all []indexEntry
	within(t, store, func(tx *Tx) error {
		if _, err := tx.Indexes.Add("docs", "a", "[]"); err != nil {
			return err
		}
		for i := range byte(40) {
			entries := 1 + rng.IntN(3)
			if rng.IntN(3) == 0 || i < 3 {
				entries = 300 * (1 + rng.IntN(2))
			}
			for range entries {
				e := indexEntry{id: 1, key: bytes.Repeat([]byte{i}, rng.IntN(2)+min(1, int(i))), tie: rng.Int64N(1<<40) - 1<<39}
				all = append(all, e)
				if err := tx.Indexes.AddEntry(e.id, e.key, e.tie); err != nil {
					return err
				}
			}
		}
		return nil
	})
	slices.SortFunc(all, compareIndexEntries)
	for range 300 {
		w := model.Walk{Index: 1, Backward: rng.IntN(2) == 0, Inverted: rng.IntN(2) == 0}
		if rng.IntN(2) == 0 {
			w.Low = []byte{byte(rng.IntN(40))}
		}
		if rng.IntN(2) == 0 {
			w.High = []byte{byte(rng.IntN(40))}
		}
		most := 1 + rng.IntN(100)
		var got []string
		if err := store.Read(func(s *Snapshot) error {
			return s.EachKey(w, func(key []byte, entries, number int64) (bool, error) {
				got = append(got, fmt.Sprint(string(key), entries, number))
				return len(got) < most, nil
			})
		}); err != nil {
			t.Fatal(err)
		}
		if want := keysOf(all, w, most); !slices.Equal(got, want) {
			t.Fatalf("%+v has the keys\n%q, want\n%q", w, got, want)
		}
	}
}

// keysOf returns what EachKey tells of a walk over entries, up to most keys.
func keysOf(all []indexEntry, w model.Walk, most int) (out []string) {
	for len(all) > 0 {
		n, number := 0, int64(math.MaxInt64)
		for n < len(all) && bytes.Equal(all[n].key, all[0].key) {
			number = min(number, w.Number(all[n].tie))
			n++
		}
		if key := all[0].key; bytes.Compare(key, w.Low) >= 0 && (w.High == nil || bytes.Compare(key, w.High) < 0) {
			out = append(out, fmt.Sprint(string(key), n, number))
		}
		all = all[n:]
	}
	if w.Backward {
		slices.Reverse(out)
	}
	return out[:min(len(out), most)]
}

// TestMoveIndexEntries moves the entries of a target's holders, and leaves other entries where they are.
func TestMoveIndexEntries(t *testing.T) {
	for _, descends := range []bool{false, true} {
		for _, all := range []bool{false, true} {
			store := openInternal(t)
			within(t, store, func(tx *Tx) error {
				if _, err := tx.Indexes.Add("docs", "a", "[]"); err != nil {
					return err
				}
				for number := range int64(4) {
					tie := number
					if descends {
						tie = ^number
					}
					if err := tx.Indexes.AddEntry(1, []byte{5, 0xff, 0, byte(number)}, tie); err != nil {
						return err
					}
					if number < 2 {
						if err := tx.Links.Add("r", "t", number, false); err != nil {
							return err
						}
					}
				}
				return tx.Indexes.MoveEntries(IndexMove{ID: 1, Descends: descends, Prefix: []byte{5, 0xff}, Next: []byte{6}, To: []byte{0xc3, 0, 0x28}, Relation: "r", Target: "t", All: all})
			})
			entries, _ := storedEntries(t, store)
			moved := 0
			for _, e := range entries {
				number := e.tie
				if descends {
					number = ^number
				}
				switch {
				case bytes.Equal(e.key, []byte{0xc3, 0, 0x28, 0, byte(number)}) && (all || number < 2):
					moved++
				case !bytes.Equal(e.key, []byte{5, 0xff, 0, byte(number)}) || all || number < 2:
					t.Errorf("document %d has the key %x", number, e.key)
				}
			}
			if len(entries) != 4 || moved != map[bool]int{false: 2, true: 4}[all] {
				t.Errorf("%d of %d entries have moved", moved, len(entries))
			}
		}
	}
}
