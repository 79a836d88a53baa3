package feed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestFilteredStreamsConverge: consumers that share the reading of the head come and go in the middle of it, and join again from wherever
// they are. In the end they have exactly the documents that match.
func TestFilteredStreamsConverge(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	const consumers, writes = 12, 600
	s := harness.OpenTemp(t, harness.LeaveModel)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var head sync.Map // the last position, once it is known
	var wg sync.WaitGroup
	has := make([]map[string]bool, consumers)
	for i := range consumers {
		query := fmt.Sprintf("feed=continuous&heartbeat=100&mode=%s&filter=%s", []string{"latest", "latest", "all"}[i%3], url.QueryEscape("doc.project == '1'"))
		has[i] = map[string]bool{}
		wg.Go(func() {
			r := rand.New(rand.NewPCG(28, uint64(i)))
			for since := "0"; ; {
				since = followLines(ctx, t, s, query+"&since="+since, has[i], 1+r.IntN(40))
				if last, known := head.Load("head"); known && atLeast(since, last.(string)) || ctx.Err() != nil {
					return
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(28, 28))
	for range writes {
		id := fmt.Sprint(r.IntN(5))
		if r.IntN(5) == 0 {
			if resp, err := s.Do("DELETE", harness.Path("tickets", id), nil); err != nil || resp.Status >= 500 {
				t.Fatalf("%v %+v", err, resp)
			}
			continue
		}
		s.Put("tickets", id, fmt.Sprintf(`{"project":"%d","n":%d}`, r.IntN(2), r.IntN(9)))
	}
	_, last := s.Changes("since=now")
	head.Store("head", last)
	wg.Wait()
	want := map[string]bool{}
	for id := range 5 {
		if resp, err := s.Do("GET", harness.Path("tickets", fmt.Sprint(id)), nil); err == nil && strings.Contains(string(resp.Body), `"project":"1"`) {
			want[fmt.Sprint(id)] = true
		}
	}
	for i := range has {
		if !maps.Equal(has[i], want) {
			t.Errorf("consumer %d has %v, want %v", i, has[i], want)
		}
	}
}

// atLeast reports whether a position is another or later than it.
func atLeast(position, than string) bool {
	a, err1 := fanfold.ParsePosition(position)
	b, err2 := fanfold.ParsePosition(than)
	return err1 == nil && err2 == nil && a >= b
}

// followLines applies at most so many lines of a feed, and returns the position after the last.
func followLines(ctx context.Context, t *testing.T, s *harness.Store, query string, has map[string]bool, most int) (since string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/_changes?"+query, nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	_, since, _ = strings.Cut(query, "&since=")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return since
	}
	defer resp.Body.Close()
	in := json.NewDecoder(resp.Body)
	for begun := false; most > 0; most-- {
		var row struct {
			Seq, ID, Op string
			LastSeq     string `json:"last_seq"`
		}
		if err := in.Decode(&row); err != nil {
			return since
		}
		switch {
		case row.LastSeq != "" && begun:
			return row.LastSeq // it has caught up
		case row.LastSeq != "":
			begun = true
			continue
		case row.Op == "leave" || row.Op == "delete":
			delete(has, row.ID)
		default:
			has[row.ID] = true
		}
		since = row.Seq
	}
	return since
}

// TestLargeDocumentsLeave: also where a page has no room for the versions of one change, the feed goes on.
func TestLargeDocumentsLeave(t *testing.T) {
	s := harness.OpenTemp(t, harness.LeaveModel)
	filler := strings.Repeat("x", 3<<19)
	for i := range 3 {
		s.Put("tickets", "t", fmt.Sprintf(`{"project":"1","n":%d,"filler":%q}`, i, filler))
		s.Put("tickets", "t", fmt.Sprintf(`{"project":"2","n":%d,"filler":%q}`, i, filler))
	}
	for mode, want := range map[string]string{"latest": "leave t, leave t, leave t", "all": "leave t, replace t, leave t, replace t, leave t"} {
		for _, view := range []string{"embedded", "referenced"} {
			if rows, _ := s.Changes("since=2-0&view=" + view + "&mode=" + mode + "&filter=" + url.QueryEscape("doc.project == '1'")); opsOf(rows) != want {
				t.Errorf("%s, %s: %s, want %s", mode, view, opsOf(rows), want)
			}
		}
	}
}
