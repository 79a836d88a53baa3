package writer

import (
	"context"
	"slices"
	"testing"

	"github.com/fanfold/fanfold"
)

// waitedRows is a ReadModel that notes what is waited for.
type waitedRows struct {
	ReadModel
	seqs []uint64
}

func (r *waitedRows) Wait(_ context.Context, seq uint64) error {
	r.seqs = append(r.seqs, seq)
	return nil
}

func (r *waitedRows) Applied() uint64 { return 0 }

// TestDecide: a try is repeated, after the wait for the write that was faster, where it says so, and no more often than the
// plan has tries. A Stale that the request itself asked for ends it.
func TestDecide(t *testing.T) {
	rows := &waitedRows{}
	w := New(Dependencies{ReadModel: rows}, Options{MaxEvent: 1 << 20})
	defer w.Close()
	stale := func(current fanfold.Revision) error { return fanfold.AtOperation(staleAt(fanfold.Key{}, current), 1) }
	lost := 0
	seq, err := w.decide(t.Context(), plan{try: func(_ context.Context, again bool) (uint64, error) {
		if again {
			lost++
		}
		return 9, []error{lostTry{staleError(stale(7))}, lostTry{staleError(stale(8))}, nil}[lost]
	}})
	if seq != 9 || err != nil || !slices.Equal(rows.seqs, []uint64{7, 8}) || w.Retries() != 2 {
		t.Errorf("%d, %v, after waits for %v and %d retries", seq, err, rows.seqs, w.Retries())
	}
	tries := 0
	lose := func(context.Context, bool) (uint64, error) {
		tries++
		return 0, again(stale(fanfold.Revision(10 + tries)))
	}
	if _, err := w.decide(t.Context(), plan{try: lose, tries: 3}); tries != 3 || staleError(err) == nil || staleError(err).Current != 13 || lostTo(err) != nil {
		t.Errorf("after %d tries: %v", tries, err)
	}
	rows.seqs = nil
	if _, err := w.decide(t.Context(), plan{try: lose, tries: 6, await: atOnce}); staleError(err) == nil || rows.seqs != nil {
		t.Errorf("a plan that waits for nothing waited for %v: %v", rows.seqs, err)
	}
	tries = 0
	asked := stale(5)
	if _, err := w.decide(t.Context(), plan{try: func(context.Context, bool) (uint64, error) {
		tries++
		return 0, asked
	}}); err != asked || tries != 1 { //nolint:errorlint // it must be as it came
		t.Errorf("after %d tries: %v", tries, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.decide(ctx, plan{try: lose}); fanfold.CodeOf(err) != fanfold.Unavailable {
		t.Errorf("for a client that has gone: %v", err)
	}
}

// TestKeyOfActor: without an actor a key is as it came, so that keys that were stored go on to work. No two actors share one.
func TestKeyOfActor(t *testing.T) {
	key := fanfold.IdempotencyKey{Hash: "hash", Digest: "digest"}
	if got := keyOf("", key); got != key {
		t.Errorf("without an actor the key is %v", got)
	}
	if got := keyOf("a", fanfold.IdempotencyKey{}); got != (fanfold.IdempotencyKey{}) {
		t.Errorf("no key is %v", got)
	}
	a, b := keyOf("a", key), keyOf("b", key)
	if a == b || a == key || a.Digest != key.Digest || len(a.Hash) != 43 || a != keyOf("a", key) {
		t.Errorf("the keys of two actors are %v and %v", a, b)
	}
}

// changing is a read model that shows no document at first, and revision 3 once it has caught up.
type changing struct {
	ReadModel
	Leader

	caughtUp bool
}

func (c *changing) Get(key fanfold.Key, _ fanfold.View) (*fanfold.Document, fanfold.Position, error) {
	if !c.caughtUp {
		return nil, 0, nil
	}
	return &fanfold.Document{Key: key, Revision: 3}, 0, nil
}

func (c *changing) Wait(context.Context, uint64) error {
	c.caughtUp = true
	return nil
}

func (c *changing) Last(context.Context, fanfold.Key) (fanfold.Revision, bool, error) {
	return 2, false, nil
}

// TestDocumentsThatChangeMeanwhile: a document changes after the log's leader has told its revision. Then a write is decided again, unless it asks
// for that revision.
func TestDocumentsThatChangeMeanwhile(t *testing.T) {
	for _, c := range []struct {
		conditions Conditions
		again      bool
	}{{Conditions{}, true}, {Conditions{Exists: true}, true}, {Conditions{Revisions: []fanfold.Revision{2}}, false}} {
		model := &changing{}
		w := &Writer{Dependencies: Dependencies{ReadModel: model, Leader: model}}
		_, err := w.current(t.Context(), fanfold.Key{Collection: "docs", ID: "d"}, c.conditions)
		if stale := staleError(err); stale == nil || stale.Current != 3 || (lostTo(err) != nil) != c.again {
			t.Errorf("%+v: %v", c.conditions, err)
		}
	}
}
