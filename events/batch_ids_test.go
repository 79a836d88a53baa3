package events

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
)

// TestBatchKeepsTwoIDs: of a batch's messages only the last has an id, and the one by which the batch is looked for. The latter is a key's
// message, or one on a subject of its own.
func TestBatchKeepsTwoIDs(t *testing.T) {
	l := openQueueTest(t, 0)
	plain, check := queuePut("a"), &fanfold.Event{Kind: fanfold.KindCheck, Key: fanfold.Key{Collection: "c", ID: "b"}}
	keyed := queuePut("c")
	keyed.IdempotencyKey = fanfold.IdempotencyKey{Hash: "hash", Digest: "digest"}
	for name, c := range map[string]struct {
		events []*fanfold.Event
		want   []bool
		at     int
	}{
		"plain":       {[]*fanfold.Event{plain, plain, plain, plain}, []bool{true, false, false, true}, 0},
		"one":         {[]*fanfold.Event{plain}, []bool{true}, 0},
		"a key":       {[]*fanfold.Event{plain, keyed, plain, plain}, []bool{false, true, false, true}, 1},
		"checks":      {[]*fanfold.Event{check, check, plain, plain}, []bool{false, false, true, true}, 2},
		"checks only": {[]*fanfold.Event{check, check, check}, []bool{true, false, true}, 0},
	} {
		var writes []fanfold.Write
		for _, ev := range c.events {
			writes = append(writes, fanfold.Write{Event: ev, Expect: fanfold.Exactly(0)})
		}
		msgs, err := l.batchMessages("", writes)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range msgs {
			if has := m.Header.Get(jetstream.MsgIDHeader) != ""; has != c.want[i] {
				t.Errorf("%s: message %d has an id: %t", name, i, has)
			}
		}
		if at := searchIndex(msgs); at != c.at {
			t.Errorf("%s: the batch is looked for by message %d", name, at)
		}
	}
}
