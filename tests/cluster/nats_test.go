package cluster_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
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

// reads tells whether a client reads the log's first event.
func reads(t *testing.T, addr string, opts ...nats.Option) error {
	t.Helper()
	nc, err := nats.Connect("nats://"+addr, append(opts, nats.NoReconnect())...)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	cons, err := js.OrderedConsumer(t.Context(), "fanfold", jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	msg, err := cons.Next(jetstream.FetchMaxWait(30 * time.Second))
	if err == nil && msg.Subject() != "fanfold.fanfold.doc.books.b" {
		err = fmt.Errorf("the first event is %s", msg.Subject())
	}
	return err
}

// TestReadersWithNKeys: with --nats-auth a client signs with one of its NKeys, over TLS where the node has a certificate. No other
// client reads.
func TestReadersWithNKeys(t *testing.T) {
	suite.Parallel(t)
	known, public := harness.NewNKey(t)
	other, stranger := harness.NewNKey(t)
	file := filepath.Join(t.TempDir(), "readers")
	if err := os.WriteFile(file, []byte(public+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, encrypted := range []bool{false, true} {
		addr, cert := harness.FreeAddress(t), harness.NewCertificate(t, t.TempDir())
		s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) {
			if cfg.NATSListen, cfg.NATSAuth = addr, file; encrypted {
				cfg.TLSCert, cfg.TLSKey = cert.File, cert.KeyFile
			}
		}})
		var safe []nats.Option
		if encrypted {
			s.Speak(cert, 1)
			safe = []nats.Option{nats.Secure(&tls.Config{RootCAs: cert.Pool})}
		}
		s.Put("books", "b", `{"x":1}`)
		if err := reads(t, addr, append(safe, nats.Nkey(public, known.Sign))...); err != nil {
			t.Errorf("with a known NKey, TLS %v: %v", encrypted, err)
		}
		for name, opts := range map[string][]nats.Option{"no NKey": nil, "an unknown NKey": {nats.Nkey(stranger, other.Sign)}, "a known NKey of another": {nats.Nkey(public, other.Sign)},
			"the reader's name": {nats.UserInfo("reader", "")}, "a known NKey and no signature": {nats.Nkey(public, func([]byte) ([]byte, error) { return nil, nil })},
			"a signature of another nonce": {nats.Nkey(public, func([]byte) ([]byte, error) { return known.Sign([]byte("another")) })}} {
			if err := reads(t, addr, append(opts, safe...)...); !errors.Is(err, nats.ErrAuthorization) && (err == nil || !strings.Contains(strings.ToLower(err.Error()), "authorization")) {
				t.Errorf("with %s, TLS %v: %v", name, encrypted, err)
			}
		}
		if encrypted {
			if err := reads(t, addr, nats.Nkey(public, known.Sign)); err == nil {
				t.Error("a client that does not trust the certificate reads")
			}
		}
		s.Close()
	}
}

// TestClosedHouseEndsReaders: the first key cuts the NATS clients that came without an NKey, and lets no others in, on whatever node
// it was made.
func TestClosedHouseEndsReaders(t *testing.T) {
	suite.Parallel(t)
	addr := harness.FreeAddress(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.NATSListen = addr }})
	defer s.Close()
	s.Put("books", "b", `{"x":1}`)
	if err := reads(t, addr); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	nc, err := nats.Connect("nats://"+addr, nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(ended) }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	harness.KeyOfAnotherNode(t, s.Node)
	select {
	case <-ended:
	case <-time.After(2 * time.Second):
		t.Error("a client without an NKey goes on to read after two seconds")
	}
	if err := reads(t, addr); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a client without an NKey comes to a closed store: %v", err)
	}
}

// TestUnreadableEvent: an event that nobody of us wrote stops the projector, which says so;
// reads go on, writes are taken, and nothing after it is shown.
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
	for _, erase := range []string{"/v1/books/b/_erase?dryRun=true", "/v1/books/b/_erase"} {
		s.Want(http.StatusServiceUnavailable, "POST", erase, `{}`)
	}
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
