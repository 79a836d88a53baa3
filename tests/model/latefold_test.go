package model_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// TestPatchesAreAnsweredBeforeTheFold: while the fold is busy, patches, deletes and transactions without If-Match are answered as soon as
// their clients ask for, from the log. The next write to the document waits for them, and is not tried in vain.
func TestPatchesAreAnsweredBeforeTheFold(t *testing.T) {
	suite.Concurrent(t)
	suite.Parallel(t)
	var busy atomic.Bool
	free := make(chan struct{})
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{Timeout: time.Minute}, FailWrite: func() error {
		if busy.Load() {
			<-free
		}
		return nil
	}})
	defer s.Close()
	s.Put("books", "b1", `{"n":0}`)
	s.Put("books", "b2", `{"n":0}`)
	s.Put("books", "b3", `{"n":0}`)
	busy.Store(true)
	open := sync.OnceFunc(func() { close(free) })
	defer open()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		s.Want(http.StatusAccepted, "PATCH", "/v1/books/b1", `{"n":1}`, "Content-Type", harness.MergeType, "Prefer", "respond-async")
		s.Want(http.StatusAccepted, "DELETE", "/v1/books/b2", "", "Fanfold-Timeout", "0")
		s.Want(http.StatusAccepted, "POST", "/v1/_transactions", `{"operations":[{"op":"patch","collection":"books","id":"b3","patch":{"n":1}}]}`, "Prefer", "respond-async")
	}()
	select {
	case <-answered:
	case <-time.After(suite.Deadline(30 * time.Second)):
		t.Error("the writes wait for the fold")
		open()
		<-answered
	}
	var next sync.WaitGroup
	for _, id := range []string{"b1", "b3"} {
		next.Go(func() {
			s.Want(http.StatusNoContent, "PATCH", "/v1/books/"+id, `{"m":2}`, "Content-Type", harness.MergeType, "Fanfold-Timeout", "60")
		})
	}
	open()
	next.Wait()
	s.WantDoc("books", "b1", `{"id":"b1","n":1,"m":2}`)
	s.WantDoc("books", "b3", `{"id":"b3","n":1,"m":2}`)
	if n := s.Node.Writer().Retries(); n > 0 {
		t.Errorf("%d writes were tried in vain", n)
	}
	s.Verify()
}

// TestFanoutsEndTheirTransactions: large fan-outs that wait together are folded in a transaction each, so that what comes
// between them is shown before the next one, and none needs room for all.
func TestFanoutsEndTheirTransactions(t *testing.T) {
	suite.Parallel(t)
	var busy atomic.Bool
	free := make(chan struct{})
	var shown sync.Map // events that were the last one shown while others were folded
	var s *harness.Store
	s = harness.Open(t, harness.Options{Dir: t.TempDir(), FailWrite: func() error {
		if busy.Load() {
			<-free
			shown.Store(s.Node.Store.Applied.Seq(), true)
		}
		return nil
	}})
	defer s.Close()
	s.Model(`{"collections":{"publishers":{},"books":{"relations":{"publisher":{"path":"pub","to":"publishers"}},"derive":{"publisherName":{"copy":"publisher","value":"doc.name"}}}}}`)
	const copies = 1100
	var lines strings.Builder
	for p := range 3 {
		fmt.Fprintf(&lines, `{"collection":"publishers","doc":{"id":"%d","name":"old"}}`+"\n", p)
		for i := range copies {
			fmt.Fprintf(&lines, `{"collection":"books","doc":{"id":"%d-%d","pub":"%d"}}`+"\n", p, i, p)
		}
	}
	s.Want(http.StatusOK, "POST", "/v1/_import", lines.String(), "Content-Type", "application/x-ndjson")
	busy.Store(true)
	revision := func(r *harness.Response) uint64 {
		n, err := strconv.ParseUint(r.Header.Get("Fanfold-Revision"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	s.Want(http.StatusAccepted, "PUT", "/v1/notes/first", `{}`, "Prefer", "respond-async") // is being folded meanwhile
	var renames []uint64
	for p := range 3 {
		s.Want(http.StatusAccepted, "PUT", fmt.Sprintf("/v1/notes/%d", p), `{}`, "Prefer", "respond-async")
		renames = append(renames, revision(s.Want(http.StatusAccepted, "PATCH", fmt.Sprintf("/v1/publishers/%d", p), `{"name":"new"}`, "Content-Type", harness.MergeType, "Prefer", "respond-async")))
	}
	close(free)
	s.CatchUp()
	for _, seq := range renames[:2] {
		if _, ok := shown.Load(seq); !ok {
			t.Errorf("the rename of event %d is not shown before the next one is folded", seq)
		}
	}
	s.WantDoc("books", "2-7", `{"id":"2-7","pub":"2","publisherName":"new"}`)
	s.Verify()
}
