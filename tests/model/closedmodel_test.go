package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

const closedModel = `
open: false
collections:
  posts: {derive: {comments: {count: comments.post}}}
  comments: {relations: {post: {path: postId, to: posts, onDelete: cascade}}}
`

// TestClosedModel: a model with open: false lets nobody write a document of a collection that it does not declare, by any way. Documents
// that are there stay readable, and a model that closes collections with documents says so.
func TestClosedModel(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("notes", "n1", `{"text":"before"}`)
	s.Put("posts", "p1", `{}`)
	for _, dry := range []string{"?dryRun=true", ""} {
		r := string(s.Want(http.StatusOK, "PUT", "/v1/_model"+dry, closedModel, "Content-Type", harness.YAMLType, "Prefer", "return=representation").Body)
		if !strings.Contains(r, `{"path":"open","change":"changed","detail":"false, was true"}`) || !strings.Contains(r, `"warnings":[{"path":"open","detail":"documents of collections`) || !strings.Contains(r, "notes (1)") {
			t.Errorf("the answer to the model is %s", r)
		}
	}
	unknown := func(method, path, body string, headers ...string) {
		t.Helper()
		harness.Refuse(t, s, harness.Refusal{"", 404, "unknown-collection", method, path, body, headers, []string{"open: false"}})
	}
	before := s.Get("notes", "n1")
	unknown("POST", "/v1/comment", `{"postId":"p1"}`)
	for _, id := range []string{"n1", "n2"} {
		unknown("PUT", "/v1/notes/"+id, `{"x":1}`)
		unknown("PUT", "/v1/notes/"+id, `{"x":1}`, "If-None-Match", "*")
		unknown("PUT", "/v1/notes/"+id+"?dryRun=true", `{"x":1}`)
		unknown("PATCH", "/v1/notes/"+id, `{"x":1}`, "Content-Type", harness.MergeType)
		unknown("PATCH", "/v1/notes/"+id, `[{"op":"add","path":"/x","value":1}]`, "Content-Type", harness.PatchType)
		unknown("DELETE", "/v1/notes/"+id, "")
		unknown("DELETE", "/v1/notes/"+id+"?steps=true", "")
		for _, op := range []string{`"op":"put","body":{}`, `"op":"create","body":{}`, `"op":"patch","patch":{"x":1}`, `"op":"delete"`} {
			r := s.Want(http.StatusNotFound, "POST", "/v1/_transactions", `{"operations":[{"op":"create","collection":"posts","body":{}},{`+op+`,"collection":"notes","id":"`+id+`"}]}`)
			if r.Problem() != "urn:fanfold:problem:unknown-collection" || !strings.Contains(string(r.Body), `"operation":1`) {
				t.Errorf("%s in a transaction: %s", op, r.Body)
			}
		}
	}
	for query, lines := range map[string]string{"?collection=notes": `{"id":"n3"}`, "": `{"collection":"notes","doc":{"id":"n3"}}`} {
		r := s.Want(http.StatusOK, "POST", "/v1/_import"+query, lines+"\n", "Content-Type", "application/x-ndjson")
		if !strings.Contains(string(r.Body), `"status":404,"type":"urn:fanfold:problem:unknown-collection"`) || !strings.Contains(string(r.Body), `"written":0,`) && !strings.Contains(string(r.Body), `"written":0}`) {
			t.Errorf("an import is answered with %s", r.Body)
		}
	}
	s.WantDoc("notes", "n1", before)
	s.Want(http.StatusOK, "GET", "/v1/notes", "")
	s.Want(http.StatusOK, "POST", "/v1/_transactions", `{"operations":[{"op":"check","collection":"notes","id":"n1","ifMatch":"*"},{"op":"create","collection":"comments","body":{"id":"c1","postId":"p1"}}]}`)
	s.Want(http.StatusNoContent, "DELETE", "/v1/posts/p1", "") // with c1
	s.Want(http.StatusNotFound, "GET", "/v1/comments/c1", "")
	if r := s.Want(http.StatusConflict, "PUT", "/v1/_model", strings.Replace(closedModel, "open: false", "", 1), "Content-Type", harness.YAMLType); r.Problem() != "urn:fanfold:problem:model-removes" {
		t.Errorf("a model without open: false is answered with %s", r.Body)
	}
	part := s.Want(http.StatusOK, "PATCH", "/v1/_model", `{"collections":{"notes":{}}}`, "Content-Type", harness.MergeType)
	if !strings.Contains(string(part.Body), `"warnings":0`) {
		t.Errorf("the part is answered with %s", part.Body)
	}
	s.Want(http.StatusNoContent, "PUT", "/v1/notes/n1", `{}`)
	gone := s.Want(http.StatusOK, "PATCH", "/v1/_model", `{"collections":{"notes":null}}`, "Content-Type", harness.MergeType)
	if !strings.Contains(string(gone.Body), "notes (1)") {
		t.Errorf("a model that does not declare notes any more is answered with %s", gone.Body)
	}
	unknown("PUT", "/v1/notes/n1", `{"x":1}`)
	exported := s.Want(http.StatusOK, "GET", "/v1/_export", "").Body
	again := harness.OpenTemp(t, "")
	if r := again.Want(http.StatusOK, "POST", "/v1/_import", string(exported), "Content-Type", "application/x-ndjson"); !strings.Contains(string(r.Body), `"refused":0`) || !strings.Contains(string(r.Body), `"done":true`) {
		t.Errorf("the export is imported with %s", r.Body)
	}
	again.WantDoc("notes", "n1", `{"id":"n1"}`)
	again.Want(http.StatusNotFound, "PUT", "/v1/notes/n1", `{}`)
	s.Want(http.StatusOK, "PATCH", "/v1/_model", `{"open":true}`, "Content-Type", harness.MergeType)
	s.Want(http.StatusCreated, "POST", "/v1/comment", `{}`)
}

// TestClosingUnderWrites: what is written after a model was answered goes by it, and what was acknowledged before it stays.
func TestClosingUnderWrites(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, "")
	s.Want(http.StatusOK, "PUT", "/v1/_model", `{"collections":{"posts":{"unique":["name"]}}}`)
	var wg sync.WaitGroup
	stored := make([]int, 8)
	for w := range stored {
		wg.Go(func() {
			for {
				r, err := s.Do("POST", "/v1/notes", fmt.Appendf(nil, `{"id":"%d-%d"}`, w, stored[w]))
				if err != nil || r.Status != http.StatusCreated {
					if err != nil || r.Problem() != "urn:fanfold:problem:unknown-collection" {
						t.Errorf("%v %+v", err, r)
					}
					return
				}
				stored[w]++
			}
		})
	}
	s.Want(http.StatusOK, "PATCH", "/v1/_model", `{"open":false}`, "Content-Type", harness.MergeType)
	s.Want(http.StatusNotFound, "POST", "/v1/notes", `{}`)
	wg.Wait()
	for w, n := range stored {
		for i := range n {
			s.Want(http.StatusOK, "GET", fmt.Sprintf("/v1/notes/%d-%d", w, i), "")
		}
	}
}

// TestModelWarnings: what open can be, and that a very small limit of embedded documents warns.
func TestModelWarnings(t *testing.T) {
	for src, closed := range map[string]bool{`{"open":false}`: true, `{"open":true}`: false, `{"open":null}`: false, `{}`: false} {
		if m, err := modelfile.Parse([]byte(src)); err != nil || m.Closed != closed || len(m.Warnings()) > 0 {
			t.Errorf("%s is %+v, %v", src, m, err)
		}
	}
	for _, src := range []string{`{"open":0}`, `{"open":"false"}`, `{"open":{}}`} {
		if _, err := modelfile.Parse([]byte(src)); err == nil {
			t.Errorf("%s is taken", src)
		}
	}
	s := harness.OpenTemp(t, "")
	for limit, warns := range map[int]bool{1: true, 1023: true, 1024: false} {
		r := s.Want(http.StatusOK, "PUT", "/v1/_model?dryRun=true", fmt.Sprintf(`{"embedded":{"limit":%d}}`, limit))
		if strings.Contains(string(r.Body), `{"path":"embedded.limit","detail":"a document of more`) != warns {
			t.Errorf("a limit of %d is answered with %s", limit, r.Body)
		}
	}
}
