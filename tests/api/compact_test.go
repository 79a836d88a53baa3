package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
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
func awaitCompaction(t *testing.T, s *harness.Store) (state wire.Compaction) {
	t.Helper()
	for end := time.Now().Add(suite.Deadline(time.Minute)); ; time.Sleep(10 * time.Millisecond) {
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
	var plan wire.CompactPlan
	s.Want(http.StatusConflict, "POST", "/v1/_compact", `{"before":"3"}`)
	decode(t, s.Want(http.StatusAccepted, "POST", "/v1/_compact", `{"before":"3","force":true}`), &plan)
	awaitCompaction(t, s)
	s.Want(http.StatusOK, "POST", "/v1/_compact", `{"before":"`+plan.Before+`"}`)
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
	var plan wire.CompactPlan
	decode(t, s.Want(http.StatusOK, "POST", "/v1/_compact", `{"before":"2","dryRun":true}`), &plan)
	if plan.Done || plan.Events != 2 || plan.Versions != 2 || !strings.HasPrefix(plan.Before, "2-") {
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

// TestRepeatsBeforeTheHorizon: a request that was stored before the store begins, and comes again under its key, writes nothing. Its answer
// has what is known still.
func TestRepeatsBeforeTheHorizon(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	var first []string
	for i, st := range keyedRequests {
		first = append(first, sendKeyed(t, s.Client, fmt.Sprint("key-", i), st))
	}
	s.Put("books", "b3", `{"n":99}`)
	read := s.Want(http.StatusOK, "GET", "/v1/books/b3", "").Header
	before := read.Get("Fanfold-Position")
	s.Want(http.StatusAccepted, "POST", "/v1/_compact", `{"before":"`+before+`"}`)
	awaitCompaction(t, s)
	for i, st := range keyedRequests {
		r, err := s.Do(st.Method, st.Path, []byte(st.Body), "Idempotency-Key", fmt.Sprint("key-", i), "Content-Type", st.ContentType)
		if err != nil {
			t.Fatal(err)
		}
		for _, header := range []string{"ETag", "Fanfold-Revision", "Fanfold-Position"} {
			if !strings.Contains(first[i], r.Header.Get(header)) {
				t.Errorf("%s %s has %s %s, before %s", st.Method, st.Path, header, r.Header.Get(header), first[i])
			}
		}
		if status := fmt.Sprint(r.Status); status != first[i][:3] && (st.Method != http.MethodPut || status != "204") { // whether it was there before is not known
			t.Errorf("%s %s is answered with %d, before %s: %s", st.Method, st.Path, r.Status, first[i], r.Body)
		}
		if told := r.Header.Get("Fanfold-Derived-Changes"); told != "" {
			t.Errorf("%s %s tells of %s derived changes, which are gone", st.Method, st.Path, told)
		}
	}
	if tag := s.Want(http.StatusOK, "GET", "/v1/books/b3", "").Header.Get("ETag"); tag != read.Get("ETag") {
		t.Errorf("b3 was written again: %s, before %s", tag, read.Get("ETag"))
	}
}
