package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fanfold/fanfold/client"
)

// TestAnnouncedAndNotNoticedYet: a node shows the event that announces a model a moment before it knows that the model is being
// prepared. Whoever waits for the model is not told that it applies.
func TestAnnouncedAndNotNoticedYet(t *testing.T) {
	statuses := []string{
		`{"position":"5-0-abcdefgh","applied":4}`,
		`{"position":"5-0-abcdefgh","applied":5,"preparing":{"model":5,"phase":"waiting"}}`,
		`{"position":"6-0-abcdefgh","applied":6,"withdrawn":{"model":5,"reason":"somebody asked"}}`,
	}
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/v1/_status" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"type":"urn:fanfold:problem:not-found","status":404}`)
			return
		}
		_, _ = io.WriteString(w, statuses[min(asked, len(statuses)-1)])
		asked++
	}))
	defer srv.Close()
	if err := connect(t, srv.URL, client.Options{}).WaitForModel(t.Context(), "5-0-abcdefgh", nil); !errors.Is(err, client.Conflict) {
		t.Errorf("after %d looks: %v", asked, err)
	}
}
