package fold_test

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// TestKeysAreKeptADay checks that a key is known for 24 hours of the log's time, and no longer.
func TestKeysAreKeptADay(t *testing.T) {
	m := newMachine(t)
	begin := time.Unix(1_000_000, 0)
	write := func(key string, at time.Time) {
		t.Helper()
		m.seq++
		ev := &fanfold.Event{Seq: m.seq, Time: at, Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "c", ID: "1"}, Body: []byte(`{"id":"1"}`),
			IdempotencyKey: fanfold.IdempotencyKey{Hash: key, Digest: "d"}}
		if err := m.store.Use(func(db *sqlite.DB) error { return apply(db, m.fold, []*fanfold.Event{ev}) }); err != nil {
			t.Fatal(err)
		}
	}
	want := func(key string, seq uint64) {
		t.Helper()
		err := m.store.Read(func(s *sqlite.Snapshot) error {
			r, err := s.IdempotencyKey(key)
			if err == nil && (r == nil) != (seq == 0) || r != nil && r.Seq != seq {
				t.Errorf("key %s is known as %+v, want event %d", key, r, seq)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write("a", begin)
	write("b", begin.Add(time.Hour))
	write("a", begin.Add(2*time.Hour)) // the first one stays
	want("a", 1)
	write("c", begin.Add(24*time.Hour))
	want("a", 1)
	want("b", 2)
	write("d", begin.Add(24*time.Hour+time.Second))
	want("a", 0)
	want("b", 2)
}

// TestPartOfATransactionStops checks that an event of a transaction whose beginning is missing is not folded, nor one
// that comes where a transaction was to go on.
func TestPartOfATransactionStops(t *testing.T) {
	m := newMachine(t)
	part := func(seq uint64, id string, index, count int) *fanfold.Event {
		return &fanfold.Event{Seq: seq, Time: time.Unix(1, 0), Kind: fanfold.KindFence, Tx: fanfold.TxPart{ID: id, Index: index, Count: count}}
	}
	for name, batch := range map[string][]*fanfold.Event{
		"its beginning":         {part(1, "x", 1, 2)},
		"another one's event":   {part(1, "x", 0, 2), part(2, "y", 1, 2)},
		"its middle":            {part(1, "x", 0, 3), part(2, "x", 2, 3)},
		"an event outside it":   {part(1, "x", 0, 2), {Seq: 2, Kind: fanfold.KindFence}},
		"another one too early": {part(1, "x", 0, 2), part(2, "y", 0, 2)},
	} {
		m.fold = fold.New(m.fold.Plan(), fold.Options{})
		if err := m.store.Use(func(db *sqlite.DB) error { return apply(db, m.fold, batch) }); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.fold = fold.New(m.fold.Plan(), fold.Options{})
	if err := m.store.Use(func(db *sqlite.DB) error {
		return apply(db, m.fold, []*fanfold.Event{part(1, "x", 0, 2), part(2, "x", 1, 2)})
	}); err != nil {
		t.Error(err)
	}
}
