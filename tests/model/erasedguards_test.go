package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// erasedModel has references that are checked, and values that are unique.
const erasedModel = `
collections:
  publishers: {}
  books:
    unique: [isbn]
    relations:
      publisher: {path: pub, to: publishers, strict: true, onDelete: restrict}
`

// eraseDocument erases a document, and waits until that is done.
func eraseDocument(s *harness.Store, path, body string) {
	s.Erased(s.Want(http.StatusAccepted, http.MethodPost, path+"/_erase", body, "Content-Type", "application/json").Header.Get("Location"))
}

// TestGuardsOfErased: conditions and guards hold for an erased document as for a deleted one, also once the store begins later.
func TestGuardsOfErased(t *testing.T) {
	suite.Parallel(t)
	for _, compacted := range []bool{false, true} {
		t.Run(fmt.Sprint("compacted ", compacted), func(t *testing.T) {
			s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.PurgeWait = time.Millisecond }})
			defer func() { s.Close() }()
			s.Model(erasedModel)
			const erased, deleted = "erased", "deleted"
			tags := map[string]string{}
			for _, id := range []string{erased, deleted} {
				s.Put("publishers", id, `{"name":"first"}`)
				s.Put("books", id, fmt.Sprintf(`{"pub":%q,"isbn":"isbn of %s"}`, id, id))
				s.Put("books", id, fmt.Sprintf(`{"pub":%q,"isbn":"isbn of %s","n":2}`, id, id))
				tags["publishers/"+id], tags["books/"+id] = harness.Tag(s, "/v1/publishers/"+id), harness.Tag(s, "/v1/books/"+id)
			}
			if r := s.Want(http.StatusConflict, http.MethodPost, "/v1/publishers/erased/_erase", "{}"); !strings.Contains(string(r.Body), "books/erased") {
				t.Errorf("the holder is not named: %s", r.Body)
			}
			s.WantDoc("publishers", erased, `{"id":"erased","name":"first"}`)
			if compacted {
				s.CatchUp()
				s.Compact(s.Node.Store.Applied.Seq())
				harness.Await(t, "the purge to end", time.Minute, func() bool { return s.Node.Forget.Compactor.Compaction().Phase == "done" })
			}
			eraseDocument(s, "/v1/books/erased", "{}")
			eraseDocument(s, "/v1/publishers/erased", "{}")
			s.Delete("books", deleted)
			s.Delete("publishers", deleted)

			// Each request is answered alike. ID stands for the document, and TAG for its old ETag.
			check := func(collection, conditions string) string {
				return `{"operations":[{"op":"put","collection":"others","id":"ID","body":{}},{"op":"check","collection":"` + collection + `","id":"ID"` + conditions + `}]}`
			}
			for i, asked := range []struct {
				method, path, body string
				headers            []string
				want               int
			}{
				{"PUT", "/v1/books/new-ID", `{"pub":"ID"}`, nil, 422},
				{"PUT", "/v1/books/ID", `{"pub":"ID"}`, nil, 422},
				{"PUT", "/v1/books/ID", `{}`, []string{"If-Match", "TAG"}, 412},
				{"PATCH", "/v1/books/ID", `{"n":3}`, []string{"If-Match", "TAG", "Content-Type", harness.MergeType}, 0},
				{"DELETE", "/v1/books/ID", ``, []string{"If-Match", "TAG"}, 0},
				{"DELETE", "/v1/books/ID", ``, nil, 404},
				{"POST", "/v1/_transactions", check("books", `,"ifMatch":"TAG"`), nil, 412},
				{"POST", "/v1/_transactions", check("books", `,"ifNoneMatch":"*"`), nil, 200},
				{"PUT", "/v1/books/taker-of-ID", `{"isbn":"isbn of ID"}`, nil, 201},
				{"PUT", "/v1/books/ID", `{"isbn":"isbn of ID"}`, nil, 409},
				{"DELETE", "/v1/books/taker-of-ID", ``, nil, 204},
				{"PUT", "/v1/books/ID", `{"isbn":"isbn of ID"}`, []string{"If-None-Match", "*"}, 201},
				{"PUT", "/v1/books/ID", `{"isbn":"isbn of ID","n":9}`, []string{"If-Match", "TAG"}, 412},
				{"POST", "/v1/_transactions", check("books", `,"ifMatch":"TAG"`), nil, 412},
				{"PUT", "/v1/books/taker-of-ID", `{"isbn":"isbn of ID"}`, nil, 409},
				{"PUT", "/v1/publishers/ID", `{}`, []string{"If-None-Match", "*"}, 201},
				{"PUT", "/v1/books/ID", `{"isbn":"isbn of ID","pub":"ID"}`, nil, 204},
				{"DELETE", "/v1/publishers/ID", ``, nil, 409},
				{"POST", "/v1/_transactions", `{"operations":[{"op":"delete","collection":"books","id":"ID"},{"op":"delete","collection":"publishers","id":"ID"}]}`, nil, 200},
			} {
				answers := map[string]int{}
				for _, id := range []string{deleted, erased} {
					fill := strings.NewReplacer("ID", id, "TAG", tags["books/"+id])
					if asked.method == "POST" {
						fill = strings.NewReplacer("ID", id, "TAG", strings.ReplaceAll(tags["books/"+id], `"`, `\"`))
					}
					headers := []string{}
					for _, h := range asked.headers {
						headers = append(headers, fill.Replace(h))
					}
					r, err := s.Do(asked.method, fill.Replace(asked.path), []byte(fill.Replace(asked.body)), headers...)
					if err != nil {
						t.Fatal(err)
					}
					answers[id] = r.Status
					if asked.want != 0 && r.Status != asked.want || r.Status >= 500 {
						t.Errorf("%d. %s %s %s %v of %s: %d %s, want %d", i, asked.method, asked.path, asked.body, asked.headers, id, r.Status, r.Body, asked.want)
					}
				}
				if answers[erased] != answers[deleted] {
					t.Errorf("%d. %s %s %s %v: %v", i, asked.method, asked.path, asked.body, asked.headers, answers)
				}
			}
			sameAfterReplay(t, s)
			s = s.Reopen()
			sameAfterReplay(t, s)
		})
	}
}

// TestGuardsOfErasedMembers: a unique value that is erased from a document that lives on is free, and the document's newest revision is that which a write
// may name.
func TestGuardsOfErasedMembers(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, erasedModel)
	s.Put("publishers", "p", `{}`)
	s.Put("books", "1", `{"isbn":"old"}`)
	s.Put("books", "1", `{"isbn":"i","pub":"p"}`)
	old := harness.Tag(s, "/v1/books/1")
	s.Want(http.StatusConflict, http.MethodPost, "/v1/books/1/_erase", `{"members":["/pub"]}`) // it is at a relation
	eraseDocument(s, "/v1/books/1", `{"members":["/isbn"]}`)
	s.WantDoc("books", "1", `{"id":"1","pub":"p"}`)
	for _, isbn := range []string{"i", "old"} {
		s.Put("books", "of "+isbn, `{"isbn":"`+isbn+`"}`)
		s.Want(http.StatusConflict, http.MethodPut, "/v1/books/1", `{"isbn":"`+isbn+`"}`)
	}
	s.Want(http.StatusPreconditionFailed, http.MethodPut, "/v1/books/1", `{}`, "If-Match", old)
	s.Want(http.StatusConflict, http.MethodDelete, "/v1/publishers/p", "")
	s.Want(http.StatusNoContent, http.MethodPut, "/v1/books/1", `{"isbn":"another"}`, "If-Match", harness.Tag(s, "/v1/books/1"))
	s.Delete("publishers", "p")
	sameAfterReplay(t, s)
}
