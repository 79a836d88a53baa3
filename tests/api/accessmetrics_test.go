package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestMetricsOfKeys: the metrics say what became of credentials and rights, and how many keys there are. An open store counts none.
func TestMetricsOfKeys(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("books", "b1", `{}`)
	of := func(series string) float64 { return harness.MetricOf(t, s.Client, series) }
	if n := of(`fanfold_auth_requests_total{result="ok"}`); n != 0 {
		t.Fatalf("an open store has let in %v", n)
	}
	s.CloseHouse()
	reader, revoked := s.As("read"), s.NewKey("read")
	id := strings.Split(revoked, "_")[1]
	s.Want(http.StatusNoContent, "DELETE", "/v1/_keys/"+id, "")
	before := of(`fanfold_auth_requests_total{result="ok"}`)
	reader.Get("books", "b1")
	for range 2 {
		reader.Want(http.StatusForbidden, "PUT", "/v1/books/b1", `{}`)
	}
	for key, result := range map[string]string{"": "missing", "x": "malformed", access.NewKey().Text(): "unknown", revoked: "revoked"} {
		s.With(key).Want(http.StatusUnauthorized, "GET", "/v1/books/b1", "")
		if n := of(`fanfold_auth_requests_total{result="` + result + `"}`); n != 1 {
			t.Errorf("%v requests count as %s", n, result)
		}
	}
	for series, want := range map[string]float64{
		`fanfold_denied_requests_total{route="/v1/:collection/:id"}`: 2,
		`fanfold_denied_requests_total{route="/v1/_keys/:id"}`:       0,
		`fanfold_keys`: 3,
	} {
		if n := of(series); n != want {
			t.Errorf("%s is %v, want %v", series, n, want)
		}
	}
	if n := of(`fanfold_auth_requests_total{result="ok"}`); n < before+7 {
		t.Errorf("%v requests were let in, and %v before", n, before)
	}
	if age := of("fanfold_keys_age_seconds"); age < 0 || age > time.Minute.Seconds() {
		t.Errorf("the keys were read %v s ago", age)
	}
}

// TestMonitorSeesNoForeignGroups: the metrics name groups to whoever has their roles, and have another label for others.
func TestMonitorSeesNoForeignGroups(t *testing.T) {
	s := harness.OpenClosed(t, "")
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/secret-plan", `{"role":"planners"}`)
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/everyday", `{"role":"monitor"}`)
	for name, c := range map[string]struct {
		client *harness.Client
		names  int
	}{"monitor": {s.As("monitor"), 0}, "monitor and planner": {s.As("monitor", "planners"), 3}, "admin": {s.Client, 3}} {
		text := string(c.client.Want(http.StatusOK, "GET", "/metrics", "").Body)
		if n := strings.Count(text, `{group="secret-plan"}`); n != c.names || strings.Contains(text, "secret-plan") != (n > 0) {
			t.Errorf("%s sees %d series of a group of planners, want %d", name, n, c.names)
		}
		if n := strings.Count(text, `{group="`); n != 6 {
			t.Errorf("%s sees %d series of groups", name, n)
		}
		if !strings.Contains(text, `{group="everyday"}`) {
			t.Errorf("%s does not see its own group", name)
		}
	}
}
