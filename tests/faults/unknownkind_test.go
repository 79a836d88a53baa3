package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// TestUnknownKindStopsTheProjector: an event of a kind, or on a subject, that only a newer program knows stops the projector. The
// error says which event it is, what is unknown, and what to do.
func TestUnknownKindStopsTheProjector(t *testing.T) {
	for name, event := range map[string]struct{ subject, payload, unknown string }{
		"kind":    {"fanfold.fanfold.doc.books.b", `{"v":1,"op":"rename","body":{}}`, `rename`},
		"subject": {"fanfold.fanfold.grant.books", `{"v":1,"op":"put","body":{}}`, `fanfold.fanfold.grant.books`},
	} {
		t.Run(name, func(t *testing.T) {
			url := natsserver.Start(t, 1)[0]
			s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
			defer s.Close()
			s.Put("books", "b", `{"x":1}`)
			js, err := jetstream.New(natsserver.Connect(t, url))
			if err != nil {
				t.Fatal(err)
			}
			ack, err := js.Publish(t.Context(), event.subject, []byte(event.payload))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Node.Store.Applied.Wait(t.Context(), ack.Sequence); err == nil {
				t.Fatal("the event is folded")
			}
			body := string(s.Want(http.StatusServiceUnavailable, "GET", "/readyz", "").Body)
			for _, want := range []string{fmt.Sprintf("event %d", ack.Sequence), event.unknown, "newer Fanfold"} {
				if !strings.Contains(body, want) {
					t.Errorf("readyz does not say %q: %s", want, body)
				}
			}
			s.WantDoc("books", "b", `{"id":"b","x":1}`)
		})
	}
}
