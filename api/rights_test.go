package api

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/writer"
)

// byRole takes the text of an Authorization header for the role of its sender, and lets nobody in without one.
type byRole struct{ access.Everybody }

func (byRole) Authenticate(authorization []string) (*access.Principal, error) {
	switch {
	case len(authorization) == 0:
		return nil, fanfold.Errorf(fanfold.Unauthenticated, "no key")
	case authorization[0] == "stale":
		return nil, fanfold.Errorf(fanfold.RightsStale, "the keys are stale")
	}
	return access.OfRole(authorization[0]), nil
}

// stoppedOperator belongs to a node that is not ready, or to one that is, without an error.
type stoppedOperator struct {
	Operator
	stopped error
}

func (o stoppedOperator) Status() (wire.Status, error) { return wire.Status{}, o.stopped }

// TestReadyTellsItsReasonToMonitors: everybody learns whether a node is ready, and whoever may see how it stands why not.
func TestReadyTellsItsReasonToMonitors(t *testing.T) {
	for _, stopped := range []error{nil, &fanfold.Error{Code: fanfold.LogDamaged, Message: "event 7 is lost", Err: errors.New("a cause")}} {
		for _, c := range []struct {
			keys   access.Keys
			sends  string
			reason bool
		}{{access.Everybody{}, "", true}, {byRole{}, "", false}, {byRole{}, "stale", false}, {byRole{}, "read", false}, {byRole{}, "monitor", true}, {byRole{}, "admin", true}} {
			m := model.Empty()
			s := New(Dependencies{Writer: &writer.Writer{}, Operator: stoppedOperator{stopped: stopped}, Judge: access.NewJudge(c.keys, func() *model.Model { return m })}, Options{})
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/readyz", nil)
			if r.Host = "localhost"; c.sends != "" {
				r.Header.Set("Authorization", c.sends)
			}
			s.Handler().ServeHTTP(w, r)
			want := http.StatusOK
			if stopped != nil {
				want = http.StatusServiceUnavailable
			}
			told := strings.Contains(w.Body.String(), "event 7 is lost") && strings.Contains(w.Body.String(), string(fanfold.LogDamaged))
			if w.Code != want || told != (c.reason && stopped != nil) || strings.Contains(w.Body.String(), "cause") {
				t.Errorf("%T, %q: %d %s", c.keys, c.sends, w.Code, w.Body)
			}
			_, open := c.keys.(access.Everybody)
			if private := w.Header().Get("Cache-Control") == "private, no-cache" && slices.Contains(w.Header().Values("Vary"), "Authorization"); private == open {
				t.Errorf("%T, %q: %v", c.keys, c.sends, w.Header())
			}
		}
	}
}

// TestRouteWithoutRight: a route that declares no right stops the program at its start.
func TestRouteWithoutRight(t *testing.T) {
	for _, right := range []right{"", "all of them"} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(p.(string), "GET /x has no right") {
					t.Errorf("%q: %v", right, p)
				}
			}()
			s := New(Dependencies{Writer: &writer.Writer{}}, Options{})
			s.routes = newRoutes([]route{{"GET", "/x", right, atOnce, 0, 0, healthy}})
			s.register()
		}()
	}
}
