package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// groupAnswers has every answer about consumer groups given.
func groupAnswers(t *testing.T, s *harness.Store) {
	t.Helper()
	const g = "/v1/_groups/g"
	settings := `{"partitions":1,"since":"0","mode":"latest","collections":["books"],"lease":"1m","maxAttempts":1}`
	for _, st := range []step{
		{400, "GET", "/v1/_groups?x=1", ``, nil},
		{201, "PUT", g, settings, nil},
		{204, "PUT", g, settings, nil},
		{400, "PUT", g, `{"mode":"some"}`, nil},
		{409, "PUT", g, `{"partitions":2}`, nil},
		{413, "PUT", g, `{"since":"` + strings.Repeat("x", 40<<10) + `"}`, nil},
		{415, "PUT", g, `x`, []string{"Content-Type", "text/plain"}},
		{422, "PUT", g, `{"since":[[[[[[]]]]]]}`, nil},
		{410, "PUT", g, `{"partitions":1,"since":"1-0-aaaaaaaa"}`, nil},
		{409, "POST", g + "/_rotate", `{}`, nil},
		{404, "POST", "/v1/_groups/none/_rotate", `{}`, nil},
		{200, "PUT", "/v1/_groups/posted", `{"push":{"url":"https://127.0.0.1:1/","headers":{"X-A":"b"}}}`, nil},
		{200, "POST", "/v1/_groups/posted/_rotate", `{"overlap":"1h"}`, nil},
		{200, "GET", "/v1/_groups/posted", ``, nil},
		{200, "GET", "/v1/_groups", ``, nil},
		{204, "DELETE", "/v1/_groups/posted", ``, nil},
		{200, "GET", g, ``, nil},
		{400, "GET", g + "?x=1", ``, nil},
		{404, "GET", "/v1/_groups/none", ``, nil},
		{400, "DELETE", g + "?x=1", ``, nil},
		{404, "DELETE", "/v1/_groups/none", ``, nil},
		{400, "GET", g + "/_changes", ``, nil},
		{404, "GET", "/v1/_groups/none/_changes?partition=0&token=x", ``, nil},
		{409, "GET", g + "/_changes?partition=0&token=x", ``, nil},
		{200, "GET", g + "/_parked", ``, nil},
		{400, "GET", g + "/_parked?x=1", ``, nil},
		{404, "GET", "/v1/_groups/none/_parked", ``, nil},
		{400, "POST", g + "/_parked/0-1/_retry?x=1", ``, nil},
		{404, "POST", g + "/_parked/0-1/_retry", ``, nil},
		{415, "POST", g + "/_parked/0-1/_retry", ``, []string{"Content-Type", "text/plain"}},
		{400, "DELETE", g + "/_parked/0-1?x=1", ``, nil},
		{404, "DELETE", g + "/_parked/0-1", ``, nil},
	} {
		s.Want(st.want, st.method, st.path, st.body, st.headers...)
	}
	for _, route := range []string{"_lease", "_ack", "_nack", "_release", "_reset", "_rotate"} {
		s.Want(http.StatusBadRequest, "POST", g+"/"+route, map[bool]string{true: `{"overlap":"-1s"}`, false: `{}`}[route == "_rotate"])
		s.Want(http.StatusRequestEntityTooLarge, "POST", g+"/"+route, `{"x":"`+strings.Repeat("x", 40<<10)+`"}`)
		s.Want(http.StatusUnsupportedMediaType, "POST", g+"/"+route, `x`, "Content-Type", "text/plain")
		s.Want(http.StatusUnprocessableEntity, "POST", g+"/"+route, `{"x":[[[[[[]]]]]]}`)
	}
	s.Want(http.StatusNotFound, "POST", "/v1/_groups/none/_lease", `{"member":"m"}`)
	s.Want(http.StatusNotFound, "POST", "/v1/_groups/none/_release", `{"member":"m"}`)
	s.Want(http.StatusNotFound, "POST", "/v1/_groups/none/_reset", `{"to":"0"}`)
	var out struct{ Leases []harness.GroupLease }
	_ = json.Unmarshal(s.Want(http.StatusOK, "POST", g+"/_lease", `{"member":"m","max":1}`).Body, &out) // without one the next lines fail
	l := append(out.Leases, harness.GroupLease{})[0]
	s.Want(http.StatusOK, "GET", fmt.Sprintf(g+"/_changes?partition=0&token=%s&feed=normal&limit=1&timeout=100&heartbeat=100&include_docs=true", l.Token), ``)
	for _, feed := range []string{"feed=longpoll", "feed=continuous", "feed=eventsource"} {
		s.Want(http.StatusOK, "GET", fmt.Sprintf(g+"/_changes?partition=0&token=%s&timeout=0&limit=1&%s", l.Token, feed), ``)
	}
	s.Want(http.StatusOK, "GET", fmt.Sprintf(g+"/_changes?partition=0&token=%s&timeout=0&limit=1", l.Token), ``, "Accept", "application/x-ndjson")
	s.Want(http.StatusBadRequest, "GET", fmt.Sprintf(g+"/_changes?partition=0&token=%s&feed=websocket", l.Token), ``)
	lateAnswers(t, s, []step{
		{504, "PUT", g, `{"partitions":1,"since":"999999999-0"}`, nil},
		{504, "POST", g + "/_nack", harness.BatchOf(l, "999999999-0", `,"error":"it broke"`), nil},
		{504, "POST", g + "/_ack", harness.BatchOf(l, "999999999-0", ""), nil},
		{504, "POST", g + "/_reset", `{"to":"999999999-0"}`, nil},
	})
	for _, how := range []string{"_nack", "_ack"} {
		harness.Settle(s.Client, http.StatusNotFound, how, "none", l, "1-0")
		harness.Settle(s.Client, http.StatusConflict, how, "g", harness.GroupLease{Token: "x"}, "1-0")
		harness.Settle(s.Client, http.StatusGone, how, "g", l, "1-0-aaaaaaaa")
		harness.Settle(s.Client, http.StatusNoContent, how, "g", l, "1-0")
	}
	s.Want(http.StatusNoContent, "POST", g+"/_parked/0-1/_retry", ``)
	s.Want(http.StatusOK, "GET", g+"/_parked", ``)
	s.Want(http.StatusNoContent, "DELETE", g+"/_parked/0-1", ``)
	s.Want(http.StatusOK, "GET", g, ``)
	s.Want(http.StatusConflict, "POST", g+"/_reset", `{"to":"now"}`)
	s.Want(http.StatusGone, "POST", g+"/_reset", `{"to":"1-0-aaaaaaaa"}`)
	s.Want(http.StatusNoContent, "POST", g+"/_reset", `{"to":"now","force":true}`)
	s.Want(http.StatusNoContent, "POST", g+"/_release", `{"member":"m"}`)
	s.Want(http.StatusNoContent, "DELETE", g, ``)
}

// lateAnswers sends requests that are answered after some seconds, all at the same time.
func lateAnswers(t *testing.T, s *harness.Store, steps []step) {
	t.Helper()
	var sent sync.WaitGroup
	for _, st := range steps {
		sent.Go(func() {
			if r, err := s.Do(st.method, st.path, []byte(st.body), st.headers...); err != nil || r.Status != st.want {
				t.Errorf("%s %s: %v, want %d: %+v", st.method, st.path, err, st.want, r)
			}
		})
	}
	sent.Wait()
}
