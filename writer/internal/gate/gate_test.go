package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/model"
)

// told is a Rehearser that shows what it is given for each step.
type told struct {
	changes map[string][]model.DocumentChange // by the id that the step writes
	folded  uint64
	err     error
}

func (r *told) Rehearse(_ context.Context, steps [][]*fanfold.Event, follows func(string) bool, judge func(int, []model.DocumentChange) (bool, error)) (uint64, error) {
	for n, step := range steps {
		var changes []model.DocumentChange
		for _, ev := range step {
			for _, d := range r.changes[ev.Key.ID] {
				if follows(d.Key.Collection) {
					changes = append(changes, d)
				}
			}
		}
		if _, err := judge(n, changes); err != nil {
			return r.folded, err
		}
	}
	return r.folded, r.err
}

// parsed returns a model.
func parsed(t *testing.T, text string) *model.Model {
	t.Helper()
	m, err := modelfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const seats = `collections: {events: {derive: {sold: {count: orders.event}, left: {value: doc.capacity - doc.sold}}, checks: {full: {that: doc.left >= 0}}}, orders: {relations: {event: {path: event, to: events}}}, others: {}}`

func put(collection, id string) fanfold.Write {
	return fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: collection, ID: id}, Body: []byte(`{"id":"x"}`)}}
}

// change returns what a write does to the documents of a line such as "orders/o1 {...} {...}"; - is for no document.
func change(line string) model.DocumentChange {
	parts := strings.Fields(line)
	collection, id, _ := strings.Cut(parts[0], "/")
	d := model.DocumentChange{Key: fanfold.Key{Collection: collection, ID: id}}
	for i, view := range []*[]byte{&d.Before, &d.After} {
		if parts[i+1] != "-" {
			*view = []byte(parts[i+1])
		}
	}
	return d
}

// TestDecide: a round has the gates of the documents that its writes touch, or says which of its writes would break a check.
func TestDecide(t *testing.T) {
	m := parsed(t, seats)
	r := &told{folded: 50, changes: map[string][]model.DocumentChange{
		"o1": {change(`orders/o1 - {"event":"e1"}`), change(`events/e1 {"left":1} {"left":0}`)},
		"o2": {change(`orders/o2 - {"event":"e1"}`), change(`events/e1 {"left":0} {"left":-1}`)},
		"o3": {change(`orders/o3 {"event":"e2"} {"event":"gone"}`), change(`events/e2 {"left":-3} {"left":-2}`)},
	}}
	last := map[string]uint64{"events/e2": 40}
	g := New(r, func(_ context.Context, key fanfold.Key) (uint64, error) { return last[key.String()], nil }, nil)
	if !g.Concern(m, put("orders", "o1").Event) || !g.Concern(m, put("events", "e1").Event) || g.Concern(m, put("others", "x").Event) {
		t.Error("orders and events concern the check, others do not")
	}
	gates, err := g.Decide(t.Context(), Round{Model: m, Writes: []fanfold.Write{put("orders", "o1"), put("orders", "o3")}, Most: 10})
	var got []string
	for _, w := range gates {
		got = append(got, fmt.Sprint(w.Event.Kind, " ", w.Event.Key, " ", w.Expect.Rev, " ", w.Expect.Folded))
	}
	if want := "[gate events/e1 0 50 gate events/e2 40 50 gate events/gone 0 50]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("the gates are %v, %v, want %s", got, err, want)
	}
	_, err = g.Decide(t.Context(), Round{Model: m, Writes: []fanfold.Write{put("orders", "o1"), put("orders", "o2")}, Most: 10})
	var refused *Refused
	if !errors.As(err, &refused) || fmt.Sprint(refused.At) != "[1]" || fanfold.CodeOf(err) != fanfold.CheckFailed || !strings.Contains(err.Error(), "events/e1 full") {
		t.Errorf("the refusal is %v", err)
	}
	if _, err := g.Decide(t.Context(), Round{Model: m, Writes: []fanfold.Write{put("orders", "o2")}, Most: 10, Lenient: true}); err != nil {
		t.Errorf("a lenient round is refused: %v", err)
	}
	if _, err := g.Decide(t.Context(), Round{Model: m, Writes: []fanfold.Write{put("orders", "o2")}, Most: 10, Together: true}); fanfold.CodeOf(err) != fanfold.CheckFailed {
		t.Errorf("the transaction: %v", err)
	}
	if _, err := g.Decide(t.Context(), Round{Model: m, Writes: []fanfold.Write{put("orders", "o3")}, Most: 1}); !errors.Is(err, ErrTooMany) {
		t.Errorf("more gates than there is room for: %v", err)
	}
	g.Decided(gates, 60, nil)
	var early NotFolded
	if _, err := g.Decide(t.Context(), Round{Model: m, Writes: []fanfold.Write{put("orders", "o3")}, Most: 10}); !errors.As(err, &early) || early.Seq != 61 {
		t.Errorf("a gate that is not folded: %v", err)
	}
}

// TestKnownGatesAreBounded: a node remembers 10,000 gates, and asks for others again.
func TestKnownGatesAreBounded(t *testing.T) {
	asked := 0
	g := New(&told{}, func(context.Context, fanfold.Key) (uint64, error) { asked++; return 7, nil }, nil)
	for i := range 2 * maxKnownGates {
		if seq, err := g.lastOf(t.Context(), fanfold.Key{Collection: "c", ID: fmt.Sprint(i)}); seq != 7 || err != nil {
			t.Fatal(seq, err)
		}
		if len(g.last) > maxKnownGates {
			t.Fatalf("%d are remembered", len(g.last))
		}
	}
	if asked != 2*maxKnownGates {
		t.Errorf("the leader was asked %d times", asked)
	}
}
