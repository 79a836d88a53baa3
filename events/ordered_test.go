package events

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/semaphore"

	"github.com/fanfold/fanfold"
)

// TestBatchRoom: batches on their way have a bound, by bytes and by messages, that the largest of them keeps. One for which there is no
// room waits, and is not sent.
func TestBatchRoom(t *testing.T) {
	message := func(size int) *nats.Msg {
		return &nats.Msg{Subject: "s", Header: nats.Header{}, Data: make([]byte, size)}
	}
	largest := make([]*nats.Msg, MaxBatch)
	for i := range largest {
		largest[i] = message(MaxTxBytes / MaxBatch)
	}
	small := []*nats.Msg{message(10), message(10)}
	if w := weight(largest); w <= batchRoom/2 || w > batchRoom {
		t.Errorf("the largest transaction takes %d of %d", w, batchRoom)
	}
	if w := weight(small); w != 2 {
		t.Errorf("two small messages take %d", w)
	}
	o := &orderedBatches{room: semaphore.NewWeighted(batchRoom)}
	if !o.room.TryAcquire(batchRoom - 1) {
		t.Fatal("there is no room")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b := newOrderedBatch(small, make([]fanfold.Write, len(small)))
	if _, done, err := o.try(ended, b, 0); done || !errors.Is(err, errNotSent) || maybeStored(err) || b.sent != nil {
		t.Errorf("a batch without room: %v, %v", done, err)
	}
}

// TestLinksOf: of a link's subject all links to its target are told, of another subject none.
func TestLinksOf(t *testing.T) {
	s := subjects{"db"}
	target := fanfold.Key{Collection: "authors", ID: "a.b c"}
	for _, short := range []bool{true, false} {
		link := s.forEvent(&fanfold.Event{Kind: fanfold.KindLink, Key: target, Holders: []fanfold.Key{{Collection: "books", ID: "x.y"}}}, short)
		if got := s.linksOf(link); got != s.link(target)+".>" {
			t.Errorf("links to the target of %s are %s", link, got)
		}
	}
	for _, subject := range []string{s.document(target), s.check(), s.model()} {
		if got := s.linksOf(subject); got != "" {
			t.Errorf("%s has links %s", subject, got)
		}
	}
}
