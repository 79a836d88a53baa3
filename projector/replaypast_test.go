package projector

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
)

// TestPrefixesEndBehindGuards: the prefix of a log that is replayed divides no transaction, and no document from the claims and links that
// guard it, unless the log itself ends there.
func TestPrefixesEndBehindGuards(t *testing.T) {
	a, b := fanfold.Key{Collection: "as", ID: "1"}, fanfold.Key{Collection: "bs", ID: "1"}
	events := []*fanfold.Event{
		{Kind: fanfold.KindPut, Key: a},
		{Kind: fanfold.KindClaim, Key: b, Held: true},
		{Kind: fanfold.KindLink, Key: a, Holders: []fanfold.Key{b}, Held: true},
		{Kind: fanfold.KindPut, Key: b},
		{Kind: fanfold.KindFence},
		{Kind: fanfold.KindPut, Key: a, Tx: fanfold.TxPart{ID: "t", Count: 2}},
		{Kind: fanfold.KindPut, Key: b, Tx: fanfold.TxPart{ID: "t", Index: 1, Count: 2}},
		{Kind: fanfold.KindClaim, Key: b},
	}
	ends := []uint64{0, 1, 4, 4, 4, 5, 7, 7, 8} // by the event that is asked for
	for i, ev := range events {
		ev.Seq, ev.Time = uint64(i+1), time.Unix(int64(i+1), 0)
	}
	for asked := 1; asked < len(ends); asked++ {
		for _, to := range []fanfold.Moment{{Position: fanfold.At(uint64(asked), 0)}, {Time: time.Unix(int64(asked), 0)}} {
			if got := endOfPrefix(t, events, Past{To: to, Last: uint64(len(events))}); got != ends[asked] {
				t.Errorf("up to %+v it ends with event %d, want %d", to, got, ends[asked])
			}
		}
	}
	if got := endOfPrefix(t, events[:3], Past{To: fanfold.Moment{Position: fanfold.At(2, 0)}, Last: 3}); got != 3 {
		t.Errorf("a log that ends within ends with event %d", got)
	}
}

// endOfPrefix returns the last event of a prefix.
func endOfPrefix(t *testing.T, events []*fanfold.Event, past Past) (last uint64) {
	t.Helper()
	log := make(slowReader, len(events))
	for _, ev := range events {
		log <- ev
	}
	r, err := pastLog{log, past, fanfold.Horizon{}}.Events(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for {
		ev, _, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return last
		}
		if err != nil {
			t.Fatal(err)
		}
		last = ev.Seq
	}
}
