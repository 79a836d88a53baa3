package fold_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// chained folds events into a generation, as a projector does, with a digest for each.
func chained(t *testing.T, db *sqlite.DB, events []*fanfold.Event) {
	t.Helper()
	var f *fold.Fold
	if err := db.ReadUnshared(func(s *sqlite.Snapshot) error {
		plan, err := fold.PlanOf(s)
		f = fold.New(plan, fold.Options{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if ev.Loss.Erases() {
			if err := db.SetAsOf(ev.Loss.UpTo); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Update(func(tx *sqlite.Tx) error {
			if err := f.ApplyAll(tx, []*fanfold.Event{ev}); err != nil {
				return err
			}
			return tx.AddDigest(ev.Seq, digestOf(ev))
		}); err != nil {
			t.Fatalf("event %d: %v", ev.Seq, err)
		}
	}
}

// digestOf returns a digest that stands for an event.
func digestOf(ev *fanfold.Event) (d fanfold.Digest) {
	d[0], d[1], d[2] = byte(ev.Seq), byte(ev.Seq>>8), 1
	return d
}

// requireSameFromBases folds a history whole, and cut at one event of so many: the base there, and the events after it. The cut one must
// have the same rows as the whole one.
func requireSameFromBases(t *testing.T, events []*fanfold.Event, one int) {
	t.Helper()
	store, err := sqlite.OpenStore(t.TempDir(), sqlite.Options{Fingerprint: fold.Fingerprint()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := store.Use(func(db *sqlite.DB) error { chained(t, db, events); return nil }); err != nil {
		t.Fatal(err)
	}
	whole, err := store.Freeze(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := whole.Remove(); err != nil {
			t.Error(err)
		}
	}()
	prefix, folded := build(t, store), 0
	for i, ev := range events {
		if ev.Tx.Open() || i%one != 0 {
			continue
		}
		chained(t, prefix, events[folded:i+1])
		folded = i + 1
		var file bytes.Buffer
		h, err := prefix.WriteBase(t.Context(), &file)
		if err != nil {
			t.Fatal(err)
		}
		cut := build(t, store)
		loaded, err := cut.LoadBase(t.Context(), bytes.NewReader(file.Bytes()), fanfold.Horizon{Seq: h.Seq, Digest: h.Digest})
		if err != nil || loaded != h {
			t.Fatalf("base of event %d: %+v, %v; want %+v", i+1, loaded, err, h)
		}
		requireSameBase(t, cut, file.Bytes())
		chained(t, cut, events[i+1:])
		d, err := whole.Compare(t.Context(), cut, &h, nil)
		if err != nil || d.First != nil {
			t.Fatalf("cut after event %d: %+v, %+v, %v", i+1, d, d.First, err)
		}
		if i%(one*readEvery) == 0 {
			requireSameReads(t, store.Read, cut.ReadUnshared, h)
		}
		if err := store.Discard(cut); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Discard(prefix); err != nil {
		t.Fatal(err)
	}
}

// readEvery is of how many cuts all that can be read is compared at one.
const readEvery = 5

// build returns an empty generation.
func build(t *testing.T, store *sqlite.Store) *sqlite.DB {
	t.Helper()
	db, err := store.Build()
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// requireSameBase checks that the base of a generation that was loaded from one is that one.
func requireSameBase(t *testing.T, db *sqlite.DB, want []byte) {
	t.Helper()
	var file bytes.Buffer
	if _, err := db.WriteBase(t.Context(), &file); err != nil || !bytes.Equal(file.Bytes(), want) {
		t.Fatalf("the base of what was loaded is another one: %v", err)
	}
}

// goldenCuts is of how many events of a golden history it is cut at one.
const goldenCuts = 4

// TestBaseOfEachHistory cuts the golden histories.
func TestBaseOfEachHistory(t *testing.T) {
	paths, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.Contains(path, "fuzz") {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			m := newMachine(t)
			datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string { return m.run(d) })
			events := m.folded
			requireSameFromBases(t, events, goldenCuts)
		})
	}
}
