package model_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/model"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// workModel is a model of books that have one author each, and countedModel the same with one rule and collection more.
const (
	workModel    = `{collections: {authors: {}, books: {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}}}`
	countedModel = `{collections: {authors: {derive: {books: {count: books.author}, odd: {copy: self, value: doc.nme}}, relations: {self: {path: self, to: authors}}}, books: {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}, more: {}}}`
)

// openWork opens a store with two authors and three books.
func openWork(t *testing.T, opt harness.Options) *harness.Store {
	opt.Dir = t.TempDir()
	s := harness.Open(t, opt)
	t.Cleanup(s.Close)
	fillWork(s)
	return s
}

// fillWork gives a store two authors and three books.
func fillWork(s *harness.Store) {
	s.Want(http.StatusOK, "PUT", "/v1/_model", workModel, "Content-Type", harness.YAMLType)
	s.Put("authors", "a", `{"name":"A","self":"a"}`)
	s.Put("authors", "b", `{"name":"B","self":"b"}`)
	for i := range 3 {
		s.Put("books", fmt.Sprint(i), `{"author":"a"}`)
	}
}

// TestModelAnswersBriefly: a change of the model is answered with a few numbers, and with the whole preview where the client
// prefers that; a dry run with the preview.
func TestModelAnswersBriefly(t *testing.T) {
	suite.Parallel(t)
	s := openWork(t, harness.Options{})
	full := s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", countedModel, "Content-Type", harness.YAMLType)
	if p := previewed(t, full.Body); p.Changes != 2 || len(p.Differences) != 4 || len(p.Rules) != 3 {
		t.Errorf("the dry run tells %s", full.Body)
	}
	r := s.Want(http.StatusOK, "PUT", "/v1/_model", countedModel, "Content-Type", harness.YAMLType)
	var got model.Summary
	harness.Decode(t, r.Body, &got)
	if got.FirstWarning == nil || got.FirstWarning.Path != `collections.authors.derive["odd"].value` {
		t.Errorf("the first warning is %+v", got.FirstWarning)
	}
	want := model.Summary{Applied: true, Position: got.Position, Revision: got.Revision, Collections: model.Counted{Added: 1, Changed: 1},
		Rules: model.Counted{Added: 2}, Differences: 4, Documents: 2, Values: 2, Warnings: 1, FirstWarning: got.FirstWarning}
	if got != want || fmt.Sprint(got.Revision) != r.Header.Get("Fanfold-Revision") || got.Position != r.Header.Get("Fanfold-Position") || len(r.Body) > 600 {
		t.Errorf("the answer is %s, with %v", r.Body, r.Header)
	}
	less := s.Want(http.StatusOK, "PATCH", "/v1/_model?allowRemoval=true", `{"collections":{"more":null,"authors":{"derive":null}}}`,
		"Content-Type", harness.MergeType, "Prefer", "return=representation")
	if p := previewed(t, less.Body); p.Changes != 2 || len(p.Differences) != 3 || less.Header.Get("Preference-Applied") != "return=representation" {
		t.Errorf("the representation is %s", less.Body)
	}
	part := s.Want(http.StatusOK, "PUT", "/v1/_model/more", `{}`)
	got = model.Summary{}
	if harness.Decode(t, part.Body, &got); got.Collections != (model.Counted{Added: 1}) || got.Documents != 0 {
		t.Errorf("a part is answered with %s", part.Body)
	}
}

// TestPreviewTakesLong: a preview that takes longer than a client waits ends, and says how to have it in the background.
func TestPreviewTakesLong(t *testing.T) {
	suite.Parallel(t)
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	fillWork(s)
	s.Close()
	s = harness.Open(t, harness.Options{Dir: dir, API: api.Options{PreviewTime: 1}})
	t.Cleanup(s.Close)
	for _, query := range []string{"?dryRun=true", ""} {
		r := s.Want(http.StatusUnprocessableEntity, "PUT", "/v1/_model"+query, countedModel, "Content-Type", harness.YAMLType)
		if r.Problem() != "urn:fanfold:problem:takes-long" || !strings.Contains(string(r.Body), "respond-async") {
			t.Errorf("it is told as %s", r.Body)
		}
	}
	w := harness.AwaitWork(t, s, s.Want(http.StatusAccepted, "PUT", "/v1/_model?dryRun=true", countedModel, "Content-Type", harness.YAMLType, "Prefer", "respond-async"))
	if p := previewed(t, w.Result); w.Status != http.StatusOK || p.Changes != 2 {
		t.Errorf("in the background it is %+v", w)
	}
}

// TestVerifyInBackground: a verification that nobody waits for tells in _status how far it is. Its report is kept until the next one of
// its kind, and a request can end and forget it.
func TestVerifyInBackground(t *testing.T) {
	suite.Parallel(t)
	s := openWork(t, harness.Options{})
	jsonType := []string{"Content-Type", "application/json"}
	async := append([]string{"Prefer", "respond-async"}, jsonType...)
	var waited, report inspect.Verified
	harness.Decode(t, s.Want(http.StatusOK, "POST", "/v1/_verify", "", jsonType...).Body, &waited)
	first := harness.AwaitWork(t, s, s.Want(http.StatusAccepted, "POST", "/v1/_verify", "", async...))
	harness.Decode(t, first.Result, &report)
	if first.Kind != "verify" || first.Status != http.StatusOK || report.Documents != 5 || report.Position != waited.Position || first.Ended.IsZero() {
		t.Errorf("the verification is %+v", first)
	}
	log := harness.AwaitWork(t, s, s.Want(http.StatusAccepted, "POST", "/v1/_verify?log=true", "", async...))
	if log.Kind != "verify-log" || log.Status != http.StatusOK {
		t.Errorf("the verification of the log is %+v", log)
	}
	second := harness.AwaitWork(t, s, s.Want(http.StatusAccepted, "POST", "/v1/_verify", "", async...))
	s.Want(http.StatusNotFound, "GET", "/v1/_work/"+first.ID, "")
	var status node.Status
	harness.Decode(t, s.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &status)
	if len(status.Work) != 2 || status.Work[0].ID != second.ID || status.Work[1].ID != log.ID || status.Work[0].Result != nil {
		t.Errorf("_status tells %+v", status.Work)
	}
	if text, _ := json.Marshal(status.Work[0].Summary); string(text) != `{"documents":5,"wrong":0}` {
		t.Errorf("the summary is %s", text)
	}
	s.Want(http.StatusNoContent, "DELETE", "/v1/_work/"+second.ID, "")
	s.Want(http.StatusNotFound, "DELETE", "/v1/_work/"+second.ID, "")
	// Whoever waits for long enough is answered as ever.
	soon := s.Want(http.StatusOK, "POST", "/v1/_verify", "", append([]string{"Prefer", "respond-async, wait=60"}, jsonType...)...)
	if harness.Decode(t, soon.Body, &report); report.Documents != 5 {
		t.Errorf("it is answered with %s", soon.Body)
	}
	r := harness.AwaitWork(t, s, s.Want(http.StatusAccepted, "PUT", "/v1/_model", `{collections: {}}`, "Content-Type", harness.YAMLType, "Prefer", "respond-async"))
	if r.Status != http.StatusConflict || !strings.Contains(string(r.Result), "urn:fanfold:problem:model-removes") || r.Phase != "failed" {
		t.Errorf("a model that is refused is %+v", r)
	}
}

// TestModelInBackgroundShowsItself: _status shows the work before a model is announced while it is done, whether its client waits or not.
// It shows the same end as a client that had waited is told.
func TestModelInBackgroundShowsItself(t *testing.T) {
	suite.Parallel(t)
	var mu sync.Mutex
	var held chan struct{} // where it is not nil no event is appended until it is closed, a fence of a node that was slow neither
	hold := func(stored bool) error {
		mu.Lock()
		at := held
		mu.Unlock()
		if at != nil && !stored {
			<-at
		}
		return nil
	}
	s := openWork(t, harness.Options{FailAppend: hold})
	for _, asks := range []string{"respond-async", "handling=lenient"} {
		gate := make(chan struct{})
		mu.Lock()
		held = gate
		mu.Unlock()
		m := countedModel
		if asks != "respond-async" {
			m = strings.Replace(countedModel, "more: {}", "others: {}", 1)
		}
		answers := make(chan *harness.Response, 1)
		go func() {
			r, _ := s.Do("PUT", "/v1/_model?allowRemoval=true", []byte(m), "Content-Type", harness.YAMLType, "Prefer", asks)
			answers <- r
		}()
		var status node.Status
		harness.Await(t, "the work in _status", harness.WaitTime, func() bool {
			if asks != "respond-async" && len(answers) > 0 {
				r := <-answers
				t.Fatalf("it is answered with %d %s before it is stored", r.Status, r.Body)
			}
			status = node.Status{} // decoding leaves what the answer does not have as it was
			harness.Decode(t, s.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &status)
			return len(status.Work) > 0 && status.Work[0].Status == 0
		})
		if w := status.Work[0]; w.Kind != "model" || w.Started.IsZero() {
			t.Errorf("_status tells %+v", status.Work)
		}
		mu.Lock()
		held = nil
		mu.Unlock()
		close(gate)
		r := <-answers
		if r == nil {
			t.Fatal("no answer")
		}
		body, revision := r.Body, r.Header.Get("Fanfold-Revision")
		if asks == "respond-async" {
			w := harness.AwaitWork(t, s, r)
			body, revision = w.Result, w.Headers["Fanfold-Revision"]
		}
		var got model.Summary
		if harness.Decode(t, body, &got); !got.Applied || fmt.Sprint(got.Revision) != revision {
			t.Errorf("%s: it is answered with %s", asks, body)
		}
	}
	s.Want(http.StatusNotFound, "DELETE", "/v1/_model/_pending", "")
}

// TestWorkInBackgroundHasBounds: what nobody waits for counts among what runs at a time.
func TestWorkInBackgroundHasBounds(t *testing.T) {
	suite.Parallel(t)
	var holding atomic.Bool
	gate := make(chan struct{})
	s := openWork(t, harness.Options{API: api.Options{Admission: 10 * time.Millisecond}, FailAppend: func(stored bool) error {
		if holding.Load() && !stored {
			<-gate
		}
		return nil
	}})
	holding.Store(true)
	var all []*harness.Response
	for range 4 {
		all = append(all, s.Want(http.StatusAccepted, "PUT", "/v1/_model", countedModel, "Content-Type", harness.YAMLType, "Prefer", "respond-async"))
	}
	busy := s.Want(http.StatusTooManyRequests, "PUT", "/v1/_model", countedModel, "Content-Type", harness.YAMLType, "Prefer", "respond-async")
	if busy.Problem() != "urn:fanfold:problem:busy" {
		t.Errorf("the fifth is told %s", busy.Body)
	}
	holding.Store(false)
	close(gate)
	for _, r := range all { // one of them applies, and the others find that it does
		if w := harness.AwaitWork(t, s, r); w.Status != http.StatusOK {
			t.Errorf("a change ends as %+v, %s", w, w.Result)
		}
	}
	s.Want(http.StatusOK, "PUT", "/v1/_model", countedModel, "Content-Type", harness.YAMLType)
}
