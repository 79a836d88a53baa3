package faults_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// bookModel declares what a node must know before it takes a write.
const bookModel = `{"collections":{"authors":{},"books":{"unique":["title"],"schema":{"properties":{"pages":{"type":"integer"}}},
	"relations":{"author":{"path":"author","to":"authors","onDelete":"restrict"}}}}}`

// TestWritesBeforeTheModelIsFolded: a node that builds its read model anew decides no write before it knows the model that applies. A write
// waits for that, and is refused within its deadline otherwise.
func TestWritesBeforeTheModelIsFolded(t *testing.T) {
	suite.Concurrent(t, "node", "node/logcheck", "node/serving")
	refused := []struct {
		status                  int
		method, path, body, typ string
	}{
		{http.StatusConflict, http.MethodPut, "/v1/books/b2", `{"title":"Dune"}`, "application/json"},
		{http.StatusConflict, http.MethodPost, "/v1/books", `{"title":"Dune"}`, "application/json"},
		{http.StatusConflict, http.MethodDelete, "/v1/authors/a1", "", ""},
		{http.StatusConflict, http.MethodPost, "/v1/_transactions", `{"operations":[{"op":"put","collection":"books","id":"b3","body":{"title":"Dune"}}]}`, "application/json"},
		{http.StatusUnprocessableEntity, http.MethodPut, "/v1/books/b4", `{"title":"Emma","pages":"many"}`, "application/json"},
	}
	for name, waits := range map[string]bool{"past the deadline": false, "within the deadline": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := harness.Open(t, harness.Options{Dir: dir})
			for i := range 300 {
				s.Put("others", strconv.Itoa(i), `{}`)
			}
			s.Model(bookModel)
			s.Put("authors", "a1", `{}`)
			s.Put("books", "b1", `{"title":"Dune","author":"a1"}`)
			s.Close()
			must(t, os.RemoveAll(filepath.Join(dir, "readmodel")))

			gate, writes, opt := make(chan struct{}), atomic.Int64{}, writer.Options{Timeout: 20 * time.Millisecond}
			if waits {
				opt.Timeout = time.Minute
			}
			s = harness.Open(t, harness.Options{Dir: dir, Writer: opt, FailWrite: func() error {
				if writes.Add(1) > 200 { // of the documents before the model
					<-gate
				}
				return nil
			}})
			open := sync.OnceFunc(func() { close(gate) })
			defer s.Close()
			defer open()
			answers := make(chan *harness.Response)
			for _, r := range refused {
				if !waits {
					s.Want(http.StatusServiceUnavailable, r.method, r.path, r.body, "Content-Type", r.typ)
					continue
				}
				go func() {
					answer, err := s.Do(r.method, r.path, []byte(r.body), "Content-Type", r.typ)
					if err != nil || answer.Status != r.status {
						t.Errorf("%s %s: %v %v", r.method, r.path, answer, err)
					}
					answers <- answer
				}()
			}
			if !waits {
				s.Want(http.StatusServiceUnavailable, http.MethodPost, "/v1/_import?collection=books", `{"id":"b5","title":"Dune"}`, "Content-Type", "application/x-ndjson")
			}
			open()
			for range refused {
				if waits {
					<-answers
				}
			}
			s.CatchUp()
			for _, r := range refused {
				s.Want(r.status, r.method, r.path, r.body, "Content-Type", r.typ)
			}
			s.Verify()
		})
	}
}
