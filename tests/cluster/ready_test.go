package cluster_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestReadyCommand: `fanfold status --ready`, which a container's health check runs, succeeds for a node that is ready. It fails with the
// reason for a node that is not ready, is not there, or does not answer.
func TestReadyCommand(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
	defer s.Close()
	harness.Await(t, "a node that is ready", time.Minute, func() bool {
		out, err := harness.RunProgram(t, "status", "--ready", "--server", s.URL)
		return err == nil && out == ""
	})
	fails := func(server, want string) {
		t.Helper()
		harness.Await(t, want, time.Minute, func() bool { // a busy node may not answer in time
			out, err := harness.RunProgram(t, "status", "--ready", "--server", server)
			return err != nil && strings.Contains(out, want) && len(out) <= 2000
		})
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	fails(silent.URL, "did not say within 3s")
	fails("http://127.0.0.1:1", "refused")
	if _, err := natsserver.Connect(t, url).Request("fanfold.fanfold.doc.books.b", []byte(`{"v":99}`), 30*time.Second); err != nil {
		t.Fatal(err)
	}
	last, err := s.Node.Log.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Node.Store.Applied.Wait(t.Context(), last) // fails once the projector has stopped at the event
	fails(s.URL, "503 Service Unavailable: the projector has stopped at event ")
}
