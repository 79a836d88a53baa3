package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/function"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestScrapesAreBounded: of the requests for the metrics maxScrapes are answered at a time, and others are 503 at once.
func TestScrapesAreBounded(t *testing.T) {
	suite.Concurrent(t)
	m := New()
	reading, goOn := make(chan struct{}, maxScrapes), make(chan struct{})
	m.Gauge("fanfold_slow", "It takes long.", func() float64 {
		reading <- struct{}{}
		<-goOn
		return 0
	})
	h := m.handler()
	scrape := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Code
	}
	var wg sync.WaitGroup
	for range maxScrapes {
		wg.Go(func() {
			if code := scrape(); code != http.StatusOK {
				t.Errorf("status %d", code)
			}
		})
	}
	for range maxScrapes {
		<-reading
	}
	if code := scrape(); code != http.StatusServiceUnavailable {
		t.Errorf("one more is answered with %d", code)
	}
	close(goOn)
	wg.Wait()
}

// TestExemplars: the duration of a request has its trace as an exemplar, for those who read OpenMetrics.
func TestExemplars(t *testing.T) {
	m := New()
	m.Answered(api.Answer{Route: "/v1/:collection/:id", Method: http.MethodGet, Status: http.StatusOK, Took: time.Millisecond})
	m.Answered(api.Answer{Route: "/v1/:collection/:id", Method: http.MethodGet, Status: http.StatusOK, Took: time.Second, Trace: "4bf92f3577b34da6a3ce929d0e0e4736"})
	for accept, want := range map[string]int{"application/openmetrics-text; version=1.0.0": 1, "text/plain": 0} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", accept)
		m.handler().ServeHTTP(w, r)
		if n := strings.Count(w.Body.String(), `# {trace_id="4bf92f3577b34da6a3ce929d0e0e4736"} 1`); w.Code != http.StatusOK || n != want {
			t.Errorf("as %s there are %d exemplars, want %d:\n%.2000s", accept, n, want, w.Body)
		}
	}
}

// BenchmarkAnswered measures what counting one request costs.
func BenchmarkAnswered(b *testing.B) {
	m := New()
	a := api.Answer{Route: "/v1/:collection/:id", Method: http.MethodGet, Status: http.StatusOK, Took: time.Millisecond}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Answered(a)
		}
	})
}

// TestFunctionSeries: the first maxFunctions functions that run have series of their own, and others share one.
func TestFunctionSeries(t *testing.T) {
	m := New()
	for i := range maxFunctions + 20 {
		m.FunctionRan(function.Run{Function: fmt.Sprint("f", i), Steps: 5, Reason: fanfold.FunctionFailed})
	}
	m.FunctionRan(function.Run{Function: "f0", Steps: 5})
	w := httptest.NewRecorder()
	m.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := w.Body.String()
	for want, times := range map[string]int{"fanfold_function_steps_total{": maxFunctions + 1, `fanfold_function_attempts_total{function="f0"} 2`: 1, `fanfold_function_steps_total{function="other"} 100`: 1,
		`fanfold_function_errors_total{function="f0",reason="function-failed"} 1`: 1} {
		if got := strings.Count(text, want); got != times {
			t.Errorf("%s stands there %d times, want %d", want, got, times)
		}
	}
}
