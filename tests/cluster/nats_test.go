package cluster_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// TestOrdinaryClients: through --nats-listen anybody reads the log, and nobody writes to it or
// takes it away.
func TestOrdinaryClients(t *testing.T) {
	addr := harness.FreeAddress(t)
	n, err := node.Open(t.Context(), node.Config{Data: t.TempDir(), Listen: "127.0.0.1:0", Durability: "interval", NATSListen: addr, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx, nil) }()
	c := harness.NewClient(t, n.URL())
	c.Put("books", "b", `{"x":1}`)
	nc := natsserver.Connect(t, "nats://"+addr)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	patient, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	cons, err := patient.OrderedConsumer(t.Context(), "fanfold", jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := cons.Next(jetstream.FetchMaxWait(30 * time.Second))
	if err != nil || msg.Subject() != "fanfold.fanfold.doc.books.b" || string(msg.Data()) != `{"v":1,"op":"put","body":{"id":"b","x":1}}` {
		t.Fatalf("read %v, %v", msg, err)
	}
	if _, err := js.Publish(t.Context(), "fanfold.fanfold.doc.books.b", []byte("{}")); err == nil {
		t.Error("an ordinary client wrote to the log")
	}
	if err := js.DeleteStream(t.Context(), "fanfold"); err == nil {
		t.Error("an ordinary client deleted the log")
	}
	c.Want(http.StatusOK, "GET", "/v1/books/b?consistency=strong", "")
	c.HTTP.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestUnreadableEvent: an event that nobody of us wrote stops the projector, which says so;
// reads go on, writes are taken, and nothing behind it is shown.
func TestUnreadableEvent(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer s.Close()
	s.Put("books", "b", `{"x":1}`)
	js, err := jetstream.New(natsserver.Connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	ack, err := js.Publish(t.Context(), "fanfold.fanfold.doc.books.b", []byte(`{"v":99}`))
	if err != nil {
		t.Fatal(err)
	}
	event := fmt.Sprintf("event %d", ack.Sequence)
	if err := s.Node.Store.Applied.Wait(t.Context(), ack.Sequence); err == nil || !strings.Contains(err.Error(), event) {
		t.Fatalf("the wait for the event ends with %v", err)
	}
	r := s.Want(http.StatusServiceUnavailable, "GET", "/readyz", "")
	if !strings.Contains(string(r.Body), event) || !strings.Contains(string(r.Body), "version") {
		t.Errorf("readyz says %s", r.Body)
	}
	s.WantDoc("books", "b", `{"id":"b","x":1}`)
	s.Want(http.StatusAccepted, "PUT", "/v1/books/c", `{}`)
	s.Want(http.StatusNotFound, "GET", "/v1/books/c", "")
}

// TestShortWindowIsRefused: on a stream that forgets soon what it has, a write that is sent again
// could be stored twice.
func TestShortWindowIsRefused(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	if _, err := events.Open(t.Context(), natsserver.Connect(t, url), events.Options{Window: time.Second}); err != nil {
		t.Fatal(err)
	}
	if _, err := harness.Start(t, harness.Options{Dir: t.TempDir(), NATS: url}); err == nil || !strings.Contains(err.Error(), "duplicate window") {
		t.Errorf("the node says %v", err)
	}
}
