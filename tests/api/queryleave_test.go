package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestFifthLargeQueryWaits: beside four queries that look at much a fifth one waits, and is refused then. Once the clients of the four have
// left, it is answered.
func TestFifthLargeQueryWaits(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	const patience = 50 * time.Millisecond
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), API: api.Options{Admission: patience}})
	defer s.Close()
	var wide, many strings.Builder
	for i := range 500 {
		fmt.Fprintf(&wide, `{"id":"%d","list":[%s0]}`+"\n", i, strings.Repeat("1,", 299))
	}
	for i := range 1500 {
		fmt.Fprintf(&many, `{"id":"%d","text":"x%d"}`+"\n", i, i)
	}
	harness.ImportText(t, s.Client, "collection=wide", wide.String())
	harness.ImportText(t, s.Client, "collection=many", many.String())
	const large = `{"filter":"doc.list.all(x, doc.list.all(y, x + y >= 0))"}` // works for seconds
	ctx, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer leave() // first, or nobody ends them where the test fails
	for range 8 { // more than may work at once, so that one always waits for a place
		wg.Go(func() {
			for ctx.Err() == nil { // one may be refused itself, or come to its bound
				askAndLeave(ctx, s.URL+"/v1/wide/_query", large)
			}
		})
	}
	path := "/v1/many?" + queryText("filter", `doc.text.contains("none")`)
	harness.Await(t, "a refusal of the fifth query", 3*time.Minute, func() bool {
		begin := time.Now()
		r, err := s.Do("GET", path, nil)
		if err != nil || r.Status != http.StatusOK && r.Problem() != "urn:fanfold:problem:busy" {
			t.Fatalf("the fifth is answered with %v %+v", err, r)
		}
		if r.Status == http.StatusTooManyRequests && time.Since(begin) < patience {
			t.Errorf("it is refused after %v", time.Since(begin))
		}
		return r.Status == http.StatusTooManyRequests
	})
	leave()
	harness.Await(t, "an answer, once the clients of the others have left", 3*time.Minute, func() bool {
		r, err := s.Do("GET", path, nil)
		return err == nil && r.Status == http.StatusOK
	})
}

// askAndLeave sends a query, whose answer nobody reads once ctx has ended.
func askAndLeave(ctx context.Context, url, body string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}
