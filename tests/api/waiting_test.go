package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

func TestPreferences(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	body := `{"authors":[{"id":"a1","name":"forged"}],"publisherName":"x"}`
	p := harness.Refuse(t, s, harness.Refusal{"", 422, "unprocessable", "PUT", "/v1/books/b1", body, []string{"Prefer", "handling=strict"}, []string{"/authors/0/name", "/publisherName"}})
	if len(p.Problems) != 2 {
		t.Errorf("problems %v", p.Problems)
	}
	s.Want(404, "GET", "/v1/books/b1", "")
	r := s.Want(201, "PUT", "/v1/books/b1", body, "Prefer", "handling=lenient, return=minimal")
	harness.WantHeader(t, r, "ETag", "") // what was stored is not what was sent
	harness.WantHeader(t, r, "Preference-Applied", "handling=lenient, return=minimal")
	if r.Header.Get("Fanfold-Revision") == "" || len(r.Body) > 0 {
		t.Errorf("%v %s", r.Header, r.Body)
	}
	s.WantDoc("books", "b1", `{"id":"b1","authors":[{"id":"a1","name":"A"}]}`)

	r = s.Want(200, "PUT", "/v1/books/b1", body, "Prefer", `odd, Return="representation"; x=1`)
	harness.WantHeader(t, r, "ETag", harness.Tag(s, "/v1/books/b1"))
	harness.WantHeader(t, r, "Content-Type", "application/json")
	if string(r.Body) != s.Get("books", "b1") {
		t.Errorf("the representation is %s", r.Body)
	}
	r = s.Want(201, "POST", "/v1/books", `{"id":"b2","authors":[{"id":"a1"}]}`, "Prefer", "return=representation")
	if string(r.Body) != `{"id":"b2","authors":[{"id":"a1","name":"A"}]}` {
		t.Errorf("the representation is %s", r.Body)
	}
	r = s.Want(200, "PATCH", "/v1/books/b2", `{"n":1}`, "Prefer", "return=representation", "Content-Type", harness.MergeType)
	if string(r.Body) != `{"id":"b2","authors":[{"id":"a1","name":"A"}],"n":1}` {
		t.Errorf("the representation is %s", r.Body)
	}
	s.Want(204, "PUT", "/v1/books/b2", `{}`, "Prefer", "handling=strict")
}

func TestRespondAsync(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	for _, st := range []step{
		{202, "POST", "/v1/books", `{"id":"b1"}`, nil}, {202, "PUT", "/v1/books/b1", `{"n":1}`, nil},
		{202, "PATCH", "/v1/books/b1", `{"n":2}`, []string{"Content-Type", harness.MergeType}}, {202, "DELETE", "/v1/books/b1", ``, nil},
	} {
		r := s.Want(st.want, st.method, st.path, st.body, append(st.headers, "Prefer", "respond-async")...)
		harness.WantHeader(t, r, "Preference-Applied", "respond-async")
		status := 200
		if st.method == "DELETE" {
			status = 404
		}
		got := s.Want(status, "GET", "/v1/books/b1", "", "Fanfold-Min-Position", r.Header.Get("Fanfold-Position"))
		if status == 200 {
			harness.WantHeader(t, got, "Fanfold-Revision", r.Header.Get("Fanfold-Revision"))
		}
	}
}

func TestWritesAreNot5xxWhenTheFoldIsLate(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	for i := range 20 {
		r, err := s.Do("PUT", fmt.Sprintf("/v1/books/b%d", i), []byte(`{}`), "Fanfold-Timeout", "0")
		if err != nil || r.Status != 201 && r.Status != 202 || r.Header.Get("Fanfold-Position") == "" {
			t.Fatalf("%v %+v", err, r)
		}
	}
	s.CatchUp()
	if n := len(walk(t, s, "/v1/books?limit=100")); n != 20 {
		t.Errorf("%d documents", n)
	}
}

func TestMinPositionWaits(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, harness.APIModel)
	at, err := fanfold.ParsePosition(s.Put("books", "b1", `{"n":0}`).Header.Get("Fanfold-Position"))
	if err != nil {
		t.Fatal(err)
	}
	s.Put("authors", "a1", `{}`)
	next := fanfold.At(at.Seq()+2, 0).String()
	for _, path := range []string{"/v1/books/b1", "/v1/books", "/v1/authors/a1/books", "/v1/_model"} {
		begin := time.Now()
		harness.Refuse(t, s, harness.Refusal{"", 504, "timeout", "GET", path, ``, []string{"Fanfold-Min-Position", next, "Fanfold-Timeout", "50ms"},
			[]string{fmt.Sprint("stands at event ", at.Seq()+1), fmt.Sprint(at.Seq() + 2), "50ms"}})
		if took := time.Since(begin); took < 40*time.Millisecond {
			t.Errorf("%s: the answer took %v", path, took)
		}
	}
	var wg sync.WaitGroup
	for _, path := range []string{"/v1/books/b1", "/v1/books"} {
		wg.Go(func() {
			if r := s.Want(200, "GET", path, "", "Fanfold-Min-Position", next, "Fanfold-Timeout", "30"); !strings.Contains(string(r.Body), `"n":1`) {
				t.Errorf("%s answers %s", path, r.Body)
			}
		})
	}
	if got := s.Put("books", "b1", `{"n":1}`).Header.Get("Fanfold-Position"); harness.Bare(got) != next {
		t.Errorf("the write is at %s, want %s", got, next)
	}
	wg.Wait()
	s.Want(200, "GET", "/v1/books/b1", "", "Fanfold-Min-Position", fmt.Sprint(at.Seq()+2))
}

func TestStrongReadsShowEveryWrite(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	for i := range 30 {
		s.Want(202, "PUT", "/v1/books/b1", fmt.Sprintf(`{"n":%d}`, i), "Prefer", "respond-async")
		for _, path := range []string{"/v1/books/b1?consistency=strong", "/v1/books?consistency=strong"} {
			if got := string(s.Want(200, "GET", path, "").Body); !strings.Contains(got, fmt.Sprintf(`"n":%d`, i)) {
				t.Fatalf("%s after write %d: %s", path, i, got)
			}
		}
	}
	if rows, _ := s.Changes("mode=all"); len(rows) != 30 {
		t.Errorf("%d changes: fences are not changes", len(rows))
	}
}

// TestWaitsSayWhere: a wait that does not end in time says where the node stands, and one for a
// projector that has stopped ends at once, with the reason.
func TestWaitsSayWhere(t *testing.T) {
	var failing atomic.Bool
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), FailWrite: func() error {
		if failing.Load() {
			return errors.New("injected fault")
		}
		return nil
	}})
	s.Put("books", "b1", `{}`)
	r := s.Want(http.StatusGatewayTimeout, http.MethodGet, "/v1/books/b1", "", "Fanfold-Min-Position", "9", "Fanfold-Timeout", "10ms")
	if !strings.Contains(string(r.Body), "stands at event 1 and did not reach 9 within 10ms") {
		t.Errorf("the wait says %s", r.Body)
	}
	failing.Store(true)
	r = s.Want(http.StatusAccepted, http.MethodPut, "/v1/books/b2", `{}`, "Fanfold-Timeout", "60")
	reason := "the projector has stopped at event 2"
	if !strings.Contains(string(r.Body), reason) || !strings.Contains(string(r.Body), "injected fault") {
		t.Errorf("a write says %s", r.Body)
	}
	for _, path := range []string{"/v1/books/b1?consistency=strong", "/v1/books?consistency=strong", "/v1/_export?consistency=strong"} {
		r = s.Want(http.StatusServiceUnavailable, http.MethodGet, path, "", "Fanfold-Timeout", "60")
		if !strings.Contains(string(r.Body), reason) || !strings.Contains(string(r.Body), "injected fault") {
			t.Errorf("%s says %s", path, r.Body)
		}
	}
	s.Want(http.StatusServiceUnavailable, http.MethodPatch, "/v1/books/b2", `{}`, "Content-Type", harness.MergeType)
	r = s.Want(http.StatusOK, http.MethodPost, "/v1/_import?collection=books", `{"id":"b4"}`, "Content-Type", harness.NDJSON)
	if !strings.Contains(string(r.Body), `"done":true,"folded":false`) || !strings.Contains(string(r.Body), reason) {
		t.Errorf("an import says %s", r.Body)
	}
	again := s.Abandon()
	again.CatchUp()
	again.WantDoc("books", "b2", `{"id":"b2"}`)
	again.Verify()
	again.Close()
}

// TestReadyWhenCaughtUp: a node that begins before its log's end is not ready before it shows what the log had then.
func TestReadyWhenCaughtUp(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	for i := range 300 {
		s.Put("books", strconv.Itoa(i), `{}`)
	}
	s.Close()
	if err := os.RemoveAll(filepath.Join(dir, "readmodel")); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	writes := atomic.Int64{}
	s = harness.Open(t, harness.Options{Dir: dir, FailWrite: func() error {
		if writes.Add(1) > 200 {
			<-gate
		}
		return nil
	}})
	defer s.Close()
	ready := func() *harness.Response {
		r, err := s.Do(http.MethodGet, "/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for writes.Load() <= 200 {
		if r := ready(); r.Status != http.StatusServiceUnavailable {
			t.Fatalf("the node is ready while it folds: %d %s", r.Status, r.Body)
		}
	}
	if r := ready(); r.Status != http.StatusServiceUnavailable || !strings.Contains(string(r.Body), "catches up with event") {
		t.Errorf("behind its log the node says %d %s", r.Status, r.Body)
	}
	close(gate)
	for ready().Status != http.StatusOK {
		time.Sleep(time.Millisecond)
	}
	s.WantDoc("books", "299", `{"id":"299"}`)
}
