package model_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

const suggestPath = "/v1/_suggest-model"

// TestSuggestModel: the server proposes a model for its documents, as they were written, which it takes as it is. A role that reads every
// document is not enough, and a rule about documents neither.
func TestSuggestModel(t *testing.T) {
	s := harness.OpenClosed(t, "")
	admin := s.Client
	var lines strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&lines, `{"collection":"books","doc":{"id":"b%d","author":"a%d","authorName":"Author %d","pages":%d}}`+"\n", i, i%40, i%40, 100+i%40)
	}
	for i := range 40 {
		fmt.Fprintf(&lines, `{"collection":"authors","doc":{"id":"a%d","name":"Author %d","books":30,"pages":%d}}`+"\n", i, i, 30*(100+i))
	}
	harness.ImportText(t, admin, "", lines.String())
	admin.Put("empty", "e", `{}`)
	admin.Delete("empty", "e")
	r := admin.Want(http.StatusOK, "GET", suggestPath, "")
	for _, want := range []string{
		"  authors: # 40 documents\n", "  books: # 1200 documents\n",
		"author: { path: author, to: authors } # 100% of 1200 values are ids of authors\n",
		"authorName: { copy: author, value: doc.name, takeOver: true } # 100% of 1200 are equal to name of authors\n",
		"pages: { sum: books.author, of: pages, takeOver: true } # 100% of 40 numbers",
	} {
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("there is no %s in\n%s", want, r.Body)
		}
	}
	if strings.Contains(string(r.Body), "empty") || r.Header.Get("Fanfold-Position") == "" || r.Header.Get("Content-Type") != harness.YAMLType {
		t.Errorf("%v\n%s", r.Header, r.Body)
	}
	if m := admin.Want(http.StatusOK, "GET", "/v1/_model", ""); string(m.Body) != `{"collections":{}}` && !strings.Contains(string(m.Body), "{}") {
		t.Errorf("it applies a model: %s", m.Body)
	}
	admin.Want(http.StatusOK, "PUT", "/v1/_model", string(r.Body), "Content-Type", harness.YAMLType)
	for _, access := range []string{"{ read: [people] }", "{ read: { where: 'true' } }"} {
		admin.Model(fmt.Sprintf("collections: { books: { access: %s }, authors: { access: %s } }", access, access))
		s.As("people").Want(http.StatusForbidden, "GET", suggestPath, "")
	}
}

// TestSuggestionsAreBounded: text beyond the bound is counted and not looked at, one request is answered at a time, and it ends with its time
// and with its client.
func TestSuggestionsAreBounded(t *testing.T) {
	suite.Parallel(t)
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, API: api.Options{Admission: time.Millisecond}})
	large := strings.Repeat("x", 1<<20-100)
	for i := range 34 {
		s.Put("large", fmt.Sprint(i), fmt.Sprintf(`{"n":%d,"text":%q}`, i, large))
	}
	statuses := map[int]int{}
	harness.Await(t, "one that waits in vain for the others", harness.WaitTime, func() bool {
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 8 {
			all.Go(func() {
				r, err := s.Do("GET", suggestPath, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if r.Status == http.StatusOK && !strings.Contains(string(r.Body), "  large: # 32 documents, and 2 that were not looked at\n") {
					t.Errorf("%s", r.Body)
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[r.Status]++
			})
		}
		all.Wait()
		return statuses[http.StatusTooManyRequests] > 0 && statuses[http.StatusOK] > 0
	})
	if len(statuses) != 2 {
		t.Errorf("the answers are %v", statuses)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if r, err := http.NewRequestWithContext(gone, http.MethodGet, s.URL+suggestPath, http.NoBody); err != nil {
		t.Fatal(err)
	} else if resp, err := http.DefaultClient.Do(r); err == nil {
		_ = resp.Body.Close()
		t.Error("who has gone is answered")
	}
	s.Want(http.StatusOK, "GET", suggestPath, "")
	s.Close()
	s = harness.Open(t, harness.Options{Dir: dir, API: api.Options{PreviewTime: 1}})
	defer s.Close()
	if r := s.Want(http.StatusUnprocessableEntity, "GET", suggestPath, ""); r.Problem() != "urn:fanfold:problem:takes-long" || !strings.Contains(string(r.Body), "fanfold model suggest") {
		t.Errorf("%s", r.Body)
	}
}
