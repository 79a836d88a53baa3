package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/writer"
)

// TestEveryProblemHasATitle: a code that has a status has a title, and the status is one of an error.
func TestEveryProblemHasATitle(t *testing.T) {
	for code, status := range statusOf {
		if titleOf[code] == "" || status < 400 || http.StatusText(status) == "" {
			t.Errorf("%s: status %d, title %q", code, status, titleOf[code])
		}
	}
	for code := range titleOf {
		if statusOf[code] == 0 && code != fanfold.Internal {
			t.Errorf("%s has a title and no status", code)
		}
	}
}

// TestCausesAreLogged: of an error only its message is shown; of one that nobody expected, nothing. The cause is logged.
func TestCausesAreLogged(t *testing.T) {
	hidden := errors.New("a cause")
	for _, c := range []struct {
		err    error
		status int
		detail string
	}{
		{fanfold.Wrap(hidden, fanfold.Unavailable, "the log cannot be reached"), http.StatusServiceUnavailable, "the log cannot be reached"},
		{hidden, http.StatusInternalServerError, "The details are in the server's log."},
		{&fanfold.Error{Code: "no-such-code", Message: "a cause"}, http.StatusInternalServerError, "The details are in the server's log."},
	} {
		s, _ := serving(t)
		var logged strings.Builder
		s.opt.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		s.feed.feed = failing{c.err}
		w := request(s, http.MethodGet, "/v1/_changes")
		var p wire.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if w.Code != c.status || p.Status != c.status || p.Detail != c.detail || p.Request == "" || w.Header().Get("Retry-After") == "" {
			t.Errorf("%v: %d %s", c.err, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), "a cause") || !strings.Contains(logged.String(), "a cause") {
			t.Errorf("%v: the answer is %s, the log %s", c.err, w.Body, logged.String())
		}
	}
}

// TestProblemsCountDocuments: a delete that takes steps says how many documents it writes, and whether there may be more.
func TestProblemsCountDocuments(t *testing.T) {
	for want, steps := range map[string]*writer.ManySteps{
		`"steps":true,"documents":2501}`:                  {Documents: 2501},
		`"steps":true,"documents":100000,"atLeast":true}`: {Documents: 100000, AtLeast: true},
	} {
		s, _ := serving(t)
		s.feed.feed = failing{fanfold.Wrap(steps, fanfold.Unprocessable, "too many")}
		if got := strings.TrimSpace(request(s, http.MethodGet, "/v1/_changes").Body.String()); !strings.HasSuffix(got, want) {
			t.Errorf("it is told as %s, want %s", got, want)
		}
	}
}
