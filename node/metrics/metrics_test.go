package metrics

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
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
