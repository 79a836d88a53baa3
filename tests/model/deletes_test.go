package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/jsonvalue"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

const deleteModel = `
collections:
  publishers: {}
  authors:
    relations: {publisher: {path: pub, to: publishers, onDelete: cascade}}
    derive: {n: {count: books.authors}}
  books:
    relations:
      authors: {path: "authors[].id", to: authors, onDelete: unlink}
      editor: {path: "editors[]", to: authors, onDelete: unlink}
      series: {path: series.id, to: series, onDelete: unlink}
      owner: {path: owner, to: publishers, onDelete: restrict}
  chapters:
    relations: {book: {path: book, to: books, onDelete: cascade}}
  series:
    relations: {publisher: {path: pub, to: publishers, onDelete: cascade}}
`

// feedOf are the direct changes after a position, as "op collection/id", and their one tx.
func feedOf(t *testing.T, s *harness.Store, since string) (list []string, tx string) {
	t.Helper()
	rows, _ := s.Changes("mode=all&since=" + since)
	for _, row := range rows {
		if row.Op == "derive" {
			continue
		}
		if row.Tx != tx && tx != "" {
			t.Fatalf("%+v is not of transaction %s", row, tx)
		}
		tx = row.Tx
		list = append(list, row.Op+" "+row.Collection+"/"+row.ID)
	}
	return list, tx
}

// TestDeletePolicies: unlink, cascade and restrict over several hops, in one transaction.
func TestDeletePolicies(t *testing.T) {
	s := harness.OpenTemp(t, deleteModel)
	s.Put("publishers", "p", `{"id":"p"}`)
	s.Put("series", "s", `{"id":"s","pub":"p"}`)
	s.Put("authors", "a", `{"id":"a","pub":"p"}`)
	s.Put("authors", "b", `{"id":"b"}`)
	s.Put("books", "1", `{"id":1,"authors":[{"id":"a"},{"id":"b"},{"as":"ghost","id":"a"}],"editors":["b","a","a"],"series":{"id":"s","no":1},"owner":"q"}`)
	s.Put("books", "2", `{"id":2,"authors":[{"id":"b"}],"owner":"p"}`)

	r := s.Want(http.StatusConflict, http.MethodDelete, "/v1/publishers/p", "")
	harness.WantText(t, r.Problem(), "urn:fanfold:problem:restricted")
	if !strings.Contains(string(r.Body), "books/2") {
		t.Fatalf("the holder is not named: %s", r.Body)
	}
	s.Merge("books", "2", `{"owner":null}`)
	_, before := s.Changes("mode=all")
	s.Delete("publishers", "p")
	list, tx := feedOf(t, s, before)
	harness.WantText(t, strings.Join(list, ", "), "delete publishers/p, delete authors/a, delete series/s, patch books/1")
	if tx == "" {
		t.Fatal("the delete is no transaction")
	}
	s.WantDoc("books", "1", `{"id":1,"authors":[{"id":"b"}],"editors":["b"],"series":{"no":1},"owner":"q"}`)
	s.WantDoc("authors", "b", `{"id":"b","n":2}`)

	// The holder's condition is its revision: an old tag is refused, and nothing goes.
	s.Put("chapters", "c", `{"id":"c","book":1}`)
	s.Want(http.StatusPreconditionFailed, http.MethodDelete, "/v1/books/1", "", "If-Match", `"1.1-0.1"`)
	s.Want(http.StatusOK, http.MethodGet, "/v1/chapters/c", "")
	tag := s.Want(http.StatusOK, http.MethodGet, "/v1/books/1", "").Header.Get("ETag")
	key := []string{"If-Match", tag, "Idempotency-Key", "once"}
	first := s.Want(http.StatusNoContent, http.MethodDelete, "/v1/books/1", "", key...)
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/chapters/c", "")
	again := s.Want(http.StatusNoContent, http.MethodDelete, "/v1/books/1", "", key...)
	harness.WantText(t, again.Header.Get("Fanfold-Revision"), first.Header.Get("Fanfold-Revision"))
}

// TestDeletesInTransactions: what a transaction writes itself is not written twice.
func TestDeletesInTransactions(t *testing.T) {
	s := harness.OpenTemp(t, deleteModel)
	s.Put("authors", "a", `{"id":"a"}`)
	s.Put("authors", "b", `{"id":"b"}`)
	s.Put("publishers", "p", `{"id":"p"}`)
	s.Put("books", "1", `{"id":1,"authors":[{"id":"a"},{"id":"b"}],"owner":"p"}`)
	s.Put("chapters", "c", `{"id":"c","book":1}`)
	refused := func(status int, operation int, ops ...string) {
		t.Helper()
		r := s.Want(status, http.MethodPost, "/v1/_transactions", `{"operations":[`+strings.Join(ops, ",")+`]}`)
		var p struct{ Operation *int }
		if err := json.Unmarshal(r.Body, &p); err != nil || operation >= 0 && (p.Operation == nil || *p.Operation != operation) {
			t.Fatalf("operation %d is at fault: %s", operation, r.Body)
		}
	}
	const author, book, owner = `{"op":"delete","collection":"authors","id":"a"}`, `{"op":"delete","collection":"books","id":"1"}`, `{"op":"delete","collection":"publishers","id":"p"}`
	refused(422, 1, author, `{"op":"patch","collection":"books","id":"1","patch":{"title":"T"}}`)
	refused(422, 0, `{"op":"put","collection":"books","id":"9","body":{"editors":["a"]}}`, author)
	refused(422, 0, author, `{"op":"check","collection":"books","id":"1","ifMatch":"*"}`)
	refused(422, 0, book, `{"op":"check","collection":"chapters","id":"c","ifMatch":"*"}`)
	refused(409, -1, owner)
	refused(409, -1, owner, `{"op":"check","collection":"books","id":"1","ifMatch":"*"}`)
	s.WantDoc("books", "1", `{"id":1,"authors":[{"id":"a"},{"id":"b"}],"owner":"p"}`)

	_, before := s.Changes("mode=all")
	s.Want(200, http.MethodPost, "/v1/_transactions", `{"operations":[`+author+`,{"op":"patch","collection":"books","id":"1","patch":{"authors":[{"id":"b"}]}}]}`)
	list, _ := feedOf(t, s, before)
	harness.WantText(t, strings.Join(list, ", "), "delete authors/a, patch books/1")
	_, before = s.Changes("mode=all")
	s.Want(200, http.MethodPost, "/v1/_transactions", `{"operations":[`+owner+`,`+book+`]}`)
	list, _ = feedOf(t, s, before)
	harness.WantText(t, strings.Join(list, ", "), "delete publishers/p, delete books/1, delete chapters/c")
}

// TestDeleteInSteps: a delete that is too large says what it would touch, and is done in steps.
func TestDeleteInSteps(t *testing.T) {
	s := harness.OpenTemp(t, `
collections:
  posts: {derive: {n: {count: comments.post}}}
  comments: {relations: {post: {path: post, to: posts, onDelete: cascade}, to: {path: to, to: comments, onDelete: cascade}}}
  likes: {relations: {post: {path: post, to: posts, onDelete: unlink}}}
  bans: {relations: {post: {path: post, to: posts, onDelete: restrict}}}
`)
	var lines strings.Builder
	line := func(collection, id, members string) {
		fmt.Fprintf(&lines, `{"collection":%q,"doc":{"id":%q,%s}}`+"\n", collection, id, members)
	}
	line("posts", "1", `"x":1`)
	const roots, replies, likes = 600, 2, 1500
	for i := range roots {
		line("comments", strconv.Itoa(i), `"post":1`)
		for j := range replies { // which refer to the comment alone, or to the post too
			line("comments", fmt.Sprintf("%d-%d", i, j), fmt.Sprintf(`"to":%q,"post":%d`, strconv.Itoa(i), j))
		}
	}
	for i := range likes {
		line("likes", strconv.Itoa(i), `"post":"1"`)
	}
	s.Want(http.StatusOK, http.MethodPost, "/v1/_import", lines.String(), "Content-Type", "application/x-ndjson")

	r := s.Want(http.StatusUnprocessableEntity, http.MethodDelete, "/v1/posts/1", "")
	for _, want := range []string{"would write 3301 documents", "1800 documents would be deleted", "1500 documents would lose their reference", "steps=true", `"steps":true,"documents":3301`} {
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("%q is not in %s", want, r.Body)
		}
	}
	for _, h := range [][]string{{"If-Match", "*"}, {"Idempotency-Key", "k"}, {"Prefer", "respond-async"}} {
		s.Want(http.StatusBadRequest, http.MethodDelete, "/v1/posts/1?steps=true", "", h...)
	}
	s.Put("bans", "b", `{"post":"1"}`)
	_, before := s.Changes("mode=all")
	s.Want(http.StatusConflict, http.MethodDelete, "/v1/posts/1?steps=true", "") // the first step would be the last but one
	if list, _ := feedOf(t, s, before); len(list) > 0 {
		t.Fatalf("%v was written although the ban restricts the delete", list)
	}
	s.Delete("bans", "b")
	deleted, changed, held := 0, 0, false
	for steps := 0; ; steps++ {
		r, err := s.Do(http.MethodDelete, "/v1/posts/1?steps=true", nil, "Fanfold-Timeout", "60")
		if err != nil || steps > 10 {
			t.Fatalf("after %d steps: %v", steps, err)
		}
		if r.Status == http.StatusConflict { // a ban that came after the first step
			held = true
			s.Get("posts", "1")
			s.Delete("bans", "c")
			continue
		}
		var step struct {
			Done             bool
			Deleted, Changed int
		}
		if err := json.Unmarshal(r.Body, &step); err != nil || r.Status != http.StatusOK {
			t.Fatalf("%d %s: %v", r.Status, r.Body, err)
		}
		deleted, changed = deleted+step.Deleted, changed+step.Changed
		if step.Done {
			break
		}
		if steps == 0 {
			s.Put("bans", "c", `{"post":"1"}`)
		}
	}
	if deleted != 1+roots*(1+replies) || changed != likes || !held {
		t.Fatalf("%d deleted, %d changed, held %v", deleted, changed, held)
	}
	s.Want(http.StatusNotFound, http.MethodDelete, "/v1/posts/1?steps=true", "")
	if ids, _ := harness.Items(t, s, "/v1/comments"); len(ids) > 0 {
		t.Fatalf("%v are left", ids)
	}
	s.WantDoc("likes", "7", `{"id":"7"}`)
}

// embedded is the number of replicas that stands for an embedded log.
const embedded = 0

// cluster opens nodes on one log with as many replicas; they are verified at the test's end. With an embedded log all are the same.
func cluster(t *testing.T, replicas, nodes int) []*harness.Store {
	t.Helper()
	if replicas == embedded {
		s := harness.Open(t, harness.Options{Dir: t.TempDir(), Sync: true})
		t.Cleanup(func() {
			s.Verify()
			s.Close()
		})
		return slices.Repeat([]*harness.Store{s}, nodes)
	}
	urls := natsserver.Start(t, replicas)
	out := make([]*harness.Store, nodes)
	for i := range out {
		out[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: urls[i%replicas], Replicas: replicas})
		harness.AwaitReady(t, out[i], http.StatusOK)
		t.Cleanup(func() {
			out[i].Verify()
			out[i].Close()
		})
	}
	return out
}

// TestDeletesUnderWrites: holders are written and moved while their targets are deleted and made again, on two nodes, or on one
// with an embedded log. A delete never loses a holder's write, nor leaves one it has seen.
func TestDeletesUnderWrites(t *testing.T) {
	suite.Concurrent(t)
	for _, replicas := range []int{embedded, 1} {
		t.Run(strconv.Itoa(replicas), func(t *testing.T) { deletesUnderWrites(t, cluster(t, replicas, 2)) })
	}
}

// deletesUnderWrites is TestDeletesUnderWrites on two nodes.
func deletesUnderWrites(t *testing.T, nodes []*harness.Store) {
	nodes[0].Model(`
collections:
  as: {derive: {n: {count: bs.a}}}
  bs: {relations: {a: {path: "as[]", to: as, onDelete: unlink}}}
`)
	for i := range 2 {
		nodes[0].Put("bs", strconv.Itoa(i), `{"as":[],"seen":[]}`)
	}
	nodes[1].CatchUp()
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	const rounds = 40
	for w := range 4 {
		wg.Go(func() {
			n := nodes[w%2]
			for i := range rounds {
				body := fmt.Sprintf(`[{"op":"add","path":"/as/-","value":"%d"},{"op":"add","path":"/seen/-","value":"%d-%d"}]`, i%3, w, i)
				r, err := n.Do(http.MethodPatch, "/v1/bs/"+strconv.Itoa(i%2), []byte(body), "Content-Type", harness.PatchType)
				if err != nil || r.Status != http.StatusNoContent {
					errs <- errors.Join(err, fmt.Errorf("patch: %+v", r))
					return
				}
			}
		})
	}
	for w := range 2 {
		wg.Go(func() {
			for i := range rounds {
				path := "/v1/as/" + strconv.Itoa(i%3)
				r, err := nodes[w].Do(http.MethodPut, path, []byte("{}"))
				if err == nil && r.Status < 300 {
					r, err = nodes[1-w].Do(http.MethodDelete, path, nil)
				}
				if err != nil || r.Status != http.StatusNoContent && r.Status != http.StatusNotFound {
					errs <- errors.Join(err, fmt.Errorf("delete: %+v", r))
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
	nodes[0].CatchUp()
	nodes[1].CatchUp()
	for i := range 2 {
		doc := jsonvalue.Parse(nodes[0].Get("bs", strconv.Itoa(i)))
		if got := len(doc.Get("seen").Items); got != 4*rounds/2 {
			t.Fatalf("bs/%d has seen %d writes", i, got)
		}
	}
	nodes[0].WantSameDigest(nodes[1])
}

// TestDerivedChangesOfDeletes: a delete's answer counts what its whole transaction caused.
func TestDerivedChangesOfDeletes(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {as: {}, bs: {relations: {a: {path: a, to: as, onDelete: cascade}, c: {path: c, to: cs}}}, cs: {derive: {n: {count: bs.c}}}}")
	s.Put("as", "1", `{}`)
	s.Put("cs", "1", `{}`)
	s.Put("bs", "1", `{"a":1,"c":1}`)
	harness.WantText(t, s.Want(http.StatusNoContent, http.MethodDelete, "/v1/as/1", "").Header.Get("Fanfold-Derived-Changes"), "1")
}
