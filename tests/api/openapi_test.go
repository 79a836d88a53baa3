package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/openapi"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// contractModel has every kind of rule, and relations that expand far.
const contractModel = `
collections:
  authors:
    derive:
      countOfBooks: {count: books.authors}
      books: {ids: books.authors}
      pagesWritten: {sum: books.authors, of: pages}
      newest: {recent: books.authors, max: 2, fields: [id, title]}
  books:
    relations:
      authors: {path: "authors[].id", to: authors}
      also: {path: see, to: books}
      part: {path: partOf, to: books, onDelete: restrict}
    derive:
      "authors[].name": {copy: authors, value: doc.name}
      "authors[].then": {copy: authors, value: doc.name, frozen: true}
    pages: {by: authors, size: 2}
  shaped: {schema: {type: object, required: [x]}, unique: [x], relations: {to: {path: to, to: shaped, strict: true}}}
  wide:
    relations: {to: {path: "to[]", to: wide, onDelete: cascade}}
`

// contract is a transport that holds every answer against the OpenAPI document.
type contract struct {
	*openapi.Contract
	tb   testing.TB
	next http.RoundTripper
}

// underContract puts a contract between the store's client and the server.
func underContract(t testing.TB, s *harness.Store) *contract {
	t.Helper()
	of, err := openapi.Read(s.Want(http.StatusOK, http.MethodGet, "/openapi.json", "").Body)
	if err != nil {
		t.Fatal(err)
	}
	c := &contract{Contract: of, tb: t, next: s.HTTP.Transport}
	s.HTTP.Transport = c
	t.Cleanup(func() { s.HTTP.Transport = c.next })
	return c
}

// RoundTrip sends the request and fails the test if the answer is not what the document says.
func (c *contract) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err := c.Check(r, sent, resp, body); err != nil {
		c.tb.Errorf("%s %s: %d %s: %v", r.Method, r.URL, resp.StatusCode, harness.Clipped(body), err)
	}
	return resp, nil
}

func TestOpenAPIDocumentIsValid(t *testing.T) {
	s := harness.OpenTemp(t, "")
	c := underContract(t, s)
	if err := c.Doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !c.Doc.IsOpenAPI31OrLater() {
		t.Fatalf("version %s", c.Doc.OpenAPI)
	}
	ids := map[string]string{}
	for path, item := range c.Doc.Paths.Map() {
		for method, op := range item.Operations() {
			if other := ids[op.OperationID]; other != "" || op.OperationID == "" || op.Summary == "" {
				t.Errorf("%s %s: operationId %q (also of %q), summary %q", method, path, op.OperationID, other, op.Summary)
			}
			ids[op.OperationID] = method + " " + path
		}
	}
}

func TestOpenAPIHasEveryRoute(t *testing.T) {
	s := harness.OpenTemp(t, "")
	c := underContract(t, s)
	documented := map[string]bool{}
	for path, item := range c.Doc.Paths.Map() {
		for method := range item.Operations() {
			documented[method+" "+path] = true
		}
	}
	served := map[string]bool{}
	for _, r := range s.Node.API().Routes() {
		method, path, _ := strings.Cut(strings.Replace(r, "*", "{file}", 1), " ")
		segments := strings.Split(path, "/")
		for i, seg := range segments {
			if name, isParam := strings.CutPrefix(seg, ":"); isParam {
				segments[i] = "{" + name + "}"
			}
		}
		served[method+" "+strings.Join(segments, "/")] = true
	}
	for _, r := range slices.Sorted(maps.Keys(served)) {
		if asGet := "GET" + strings.TrimPrefix(r, "HEAD"); !documented[r] && (!strings.HasPrefix(r, "HEAD ") || !documented[asGet]) {
			t.Errorf("the document lacks %s", r)
		}
	}
	for _, r := range slices.Sorted(maps.Keys(documented)) {
		if !served[r] {
			t.Errorf("the server does not have %s", r)
		}
	}
}

// unseen are answers that a healthy server does not give, or only when it is lucky, and the beginning of a WebSocket. The files of the
// console are others, as their names have slashes.
func unseen(answer string) bool {
	return strings.HasSuffix(answer, " 101") || strings.HasSuffix(answer, " 500") || strings.HasSuffix(answer, " 503") || strings.HasSuffix(answer, " 408") || strings.HasSuffix(answer, " 429") || answer == "POST /v1/_replay 409" || answer == "PUT /v1/_replicas 202" || answer == "POST /v1/_snapshot 200" || answer == "GET /v1/_diff 422" || answer == "GET /v1/_suggest-model 422" || answer == "GET /v1/{collection}/{id}/_lineage 422" || answer == "POST /v1/_drift 409" ||
		slices.Contains([]string{"GET /_console/{file} 200", "GET /_console/{file} 304", "PUT /v1/_model 202", "PUT /v1/_fold 202", "POST /v1/_verify 409", "DELETE /v1/_model/_pending 202", "DELETE /v1/_model/_pending 409",
			"POST /v1/_tokens/_revoke 204", "GET /v1/_actors/{id} 200", "DELETE /v1/_actors/{id} 204"}, answer)
}

func TestOpenAPIDescribesEveryAnswer(t *testing.T) {
	suite.Parallel(t)
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{BeforeActivate: harness.NewActivationHold().Wait}})
	defer s.Close()
	defer s.Verify()
	s.Model(contractModel)
	for i := range 8 {
		var ids []string
		for n := range 1000 {
			ids = append(ids, strconv.Itoa(i*1000+n))
		}
		s.Put("wide", fmt.Sprint("q", i), `{"to":["w","`+strings.Join(ids[1:], `","`)+`"]}`)
	}
	s.Put("wide", "w", `{"to":["q0","q1","q2","q3","q4","q5","q6","q7"]}`)
	c := underContract(t, s)
	for _, st := range slices.Concat(writeSteps, transactionSteps, manySteps, readSteps, revertSteps, otherSteps) {
		r, err := s.Do(st.method, st.path, []byte(st.body), st.headers...)
		if err != nil || st.want != 0 && r.Status != st.want {
			t.Fatalf("%s %s %q: %v, want %d: %+v", st.method, st.path, st.headers, err, st.want, r)
		}
	}
	callAnswers(t, s)
	groupAnswers(t, s)
	eraseAnswers(t, s) // before a purge is to come, which it would wait for
	compactAnswers(t, s)
	workAnswers(t, s)
	foreignNames(t, s, c.Doc)
	keyAnswers(t, s, c.Doc)
	for path, item := range c.Doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				if answer := method + " " + path + " " + status; !c.Seen(answer) && !unseen(answer) {
					t.Errorf("no request had the answer %s", answer)
				}
			}
		}
	}
}

// callAnswers declares functions, calls them, and removes them again.
func callAnswers(t *testing.T, s *harness.Store) {
	t.Helper()
	merge := []string{"Content-Type", harness.MergeType}
	source := func(text string) string { return `{"source":"export default (ctx, args) => ` + text + `"}` }
	const call, key = "/v1/_functions/", "Idempotency-Key"
	for _, st := range []step{
		{200, "PATCH", "/v1/_model", `{"functions":{"echo":` + source("args") + `,"note":` + source("ctx.create('notes', args)") +
			`,"refuse":` + source("ctx.fail('taken', 'gone', [args])") + `,"throw":` + source("args.a.b") + `,"loop":` + source("{ for (;;); }") + `}}`, merge},
		{200, "GET", "/v1/_functions", ``, nil},
		{400, "GET", "/v1/_functions?x=1", ``, nil},
		{200, "POST", call + "echo", ``, nil},
		{200, "POST", call + "echo", `[1, {"a": "b"}]`, nil},
		{200, "POST", call + "note", `{"id":"n1"}`, []string{key, "c1"}},
		{200, "POST", call + "note", `{"id":"n1"}`, []string{key, "c1"}},
		{422, "POST", call + "note", `{"id":"n2"}`, []string{key, "c1"}},
		{202, "POST", call + "note", `{}`, []string{"Prefer", "respond-async"}},
		{200, "POST", call + "note?dryRun=true&now=2026-01-02T15:04:05Z&seed=7", `{"x":1}`, nil},
		{400, "POST", call + "echo?seed=7", ``, nil},
		{400, "POST", call + "echo", `{`, nil},
		{404, "POST", call + "none", ``, nil},
		{409, "POST", call + "note", `{"id":"n1"}`, nil},
		{410, "POST", call + "echo", ``, []string{"Fanfold-Min-Position", "1-0-aaaaaaaa"}},
		{413, "POST", call + "echo", `"` + strings.Repeat("x", 64<<10) + `"`, nil},
		{415, "POST", call + "echo", `x`, []string{"Content-Type", "text/plain"}},
		{422, "POST", call + "refuse", `1`, nil},
		{422, "POST", call + "throw", `{}`, nil},
		{422, "POST", call + "loop", ``, nil},
		{504, "POST", call + "echo", ``, []string{"Fanfold-Min-Position", "99999999-0", "Fanfold-Timeout", "10ms"}},
		{200, "GET", "/v1/_functions", ``, nil},
		{200, "PATCH", "/v1/_model?allowRemoval=true", `{"functions":null}`, merge},
	} {
		s.Want(st.want, st.method, st.path, st.body, st.headers...)
	}
}

// workAnswers has work done in the background, and asks for it.
func workAnswers(t *testing.T, s *harness.Store) {
	t.Helper()
	for _, r := range []*harness.Response{
		s.Want(http.StatusAccepted, "POST", "/v1/_verify", "", "Content-Type", "application/json", "Prefer", "respond-async"),
		s.Want(http.StatusAccepted, "PUT", "/v1/_model?dryRun=true", contractModel, "Content-Type", harness.YAMLType, "Prefer", "respond-async"),
		s.Want(http.StatusAccepted, "PUT", "/v1/_model", "collections: {}", "Content-Type", harness.YAMLType, "Prefer", "respond-async"),
	} {
		harness.AwaitWork(t, s, r)
		s.Want(http.StatusOK, "GET", "/v1/_status", "")
		s.Want(http.StatusBadRequest, "GET", r.Header.Get("Location")+"?x=1", "")
		s.Want(http.StatusBadRequest, "DELETE", r.Header.Get("Location")+"?x=1", "")
		s.Want(http.StatusNoContent, "DELETE", r.Header.Get("Location"), "")
		s.Want(http.StatusNotFound, "GET", r.Header.Get("Location"), "")
		s.Want(http.StatusNotFound, "DELETE", r.Header.Get("Location"), "")
	}
	s.Want(http.StatusOK, "PUT", "/v1/_model", contractModel, "Content-Type", harness.YAMLType, "Prefer", "return=representation")
}

// foreignNames calls every operation by a name that is not the node's.
func foreignNames(t *testing.T, s *harness.Store, doc *openapi3.T) {
	t.Helper()
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			r, err := s.Do(method, inPath.ReplaceAllString(path, "as"), nil, "Host", "evil.example")
			if err != nil || r.Status != http.StatusForbidden {
				t.Errorf("%s %s by another name: %+v, %v", method, path, r, err)
			}
		}
	}
}

// TestOpenAPIOfStoppedProjector holds the answers of a store whose disk has failed.
func TestOpenAPIOfStoppedProjector(t *testing.T) {
	var failing atomic.Bool
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), FailWrite: func() error {
		if failing.Load() {
			return errors.New("injected fault")
		}
		return nil
	}})
	t.Cleanup(func() {
		again := s.Abandon()
		again.Verify()
		again.WantDoc("books", "b2", `{"id":"b2"}`)
		again.Close()
	})
	c := underContract(t, s)
	s.Put("books", "b1", `{}`)
	failing.Store(true)
	r := s.Want(http.StatusAccepted, http.MethodPut, "/v1/books/b2", `{}`)
	for _, st := range []step{
		{503, "GET", "/readyz", ``, nil},
		{503, "GET", "/v1/books/b1", ``, []string{"Fanfold-Min-Position", r.Header.Get("Fanfold-Position")}},
		{200, "GET", "/v1/books/b1", ``, nil},
		{200, "GET", "/v1/_changes", ``, nil},
		{200, "GET", "/v1/_status", ``, nil},
		{200, "GET", "/healthz", ``, nil},
	} {
		s.Want(st.want, st.method, st.path, st.body, st.headers...)
	}
	if !c.Seen("GET /readyz 503") {
		t.Error("the contract was not asked")
	}
}
