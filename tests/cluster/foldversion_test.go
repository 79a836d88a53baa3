package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// foldStatus returns the node's status.
func foldStatus(t *testing.T, c *harness.Client) (s node.Status) {
	t.Helper()
	harness.Decode(t, c.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &s)
	return s
}

// unknown is a version of the fold that no program knows yet.
const unknown = fold.LatestVersion + 1

// appendFold appends an event that sets, or announces, a version of the fold that the program does not know, as a newer one
// would.
func appendFold(t *testing.T, s *harness.Store, kind fanfold.Kind) uint64 {
	t.Helper()
	_, last := s.Node.Projector.Proposal()
	m, _, _ := s.Node.Projector.Model()
	seq, err := s.Node.Log.Append(t.Context(), &fanfold.Event{Kind: kind, Body: m.Source, Fold: unknown}, fanfold.Exactly(fanfold.Revision(last)))
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// TestUnknownFoldVersion: a program that does not know the version which an event sets stops there and says so. It goes on
// showing what was before, and takes writes without showing them. So it does after a restart, and a replay changes nothing.
func TestUnknownFoldVersion(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir()})
	defer func() { s.Close() }()
	s.Model(harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	s.Put("books", "b1", `{"authors":[{"id":"a1"}]}`)
	before := s.Get("books", "b1")
	seq := appendFold(t, s, fanfold.KindModel)
	for _, how := range []string{"at the event", "after a restart", "after a replay"} {
		switch how {
		case "after a restart":
			s = s.Reopen()
		case "after a replay":
			s.Replay()
		}
		if err := s.Node.Store.Applied.Wait(t.Context(), seq); fanfold.CodeOf(err) != fanfold.Unavailable {
			t.Fatalf("%s: the wait ends with %v", how, err)
		}
		r := s.Want(http.StatusServiceUnavailable, "GET", "/readyz", "")
		for _, want := range []string{fmt.Sprintf("event %d", seq), fmt.Sprintf("version %d", unknown), fmt.Sprintf("versions %d to %d", fold.OldestVersion, fold.LatestVersion), "docs/run/upgrade.md"} {
			if !strings.Contains(string(r.Body), want) {
				t.Errorf("%s: readyz does not say %s: %s", how, want, r.Body)
			}
		}
		if got := s.Get("books", "b1"); got != before {
			t.Errorf("%s: the book is %s, want %s", how, got, before)
		}
		if v := foldStatus(t, s.Client); v.FoldVersion.Version != fold.LatestVersion || v.Stopped == nil || v.Applied != seq-1 {
			t.Errorf("%s: the status is %+v", how, v)
		}
	}
	s.Want(http.StatusServiceUnavailable, "PUT", "/v1/authors/a2", `{"name":"B"}`) // that event may have brought guards
	s.Want(http.StatusNotFound, "GET", "/v1/authors/a2", "")
}

// TestUnknownFoldVersionAnnounced: a version that is only announced does not stop a program that does not know it. It says
// that it cannot prepare it, and folds on.
func TestUnknownFoldVersionAnnounced(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, harness.APIModel)
	seq := appendFold(t, s, fanfold.KindPrepare)
	s.Put("authors", "a1", `{"name":"A"}`)
	for s.Node.Projector.Status().Preparing.Phase == "waiting" {
		s.CatchUp()
	}
	if p := s.Node.Projector.Status().Preparing; p.Model != seq || p.Phase != "failed" || !strings.Contains(p.Error, fmt.Sprintf("version %d", unknown)) {
		t.Errorf("the preparation is %+v", p)
	}
	s.Want(http.StatusConflict, "PUT", "/v1/_fold", fmt.Sprintf(`{"version":%d}`, unknown))
	s.Want(http.StatusNoContent, "DELETE", "/v1/_model/_pending", "")
	s.Model(strings.Replace(harness.APIModel, "value: doc.name", `value: "doc.name + '!'"`, 1))
	if v := foldStatus(t, s.Client); v.FoldVersion.Version != fold.LatestVersion || v.Stopped != nil {
		t.Errorf("the status is %+v", v)
	}
}

// TestFoldVersionRequests: a version that a live node does not know is refused with the node's name, an earlier one is
// refused, and the one in force changes nothing.
func TestFoldVersionRequests(t *testing.T) {
	suite.Parallel(t)
	url := natsserver.Start(t, 1)[0]
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url}) // with an outside log it does not by itself
	defer s.Close()
	if v := foldStatus(t, s.Client).FoldVersion; v.Version != fold.LatestVersion || v.Newest != fold.LatestVersion {
		t.Errorf("the versions are %+v", v)
	}
	var p struct {
		Detail   string
		Problems []fanfold.Problem
	}
	harness.Decode(t, s.Want(http.StatusConflict, "PUT", "/v1/_fold", fmt.Sprintf(`{"version":%d}`, unknown)).Body, &p)
	if len(p.Problems) != 1 || !strings.Contains(p.Problems[0].Detail, s.Node.Addr()) || !strings.Contains(p.Detail, "docs/run/upgrade.md") {
		t.Errorf("the refusal is %+v", p)
	}
	s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/_fold", fmt.Sprintf(`{"version":%d}`, fold.OldestVersion-1))
	for _, body := range []string{`{}`, `[]`, `{"version":0}`, `{"version":-1}`, `{"version":"8"}`, `{"version":8.5}`, `{"version":2147483648}`, `{"version":null}`, `{"version":8,"x":1}`} {
		s.Want(http.StatusBadRequest, "PUT", "/v1/_fold", body)
	}
	s.Want(http.StatusBadRequest, "PUT", "/v1/_fold?x=1", `{"version":8}`)
	s.Want(http.StatusBadRequest, "PUT", "/v1/_fold", `{"version":8}`, "If-Match", `"1"`)
	r := s.Want(http.StatusOK, "PUT", "/v1/_fold", fmt.Sprintf(`{"version":%d}`, fold.OldestVersion))
	var answer struct{ Version, Changes int }
	if json.Unmarshal(r.Body, &answer) != nil || answer.Version != fold.OldestVersion || answer.Changes != 0 {
		t.Errorf("the answer is %s", r.Body)
	}
	if _, seq, _ := s.Node.Projector.Model(); seq != 0 {
		t.Errorf("event %d changed the version", seq)
	}
}
