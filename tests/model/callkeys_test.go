package model_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// TestCallsUnderOneKey: calls under one Idempotency-Key at once are one call, whose answer all of them get, whatever their own runs have returned.
func TestCallsUnderOneKey(t *testing.T) {
	suite.Concurrent(t, "function")
	s := openCalls(t)
	source, _ := json.Marshal(`ctx.create("seats", {}); return ctx.uuid()`)
	for _, key := range []string{"a", "b", "c", "d"} {
		answers := make([]called, 8)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = call(t, s.Client, "run", string(source), "Idempotency-Key", key) })
		}
		all.Wait()
		made := 0
		for _, a := range answers {
			if a.Attempts > 0 {
				made++
			}
			if string(a.Result) != string(answers[0].Result) || a.shown() != answers[0].shown() || a.Position != answers[0].Position {
				t.Errorf("two calls under one key are answered with %s, %s and %s, %s", answers[0].Result, answers[0].shown(), a.Result, a.shown())
			}
		}
		if made != 1 {
			t.Errorf("%d of the calls say that they were made", made)
		}
	}
	if rows, _ := s.Changes("collections=seats"); len(rows) != 4 {
		t.Errorf("4 keys have made %d documents", len(rows))
	}
}

// TestCallOutlivesItsRequest: a call whose request ends while it runs, or waits for a place to run, is told so.
func TestCallOutlivesItsRequest(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{ProvenFor: 2 * time.Millisecond}}) // a request under a key ends after half of it
	defer s.Close()
	harness.AwaitReady(t, s, http.StatusOK)
	s.Model(callsModel)
	text, _ := json.Marshal(`for (let i = 0; i < 1000000; i++) {} ctx.put("stock", "s", {})`)
	if r := s.Want(http.StatusServiceUnavailable, http.MethodPost, "/v1/_functions/run", string(text), "Idempotency-Key", "k"); r.Problem() != "urn:fanfold:problem:unavailable" {
		t.Errorf("the answer is %s", r.Body)
	}
}
