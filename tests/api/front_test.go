package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestFrontPage: GET / tells what this is and leads on, as HTML for browsers and as JSON for everybody else.
func TestFrontPage(t *testing.T) {
	s := harness.OpenTemp(t, "")
	r := s.Want(http.StatusOK, http.MethodGet, "/", "")
	var page struct {
		Name, Version, Description string
		Links                      []struct{ Rel, Href, Title string }
	}
	if err := json.Unmarshal(r.Body, &page); err != nil || page.Name != "Fanfold" || page.Version == "" || page.Description == "" || len(page.Links) < 5 {
		t.Fatalf("%s: %v", r.Body, err)
	}
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	html := s.Want(http.StatusOK, http.MethodGet, "/", "", "Accept", browser)
	if !strings.HasPrefix(html.Header.Get("Content-Type"), "text/html") || !strings.Contains(string(html.Body), page.Version) || !strings.Contains(html.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%v %s", html.Header, html.Body)
	}
	for _, l := range page.Links {
		s.Want(http.StatusOK, http.MethodGet, l.Href, "")
		if !strings.Contains(string(html.Body), `href="`+strings.TrimPrefix(l.Href, "/")+`"`) {
			t.Errorf("the page for browsers does not lead to %s", l.Href)
		}
	}
	for _, answer := range []*harness.Response{r, html} {
		if !slices.Contains(answer.Header.Values("Vary"), "Accept") {
			t.Errorf("Vary is %v", answer.Header.Values("Vary"))
		}
	}
	s.Want(http.StatusBadRequest, http.MethodGet, "/?x=1", "")
}

// TestFrontPageIsNegotiated: what GET / answers is what Accept prefers (RFC 9110, 12.5.1), and JSON where it prefers neither.
func TestFrontPageIsNegotiated(t *testing.T) {
	suite.Parallel(t)
	s := harness.OpenTemp(t, "")
	const asHTML, asJSON = "text/html", "application/json"
	for accept, want := range map[string]string{
		"text/html": asHTML, "TEXT/HTML;Q=1": asHTML, "text/*": asHTML, "text/html;charset=utf-8, */*;q=0.9": asHTML,
		"application/json;q=0.5, text/html": asHTML, "application/json;q=0, */*;q=0.1": asHTML, "text/html;q=0.002,application/json;q=0.001": asHTML,
		"*/*": asJSON, "": asJSON, "image/png": asJSON, "application/json": asJSON, "text/html, application/json": asJSON,
		"text/html;q=0.5, application/json": asJSON, "text/html;q=0.1, */*;q=0.8": asJSON, "text/html;q=0": asJSON, "text/html;q=0, text/*": asJSON,
		"x-text/html": asJSON, "text/html;q=x, application/json;q=0.1": asJSON, "text/html;q=2, application/json": asJSON, ",;,/": asJSON,
		strings.Repeat("text/plain;q=0.1,", 3000) + "text/html": asHTML,
	} {
		r := s.Want(http.StatusOK, http.MethodGet, "/", "", "Accept", accept)
		if got := r.Header.Get("Content-Type"); !strings.HasPrefix(got, want) {
			t.Errorf("Accept: %.80s is answered with %s, want %s", accept, got, want)
		}
	}
}

// TestHead: HEAD is answered wherever GET is, at once, with the same headers and without a body.
func TestHead(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"`+strings.Repeat("long ", 2000)+`"}`)
	s.Put("books", "b1", `{"authors":[{"id":"a1"}]}`)
	s.Put("authors", "a2", `{"name":"`+strings.Repeat("n", 2048-len(`{"id":"a2","name":""}`))+`"}`) // the longest that net/http counts
	s.Put("authors", "a3", `{"name":"`+strings.Repeat("n", 2049-len(`{"id":"a3","name":""}`))+`"}`)
	s.Want(http.StatusCreated, http.MethodPut, "/v1/_groups/g", `{"partitions":1}`)
	r := s.Want(http.StatusOK, http.MethodPost, "/v1/_groups/g/_lease", `{"member":"m"}`)
	var leased struct{ Leases []struct{ Token string } }
	if err := json.Unmarshal(r.Body, &leased); err != nil || len(leased.Leases) != 1 {
		t.Fatalf("%s: %v", r.Body, err)
	}
	changes := "/v1/_groups/g/_changes?partition=0&token=" + leased.Leases[0].Token
	for _, route := range s.Node.API().Routes() {
		if path, found := strings.CutPrefix(route, "GET "); found && !slices.Contains(s.Node.API().Routes(), "HEAD "+path) {
			t.Errorf("there is no HEAD %s", path)
		}
	}
	for _, path := range []string{"/", "/v1", "/v1/books", "/v1/books?ids=b1,b2", "/v1/books/b1", "/v1/authors/a1", "/v1/authors/a2", "/v1/authors/a3", "/v1/authors/a1?expand=none", "/v1/books/b1?expand=authors",
		"/v1/authors/a1/books", "/v1/books/b1/_lineage", "/v1/books/none", "/v1/none", "/v1/_none", "/v1/_model", "/v1/_model/_pending", "/v1/_groups/none", "/v1/_groups/g/_parked",
		"/v1/_replicas", "/v1/_import?id=none", "/healthz", "/readyz", "/openapi.json"} {
		get := headersOf(t, s, http.MethodGet, path, "identity")
		for _, coding := range []string{"identity", "gzip"} { // HEAD is of the plain answer
			if head := headersOf(t, s, http.MethodHead, path, coding); get != head {
				t.Errorf("HEAD %s with %s is\n%swhere GET is\n%s", path, coding, head, get)
			}
		}
		if !strings.Contains(get, "Content-Length: ") {
			t.Errorf("GET and HEAD %s tell no length:\n%s", path, get)
		}
	}
	for i := range 12 {
		s.Want(http.StatusCreated, http.MethodPut, "/v1/_groups/"+strings.Repeat("g", 60)+strconv.Itoa(i), `{"partitions":1}`)
	}
	for _, path := range []string{"/v1/_status", "/v1/_groups/g", "/v1/_groups", "/metrics"} { // which are not the same twice
		get := s.Want(http.StatusOK, http.MethodGet, path, "", "Accept-Encoding", "identity")
		if length := get.Header.Get("Content-Length"); length != strconv.Itoa(len(get.Body)) {
			t.Errorf("GET %s tells the length %q of %d bytes", path, length, len(get.Body))
		}
		for _, coding := range []string{"identity", "gzip"} {
			head := s.Want(http.StatusOK, http.MethodHead, path, "", "Accept-Encoding", coding)
			if n, err := strconv.Atoi(head.Header.Get("Content-Length")); err != nil || n < len(get.Body)/2 || head.Header.Get("Content-Encoding") != "" {
				t.Errorf("HEAD %s with %s has %v, and GET has %d bytes", path, coding, head.Header, len(get.Body))
			}
		}
	}
	for _, path := range []string{"/v1/_status", "/v1/_groups/g", "/metrics", "/v1/_export", "/v1/_changes", "/v1/_changes?feed=longpoll&since=now", "/v1/_changes?feed=continuous", "/v1/_changes?feed=eventsource",
		changes, changes + "&feed=continuous"} {
		s.Want(http.StatusOK, http.MethodHead, path, "")
	}
	s.Want(http.StatusBadRequest, http.MethodHead, "/v1/_changes?feed=websocket", "")
	if r := s.Want(http.StatusOK, http.MethodHead, "/v1/_changes?feed=eventsource", ""); r.Header.Get("Fanfold-Position") == "" || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD of an event stream has %v", r.Header)
	}
	s.Want(http.StatusNotFound, http.MethodHead, "/v1/_export?collections=none", "")
	if r := s.Want(http.StatusOK, http.MethodGet, changes, ""); !strings.Contains(string(r.Body), `"b1"`) {
		t.Errorf("after HEAD the group's changes are %s", r.Body)
	}
}

// headersOf returns an answer's status and headers, but for those that are each answer's own.
func headersOf(t *testing.T, s *harness.Store, method, path, coding string) string {
	t.Helper()
	r, err := s.Do(method, path, nil, "Accept-Encoding", coding)
	if err != nil || method == http.MethodHead && len(r.Body) > 0 {
		t.Fatalf("%s %s: %q, %v", method, path, r.Body, err)
	}
	for _, own := range []string{"Date", "X-Request-Id"} {
		r.Header.Del(own)
	}
	var text strings.Builder
	text.WriteString(http.StatusText(r.Status) + "\n")
	if err := r.Header.Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestModifiedSince: Last-Modified tells of a document's own last write. A derived change moves the ETag alone, so that
// If-Modified-Since is not answered with 304.
func TestModifiedSince(t *testing.T) {
	s := harness.OpenTemp(t, harness.APIModel)
	s.Put("authors", "a1", `{"name":"A"}`)
	s.Put("books", "b1", `{"authors":[{"id":"a1"}]}`)
	before := s.Want(http.StatusOK, http.MethodGet, "/v1/books/b1", "")
	s.Put("authors", "a1", `{"name":"B"}`)
	r := s.Want(http.StatusOK, http.MethodGet, "/v1/books/b1", "", "If-Modified-Since", before.Header.Get("Last-Modified"))
	if !strings.Contains(string(r.Body), `"B"`) || r.Header.Get("ETag") == before.Header.Get("ETag") || r.Header.Get("Last-Modified") != before.Header.Get("Last-Modified") {
		t.Errorf("%v %s", r.Header, r.Body)
	}
	if r.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("Cache-Control is %q: a cache may keep the document because it was not written of late", r.Header.Get("Cache-Control"))
	}
	s.Want(http.StatusOK, http.MethodGet, "/v1/books/b1", "", "If-None-Match", before.Header.Get("ETag"), "If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT")
}
