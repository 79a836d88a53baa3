package cluster_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestNothingIsLostBeforeItsVersion: programs that know an earlier version of the fold alone never meet an event by which the log loses something. While
// that version is in force, compactions and erasures are refused, and an erasure that is listed already does not come into force. Then all go on.
func TestNothingIsLostBeforeItsVersion(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{KeepFold: true, Dir: t.TempDir()})
	defer func() { s.Close() }()
	s.Model(`{"collections":{"people":{}}}`)
	for _, id := range []string{"listed", "asked", "stays"} {
		s.Put("people", id, `{"name":"SECRET-`+id+`"}`)
	}
	last, err := s.Node.Log.LastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{"/v1/_compact": `{"before":"2"}`, "/v1/people/asked/_erase": ""} {
		if r := s.Want(http.StatusConflict, "POST", path, body); !strings.Contains(string(r.Body), "fanfold upgrade") {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	if now, err := s.Node.Log.LastSeq(t.Context()); err != nil || now != last {
		t.Fatalf("the log ends with event %d, %v, and ended with %d", now, err, last)
	}
	found, err := s.Node.Log.Prefix().Collect(t.Context(), events.Collecting{Documents: []fanfold.ErasedDocument{{Key: fanfold.Key{Collection: "people", ID: "listed"}}}})
	if err != nil || len(found.Erasures) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	at, err := s.Node.Log.Append(t.Context(), &fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{List: found.Erasures[0]}}, fanfold.Exactly(0))
	if err != nil {
		t.Fatal(err)
	}
	s.CatchUp()
	listed := fmt.Sprint("/v1/_erasures/", at)
	harness.Await(t, "the erasure to say why it does not come into force", time.Minute, func() bool {
		return strings.Contains(string(s.Want(http.StatusOK, "GET", listed, "").Body), "fanfold upgrade")
	})
	s.WantDoc("people", "listed", `{"id":"listed","name":"SECRET-listed"}`)
	s.SetFold(fold.LatestVersion)
	s.Erased(listed)
	s.Erased(s.Want(http.StatusAccepted, "POST", "/v1/people/asked/_erase", "").Header.Get("Location"))
	if at := s.Compact(s.Node.Store.Applied.Seq()); at == 0 {
		t.Error("the store begins with its first event")
	}
	s.Verify()
	s.Replay()
	if text := string(s.Want(http.StatusOK, "GET", "/v1/_export", "").Body); strings.Contains(text, "SECRET-asked") || !strings.Contains(text, "SECRET-stays") {
		t.Errorf("the store has %s", text)
	}
}
