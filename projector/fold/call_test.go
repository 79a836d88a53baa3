package fold_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/sqlite"
)

// calls are the events of a log in which functions were called. They come under a model: a client's write, a call that has written two documents, a client's
// transaction, and a call between a check and a gate.
func calls(t *testing.T) (evs []*fanfold.Event) {
	t.Helper()
	parsed, err := modelfile.Parse([]byte(`{"collections":{"books":{"relations":{"author":{"path":"author","to":"authors"}},"derive":{"name":{"copy":"author","value":"doc.name"}}},"authors":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	add := func(tx string, part ...*fanfold.Event) {
		for i, ev := range part {
			if tx != "" {
				ev.Tx = fanfold.TxPart{ID: tx, Index: i, Count: len(part)}
			}
			ev.Seq = uint64(len(evs) + 1)
			ev.Time = time.Unix(int64(ev.Seq), 0)
			evs = append(evs, ev)
		}
	}
	write := func(collection, id, body string) *fanfold.Event {
		return &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: collection, ID: id}, Body: []byte(body)}
	}
	call := func(function string) *fanfold.Event {
		return &fanfold.Event{Kind: fanfold.KindCall, Call: &fanfold.Call{Function: function, Model: 1, Writes: 1}, IdempotencyKey: fanfold.IdempotencyKey{Hash: "h" + function, Digest: "d"}}
	}
	add("", &fanfold.Event{Kind: fanfold.KindModel, Body: parsed.Source})
	add("", write("authors", "a", `{"id":"a","name":"A"}`)) // 2
	for i := range 3 {
		add("", write("books", fmt.Sprint("b", i), fmt.Sprintf(`{"id":"b%d","author":"a"}`, i))) // 3 to 5
	}
	add("t1", call("rename"), write("authors", "a", `{"id":"a","name":"B"}`), write("books", "b3", `{"id":"b3","author":"a"}`)) // 6 to 8
	add("", write("authors", "a", `{"id":"a","name":"C"}`))                                                                     // 9
	add("t2", write("books", "b0", `{"id":"b0"}`), write("authors", "a", `{"id":"a","name":"D"}`))                              // 10 and 11
	add("t3", &fanfold.Event{Kind: fanfold.KindCheck, Key: fanfold.Key{Collection: "books"}}, call("remove\nit"),
		&fanfold.Event{Kind: fanfold.KindDelete, Key: fanfold.Key{Collection: "authors", ID: "a"}}, &fanfold.Event{Kind: fanfold.KindGate, Key: fanfold.Key{Collection: "authors"}}) // 12 to 15
	return evs
}

// TestCallsOfChanges: changes of a function's transaction name it, direct and derived ones alike, and no others do. It is so however
// many events are folded at once, and by SQL for many documents as for one after the other.
func TestCallsOfChanges(t *testing.T) {
	want := []string{"2-0", "3-0", "4-0", "5-0",
		`7-0 t1 "rename"`, `7-1 t1 "rename"`, `7-2 t1 "rename"`, `7-3 t1 "rename"`, `8-0 t1 "rename"`,
		"9-0", "9-1", "9-2", "9-3", "9-4", "10-0 t2", "11-0 t2", "11-1 t2", "11-2 t2", "11-3 t2",
		`14-0 t3 "remove\nit"`, `14-1 t3 "remove\nit"`, `14-2 t3 "remove\nit"`, `14-3 t3 "remove\nit"`}
	batches := [][]int{{15}, {1, 1, 1, 1, 1, 3, 1, 2, 4}, {8, 7}}
	for _, sets := range []int{-1, 1} {
		for _, sizes := range batches {
			m := newMachine(t)
			m.fold = fold.New(m.fold.Plan(), fold.Options{SetOrientedFrom: sets})
			evs := calls(t)
			for _, n := range sizes {
				if err := m.store.Use(func(db *sqlite.DB) error { return apply(db, m.fold, evs[:n]) }); err != nil {
					t.Fatal(err)
				}
				evs = evs[n:]
			}
			var got []string
			err := m.store.Read(func(s *sqlite.Snapshot) error {
				page, err := s.Changes(fanfold.ChangeQuery{Limit: 1000, Docs: true})
				for _, row := range page.Rows {
					line := row.Position.String()
					if row.Tx != "" {
						line += " " + row.Tx
					}
					if row.Call != "" {
						line += fmt.Sprintf(" %q", row.Call)
					}
					got = append(got, line)
				}
				return err
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("folded by %v, set-oriented from %d, the changes are\n%q\nwant\n%q\n%v", sizes, sets, got, want, err)
			}
			err = m.store.Read(func(s *sqlite.Snapshot) error {
				r, err := s.IdempotencyKey("hrename")
				if err == nil && (r == nil || r.Seq != 6) {
					t.Errorf("the call's key is known as %+v", r)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}
