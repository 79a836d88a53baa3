package numbering_test

import (
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/sequence"
	"github.com/fanfold/fanfold/writer/numbering"
)

// last is the last number of every counter.
type last uint64

func (l last) Sequence(_, _ string) (uint64, uint64, error) { return uint64(l), 5, nil }

// TestLastNumber: the greatest number is given, and none after it. A counter's event says the last of several numbers, and requires the
// event before.
func TestLastNumber(t *testing.T) {
	m, err := modelfile.Parse([]byte(`{collections: {a: {sequences: {n: {}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	giver := &numbering.Giver{Counters: last(sequence.MaxNumber - 2), Check: func(string, []byte) error { return nil }}
	give := func() (*fanfold.Event, error) {
		return giver.Put(m.Collection("a"), &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "a", ID: "x"}, Body: []byte(`{"id":"x"}`)}, nil)
	}
	for _, want := range []string{`{"id":"x","n":9007199254740990}`, `{"id":"x","n":9007199254740991}`} {
		if ev, err := give(); err != nil || string(ev.Body) != want {
			t.Fatalf("%s, %v, want %s", ev.Body, err, want)
		}
	}
	if _, err := give(); fanfold.CodeOf(err) != fanfold.Unprocessable {
		t.Errorf("after the greatest number: %v", err)
	}
	events := numbering.TellRest(append(giver.Events(), fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindPut}}))
	given, err := events[0].Event.Given()
	if err != nil || given != (fanfold.GivenNumbers{Last: sequence.MaxNumber, Rest: 1}) || events[0].Expect.Rev != 5 || len(events) != 2 {
		t.Errorf("the events are %+v, %+v, %v", events, given, err)
	}
}
