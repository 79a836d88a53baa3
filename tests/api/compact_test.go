package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/reports"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// decode reads an answer.
func decode(t *testing.T, r *harness.Response, into any) {
	t.Helper()
	if err := json.Unmarshal(r.Body, into); err != nil {
		t.Fatalf("%s: %v", r.Body, err)
	}
}

// awaitCompaction waits until the compaction of a store does not run any more.
func awaitCompaction(t *testing.T, s *harness.Store) (state reports.Compaction) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		decode(t, s.Want(http.StatusOK, "GET", "/v1/_compact", ""), &state)
		if !state.Running {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the compaction goes on: %+v", state)
		}
	}
	if state.Error != "" {
		t.Fatalf("the compaction has ended early: %s", state.Error)
	}
	return state
}

// compactAnswers compacts a store with a group that is late.
func compactAnswers(t *testing.T, s *harness.Store) {
	t.Helper()
	const late = "/v1/_groups/late"
	s.Want(http.StatusCreated, "PUT", late, `{"partitions":1}`)
	var leases struct{ Leases []struct{ Token string } }
	decode(t, s.Want(http.StatusOK, "POST", late+"/_lease", `{"member":"m"}`), &leases)
	s.Put("books", "before", `{"title":"B"}`)
	var plan reports.CompactPlan
	s.Want(http.StatusConflict, "POST", "/v1/_compact", `{"before":"3"}`)
	decode(t, s.Want(http.StatusAccepted, "POST", "/v1/_compact", `{"before":"3","force":true}`), &plan)
	awaitCompaction(t, s)
	s.Want(http.StatusOK, "POST", "/v1/_compact", `{"before":"`+plan.Before.String()+`"}`)
	s.Want(http.StatusGone, "GET", late+"/_changes?partition=0&token="+leases.Leases[0].Token, "")
	s.Want(http.StatusOK, "GET", late, "")
	s.Want(http.StatusOK, "GET", "/v1/_status", "")
}

// TestCompactRequests: what a request for a compaction takes, and what is answered before the horizon.
func TestCompactRequests(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	for _, body := range []string{`{}`, `{"before":""}`, `{"before":3}`, `{"before":"x"}`, `{"before":null}`, `{"before":"1","dryRun":"yes"}`, `{"before":"1","force":1}`, `{"before":"1","by":"me"}`, `[]`, `x`,
		`{"before":"2999-01-01T00:00:00Z"}`, `{"before":"` + strings.Repeat("1", 300) + `"}`} {
		s.Want(http.StatusBadRequest, "POST", "/v1/_compact", body)
	}
	for _, n := range []string{"1", "2", "3"} {
		s.Put("notes", "n", `{"n":`+n+`}`)
	}
	var plan reports.CompactPlan
	decode(t, s.Want(http.StatusOK, "POST", "/v1/_compact", `{"before":"2","dryRun":true}`), &plan)
	if plan.Done || plan.Events != 2 || plan.Versions != 2 || plan.Before.Seq() != 2 {
		t.Errorf("the plan is %+v", plan)
	}
	s.Want(http.StatusNotFound, "GET", "/v1/_compact", "")
	r := s.Want(http.StatusAccepted, "POST", "/v1/_compact", `{"before":"2"}`)
	if at := r.Header.Get("Location"); at != "/v1/_compact" {
		t.Errorf("the location is %q", at)
	}
	awaitCompaction(t, s)
	for _, path := range []string{"/v1/notes/n?at=1", "/v1/notes?at=1", "/v1/_export?at=1", "/v1/_diff?from=1", "/v1/_changes?since=1", "/v1/_changes", "/v1/notes/n/_history?from=1", "/v1/notes/n/_history?to=1", "/v1/notes/n?at=2001-01-01T00:00:00Z", "/v1/notes/n/_history?from=2001-01-01T00:00:00Z"} {
		r := s.Want(http.StatusGone, "GET", path, "")
		if text := string(r.Body); !strings.Contains(text, `"oldest":"2-0`) || !strings.Contains(text, "position-gone") {
			t.Errorf("%s: %s", path, text)
		}
	}
	s.Want(http.StatusGone, "POST", "/v1/notes/n/_revert", `{"at":"1"}`)
	for _, path := range []string{"/v1/notes/n?at=2", "/v1/notes?at=2", "/v1/_export?at=2", "/v1/_diff?from=2", "/v1/_changes?since=2", "/v1/notes/n/_history"} {
		s.Want(http.StatusOK, "GET", path, "")
	}
	decode(t, s.Want(http.StatusOK, "POST", "/v1/_compact", `{"before":"2"}`), &plan)
	if !plan.Done {
		t.Errorf("the horizon is not there: %+v", plan)
	}
	s.Want(http.StatusOK, "POST", "/v1/_compact", `{"before":"1"}`)
}
