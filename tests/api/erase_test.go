package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// awaitErasure waits until an erasure whose answer is r is over, and returns what the store says of it then.
func awaitErasure(t *testing.T, s *harness.Store, r *harness.Response) (state wire.Erasure) {
	t.Helper()
	at := r.Header.Get("Location")
	for end := time.Now().Add(suite.Deadline(time.Minute)); state.Phase != wire.PhaseDone; time.Sleep(10 * time.Millisecond) {
		decode(t, s.Want(http.StatusOK, "GET", at, ""), &state)
		if time.Now().After(end) {
			t.Fatalf("the erasure goes on: %+v", state)
		}
	}
	return state
}

// eraseAnswers erases documents of a store, by both routes.
func eraseAnswers(t *testing.T, s *harness.Store) {
	t.Helper()
	s.Put("notes", "e1", `{"title":"E"}`)
	s.Put("notes", "e2", `{"title":"E"}`)
	const both = `{"documents":[{"collection":"notes","id":"e1"},{"collection":"notes","id":"e2"}]}`
	awaitErasure(t, s, s.Want(http.StatusAccepted, "POST", "/v1/notes/e1/_erase", ""))
	s.Want(http.StatusOK, "POST", "/v1/notes/e1/_erase", "")
	awaitErasure(t, s, s.Want(http.StatusAccepted, "POST", "/v1/_erase", both))
	s.Want(http.StatusOK, "POST", "/v1/_erase", both)
	s.Want(http.StatusOK, "GET", "/v1/_erasures", "")
	s.Want(http.StatusOK, "GET", "/v1/_erasures?export=true", "")
	s.Want(http.StatusOK, "GET", "/v1/_changes?mode=all&include_docs=true&view=embedded", "")
	s.Want(http.StatusOK, "GET", "/v1/notes/e1/_history", "")
	s.Want(http.StatusOK, "GET", "/v1/_status", "")
}

// TestErasedReads: the answers about an erased document, and about one with erased members.
func TestErasedReads(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	s.Put("people", "whole", `{"name":"Marker","n":1}`)
	s.Put("people", "whole", `{"name":"Marker","n":2}`)
	s.Put("people", "part", `{"name":"Marker","n":1}`)
	s.Put("people", "part", `{"name":"Marker","n":2}`)
	state := awaitErasure(t, s, s.Want(http.StatusAccepted, "POST", "/v1/people/whole/_erase", ""))
	if state.Documents != 1 || state.Events < 2 || state.Position == "" {
		t.Errorf("the erasure is %+v", state)
	}
	awaitErasure(t, s, s.Want(http.StatusAccepted, "POST", "/v1/people/part/_erase", `{"members":["/name"]}`))
	s.Want(http.StatusNotFound, "GET", "/v1/people/whole", "")
	for path, want := range map[string]string{"/v1/people/part": `{"id":"part","n":2}`, "/v1/people/part?at=3": `{"id":"part","n":1}`, "/v1/people/whole?at=2": `{"id":"whole"}`} {
		if text := strings.TrimSpace(string(s.Want(http.StatusOK, "GET", path, "").Body)); text != want {
			t.Errorf("%s is %s, want %s", path, text, want)
		}
	}
	for _, path := range []string{"/v1/_changes?mode=all&include_docs=true", "/v1/people/whole/_history", "/v1/people/part/_history", "/v1/_export", "/v1/_diff?from=0"} {
		if text := string(s.Want(http.StatusOK, "GET", path, "").Body); strings.Contains(text, "Marker") {
			t.Errorf("%s has what is erased: %s", path, text)
		}
	}
	if text := string(s.Want(http.StatusOK, "GET", "/v1/_changes?mode=all", "").Body); !strings.Contains(text, `"op":"erase"`) || !strings.Contains(text, `"rule":"erase"`) {
		t.Errorf("the feed is %s", text)
	}
	var found struct{ Found []wire.Found }
	if decode(t, s.Want(http.StatusOK, "POST", "/v1/_find", `{"text":"Marker"}`), &found); len(found.Found) != 0 {
		t.Errorf("found %+v", found.Found)
	}
}
