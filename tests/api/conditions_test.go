package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

func TestIfMatchComparesTheRevision(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	old := s.Put("books", "b1", `{"authors":[{"id":"a1"}],"n":0}`).Header.Get("ETag")
	now := s.Put("books", "b1", `{"authors":[{"id":"a1"}],"n":1}`)
	for _, st := range []step{
		{412, "PUT", "/v1/books/b1", `{}`, nil}, {412, "DELETE", "/v1/books/b1", ``, nil},
		{412, "PATCH", "/v1/books/b1", `{}`, []string{"Content-Type", harness.MergeType}},
	} {
		r := s.Want(st.want, st.method, st.path, st.body, append(st.headers, "If-Match", old)...)
		harness.WantHeader(t, r, "ETag", now.Header.Get("ETag"))
		harness.WantHeader(t, r, "Fanfold-Revision", now.Header.Get("Fanfold-Revision"))
	}
	for _, form := range []string{"%s", "W/%s", `"1.1-0.1", %s`, "%s , \"1\""} {
		current := harness.Tag(s, "/v1/books/b1")
		s.Merge("authors", "a1", `{"name":"`+url.QueryEscape(form)+`"}`) // changes the view, not the revision
		if harness.Tag(s, "/v1/books/b1") == current {
			t.Fatal("the derived change did not change the ETag")
		}
		s.Want(204, "PUT", "/v1/books/b1", `{"authors":[{"id":"a1"}]}`, "If-Match", fmt.Sprintf(form, current))
	}
	expanded := harness.Tag(s, "/v1/books/b1?expand=authors")
	if plain := harness.Tag(s, "/v1/books/b1"); !strings.HasPrefix(expanded, strings.TrimSuffix(plain, `"`)+".") {
		t.Errorf("the expanded tag is %s, the plain one %s", expanded, plain)
	}
	r := s.Want(204, "PATCH", "/v1/books/b1", `{"n":5}`, "Content-Type", harness.MergeType, "If-Match", expanded)
	s.Want(204, "PUT", "/v1/books/b1", `{"n":6}`, "If-Match", `"`+r.Header.Get("Fanfold-Revision")+`"`)
	s.Want(204, "PUT", "/v1/books/b1", `{"n":7}`, "If-Match", "*")
	s.Want(204, "DELETE", "/v1/books/b1", ``, "If-Match", harness.Tag(s, "/v1/books/b1"))
}

// TestForeignTags: an entity tag that this store did not make is no mistake, and matches nothing (RFC 9110, 13.1).
func TestForeignTags(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("books", "b1", `{"n":1}`)
	revision := `"` + s.Want(200, "GET", "/v1/books/b1", "").Header.Get("Fanfold-Revision") + `"`
	for _, foreign := range []string{`"abc"`, `W/"abc"`, `"a,*,b"`, `"+1"`, `"-1"`, `"1.x"`, `"0"`, `""`, `"\u00e4"`, `"*"`, `"x", "y",, "z"`, `"` + strings.Repeat("x", 5000) + `"`} {
		for _, st := range []step{{412, "PUT", "/v1/books/b1", `{}`, nil}, {412, "PATCH", "/v1/books/b1", `{}`, []string{"Content-Type", harness.MergeType}}, {412, "DELETE", "/v1/books/b1", ``, nil},
			{412, "PUT", "/v1/books/none", `{}`, nil}, {412, "PUT", "/v1/_model", `{"collections":{"x":{}}}`, nil}} {
			if r := s.Want(st.want, st.method, st.path, st.body, append(st.headers, "If-Match", foreign)...); r.Problem() != "urn:fanfold:problem:stale" {
				t.Errorf("%s with %s: %s", st.method, foreign, r.Body)
			}
		}
		s.Want(200, "GET", "/v1/books/b1", "", "If-None-Match", foreign)
		s.Want(204, "PATCH", "/v1/books/b1", `{"n":2}`, "Content-Type", harness.MergeType, "If-Match", foreign+" ,"+harness.Tag(s, "/v1/books/b1"))
	}
	s.Want(204, "PUT", "/v1/books/b1", `{"n":3}`, "If-None-Match", `"abc", W/"x"`)
	s.Want(204, "PUT", "/v1/books/b1", `{"n":4}`, "If-None-Match", revision) // an old one
	current := harness.Tag(s, "/v1/books/b1")
	s.Want(304, "GET", "/v1/books/b1", "", "If-None-Match", `"a,b", W/`+current)
	for _, known := range []string{current, `"abc", W/` + current} {
		r := s.Want(412, "PUT", "/v1/books/b1", `{"n":5}`, "If-None-Match", known)
		harness.WantHeader(t, r, "ETag", current)
	}
	s.WantDoc("books", "b1", `{"id":"b1","n":4}`)
	s.Want(201, "PUT", "/v1/books/b2", `{}`, "If-None-Match", `"abc"`)
	s.Delete("books", "b2")
	s.Want(201, "PUT", "/v1/books/b2", `{}`, "If-None-Match", current)
	s.Want(412, "PUT", "/v1/_model", `{"collections":{"x":{}}}`, "If-None-Match", harness.Tag(s, "/v1/_model"))
	transact := func(want int, condition string) {
		t.Helper()
		s.Want(want, "POST", "/v1/_transactions", `{"operations":[{"op":"check","collection":"books","id":"b1","ifMatch":`+condition+`}]}`)
	}
	for _, foreign := range []string{`"abc"`, `"\"abc\""`, `"W/\"abc\""`, `"1.x"`} {
		transact(412, foreign)
	}
	for _, bad := range []string{`""`, `"\"1"`, `"a b"`, `"\"1\", \"2\""`, `1.5`, `-1`, `true`} {
		transact(400, bad)
	}
	transact(200, harness.QuoteJSON(current))
	transact(200, harness.QuoteJSON("W/"+current))
}

// TestConditionsUnderConcurrency: of many writers under one condition exactly one succeeds.
func TestConditionsUnderConcurrency(t *testing.T) {
	suite.Concurrent(t)
	s := harness.OpenTemp(t, harness.APIModel)
	current := s.Put("books", "b1", `{}`).Header.Get("ETag")
	for name, st := range map[string]step{
		"PUT":    {204, "PUT", "/v1/books/b1", `{"n":1}`, []string{"If-Match", current}},
		"create": {201, "PUT", "/v1/books/b2", `{}`, []string{"If-None-Match", "*"}},
		"POST":   {201, "POST", "/v1/books", `{"id":"b3"}`, nil},
	} {
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				r, err := s.Do(st.method, st.path, []byte(st.body), st.headers...)
				switch {
				case err == nil && r.Status == st.want:
					won.Add(1)
				case err != nil || r.Status != http.StatusPreconditionFailed && r.Status != http.StatusConflict:
					t.Errorf("%s: %v %+v", name, err, r)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%s: %d writers succeeded", name, won.Load())
		}
	}
	var wg sync.WaitGroup
	s.Put("books", "n", `{"list":[]}`)
	for i := range 16 {
		wg.Go(func() {
			s.Want(204, "PATCH", "/v1/books/n", fmt.Sprintf(`[{"op":"add","path":"/list/-","value":%d}]`, i), "Content-Type", harness.PatchType)
		})
	}
	wg.Wait()
	if got := strings.Count(s.Get("books", "n"), ","); got != 16 {
		t.Errorf("after 16 patches: %s", s.Get("books", "n"))
	}
}

// TestPatchesUnderContention: 64 clients count in one document, each in a member of its own, by
// JSON Patch with test, and by merge patches of different members. None is refused, none is lost,
// and everybody comes to an end; on two nodes too.
func TestPatchesUnderContention(t *testing.T) {
	suite.Concurrent(t)
	const clients, rounds = 64, 10
	url := natsserver.Start(t, 1)[0]
	nodes := make([]*harness.Store, 2)
	for i := range nodes {
		nodes[i] = harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: url})
		defer nodes[i].Close()
		harness.AwaitReady(t, nodes[i], http.StatusOK)
	}
	var members []string
	for i := range clients {
		members = append(members, fmt.Sprintf(`"c%d":0`, i))
	}
	nodes[0].Put("counters", "c", `{`+strings.Join(members, ",")+`}`)
	nodes[1].CatchUp()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for n := range rounds {
				if i%2 == 0 {
					nodes[i/2%2].Want(http.StatusNoContent, http.MethodPatch, "/v1/counters/c", fmt.Sprintf(`[{"op":"test","path":"/c%d","value":%d},{"op":"replace","path":"/c%d","value":%d}]`, i, n, i, n+1), "Content-Type", harness.PatchType)
				} else {
					nodes[i/2%2].Want(http.StatusNoContent, http.MethodPatch, "/v1/counters/c", fmt.Sprintf(`{"c%d":%d}`, i, n+1), "Content-Type", harness.MergeType)
				}
			}
		})
	}
	wg.Wait()
	var doc map[string]any
	harness.Decode(t, nodes[0].Want(http.StatusOK, http.MethodGet, "/v1/counters/c?consistency=strong", "").Body, &doc)
	for i := range clients {
		if n, _ := doc[fmt.Sprint("c", i)].(float64); n != rounds {
			t.Errorf("counter %d is %v, want %d", i, n, rounds)
		}
	}
	cp, err := nodes[0].Node.Store.Checkpoint()
	if err != nil || cp.Changes != 1+clients*rounds {
		t.Errorf("%d changes for %d patches, %v", cp.Changes, clients*rounds, err)
	}
	metrics := string(nodes[0].Want(http.StatusOK, http.MethodGet, "/metrics", "").Body)
	if !strings.Contains(metrics, "fanfold_write_retries_total") {
		t.Error("how often patches are tried again is not in the metrics")
	}
	for _, n := range nodes {
		t.Logf("%d retries", n.Node.Writer().Retries())
	}
}

func TestCreateOnly(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Want(201, "PUT", "/v1/books/b1", `{}`, "If-None-Match", "*")
	r := s.Want(412, "PUT", "/v1/books/b1", `{"n":1}`, "If-None-Match", "*")
	harness.WantHeader(t, r, "ETag", harness.Tag(s, "/v1/books/b1"))
	s.WantDoc("books", "b1", `{"id":"b1"}`)
}

func TestConditionalGet(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	s.Put("books", "b1", `{"authors":[{"id":"a1"}]}`)
	for _, path := range []string{"/v1/books/b1", "/v1/books/b1?expand=authors"} {
		current := harness.Tag(s, path)
		for _, v := range []string{current, "W/" + current, `"1", ` + current, "*"} {
			r := s.Want(304, "GET", path, "", "If-None-Match", v)
			harness.WantHeader(t, r, "ETag", current)
			if len(r.Body) > 0 {
				t.Errorf("a 304 has the body %s", r.Body)
			}
		}
		s.Want(200, "GET", path, "", "If-None-Match", `"1", "x"`)
		s.Merge("authors", "a1", `{"name":"`+url.QueryEscape(path)+`"}`)
		s.Want(200, "GET", path, "", "If-None-Match", current)
	}
	get, head := s.Want(200, "GET", "/v1/books/b1", ""), s.Want(200, "HEAD", "/v1/books/b1", "")
	for _, name := range []string{"ETag", "Fanfold-Revision", "Fanfold-Position", "Last-Modified", "Content-Type", "Content-Length"} {
		harness.WantHeader(t, head, name, get.Header.Get(name))
	}
	if _, err := http.ParseTime(get.Header.Get("Last-Modified")); err != nil {
		t.Error(err)
	}
}

// TestExpandedTagFollowsExpandedDocuments: also where the document itself copies nothing.
func TestExpandedTagFollowsExpandedDocuments(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("publishers", "p1", `{"city":"c1"}`)
	s.Put("books", "b1", `{"pub":"p1"}`)
	path := "/v1/books/b1?expand=publisher.city"
	plain, tags := harness.Tag(s, "/v1/books/b1"), []string{harness.Tag(s, path)}
	s.Put("cities", "c1", `{"name":"C"}`)
	tags = append(tags, harness.Tag(s, path))
	s.Put("cities", "c1", `{"name":"D"}`)
	tags = append(tags, harness.Tag(s, path))
	s.Delete("cities", "c1")
	tags = append(tags, harness.Tag(s, path))
	if slices.Sort(tags[1:]); len(slices.Compact(slices.Clone(tags[1:]))) != 3 || harness.Tag(s, "/v1/books/b1") != plain {
		t.Errorf("tags %v, the document's own %s", tags, plain)
	}
}
