package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestPrivateAnswers: in a closed store every answer that a right decides is for its sender alone: with 304, HEAD and gzip, errors,
// writes, exports and feeds, too. Answers of an open store are what they were.
func TestPrivateAnswers(t *testing.T) {
	h, open := openHouse(t, matrixModel, nil), harness.OpenTemp(t, matrixModel)
	large := `{"text":"` + strings.Repeat("a", 4000) + `"}`
	for _, s := range []*harness.Client{h.admin, open.Client} {
		s.Put("books", "d", large)
		tag := s.Want(http.StatusOK, "GET", "/v1/books/d", "").Header.Get("ETag")
		list := s.Want(http.StatusOK, "GET", "/v1", "").Header.Get("ETag")
		for _, c := range []struct {
			status             int
			method, path, body string
			headers            []string
		}{
			{200, "GET", "/v1/books/d", "", nil},
			{200, "HEAD", "/v1/books/d", "", nil},
			{304, "GET", "/v1/books/d", "", []string{"If-None-Match", tag}},
			{304, "GET", "/v1", "", []string{"If-None-Match", list}},
			{200, "GET", "/v1/books/d", "", []string{"Accept-Encoding", "gzip"}},
			{200, "GET", "/v1/books", "", []string{"Accept-Encoding", "gzip"}},
			{200, "GET", "/v1/books/d?expand=secret", "", nil},
			{200, "GET", "/v1/_model", "", nil},
			{200, "GET", "/v1/_model", "", []string{"Accept", "application/yaml"}},
			{200, "GET", "/v1/_export", "", nil},
			{200, "GET", "/v1/_changes?since=0", "", nil},
			{200, "GET", "/v1/_me", "", nil},
			{200, "GET", "/v1/_status", "", nil},
			{404, "GET", "/v1/books/none", "", nil},
			{404, "GET", "/v1/_nothing", "", nil},
			{404, "GET", "/nothing", "", nil},
			{405, "DELETE", "/v1/_status", "", nil},
			{400, "GET", "/v1/books?limit=x", "", nil},
			{412, "PUT", "/v1/books/d", "{}", []string{"If-None-Match", "*"}},
			{204, "PUT", "/v1/books/d", large, nil},
			{200, "PUT", "/v1/books/d", large, []string{"Prefer", "return=representation"}},
		} {
			r := s.Want(c.status, c.method, c.path, c.body, c.headers...)
			private := r.Header.Get("Cache-Control") == "private, no-cache" && len(r.Header.Values("Cache-Control")) == 1
			by := slices.Contains(varies(r), "Authorization")
			if private != (s == h.admin) || by != (s == h.admin) {
				t.Errorf("%s %s: %d, Cache-Control %q, Vary %q", c.method, c.path, r.Status, r.Header["Cache-Control"], r.Header["Vary"])
			}
			if slices.Contains(c.headers, "gzip") && (r.Header.Get("Content-Encoding") != "gzip" || !slices.Contains(varies(r), "Accept-Encoding")) ||
				slices.Contains(c.headers, "application/yaml") && !slices.Contains(varies(r), "Accept") {
				t.Errorf("%s %s: %v", c.method, c.path, r.Header)
			}
		}
	}
	for _, path := range []string{"/", "/healthz", "/openapi.json"} {
		if r := h.Want(http.StatusOK, "GET", path, ""); slices.Contains(varies(r), "Authorization") || strings.Contains(r.Header.Get("Cache-Control"), "private") {
			t.Errorf("%s: %v", path, r.Header)
		}
	}
}

// TestPagesSendKeys: a page of an origin that is let in may send a key, and learns why it is refused. No preflight needs a key.
func TestPagesSendKeys(t *testing.T) {
	h := openHouse(t, matrixModel, func(cfg *node.Config) { cfg.Origins = []string{"https://app.example", "*"} })
	h.admin.Put("books", "d", `{}`)
	for _, origin := range []string{"https://app.example", "https://other.example"} {
		for _, path := range []string{"/v1/books/d", "/v1/vault/d", "/v1/_status", "/v1/none/none"} {
			r := h.Want(http.StatusNoContent, "OPTIONS", path, "", "Origin", origin, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization")
			if !slices.Contains(strings.Split(r.Header.Get("Access-Control-Allow-Headers"), ","), "Authorization") || r.Header.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s asks for %s: %v", origin, path, r.Header)
			}
		}
		for _, c := range []struct {
			client *harness.Client
			status int
		}{{h.Client, 401}, {h.as(t, "stranger"), 403}, {h.admin, 200}} {
			if r := c.client.Want(c.status, "GET", "/v1/books/d", "", "Origin", origin); r.Header.Get("Access-Control-Allow-Origin") == "" || !slices.Contains(varies(r), "Authorization") {
				t.Errorf("%s is answered with %d %v", origin, r.Status, r.Header)
			}
		}
	}
	h.admin.Want(http.StatusForbidden, "PUT", "/v1/books/e", "{}", "Origin", "https://other.example")
	h.admin.Want(http.StatusCreated, "PUT", "/v1/books/e", "{}", "Origin", "https://app.example")
	plain := openHouse(t, "", nil) // without origins, OPTIONS tells the methods of a path, and nothing else
	if r, err := plain.Do("OPTIONS", "/v1/books/d", nil); err != nil || r.Status == http.StatusUnauthorized || len(r.Body) > 300 {
		t.Errorf("OPTIONS without a key: %v, %d %s", err, r.Status, r.Body)
	}
}
