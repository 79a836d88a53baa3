package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// proxied returns the address of a proxy that has a store below /store, and takes that away or not, as proxy_pass of nginx does with and without a path.
func proxied(t *testing.T, to string, strips bool) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	var proxy http.Handler = &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	if strips {
		proxy = http.StripPrefix("/store", proxy)
	}
	mux := http.NewServeMux()
	mux.Handle("/store/", proxy)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// link matches the address of a link, and of what a page loads.
var link = regexp.MustCompile(`(?:href|src)="([^"#]+)"`)

// TestBasePath: below a base path every place that an answer names is there, whether the proxy takes the path away or not, and without a proxy.
func TestBasePath(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) {
		cfg.API.Prefix = "/store"
	}})
	t.Cleanup(func() { s.Verify(); s.Close() })
	s.Model("collections: {books: {}}")
	for name, at := range map[string]string{"a proxy that leaves the path": proxied(t, s.URL, false), "a proxy that takes it away": proxied(t, s.URL, true), "no proxy": s.URL} {
		t.Run(name, func(t *testing.T) { followPlaces(t, at) })
	}
	s.Want(http.StatusOK, "GET", "/v1/books", "") // probes and other nodes ask without it
	s.Want(http.StatusNotFound, "GET", "/storeroom/v1/books", "")
	s.Want(http.StatusNotFound, "GET", "/store/store/v1/books", "")
}

// followPlaces asks for the store below a proxy, and follows what its answers name.
func followPlaces(t *testing.T, origin string) {
	t.Helper()
	c := harness.NewClient(t, origin)
	named := func(r *harness.Response) string {
		t.Helper()
		at := r.Header.Get("Location")
		if !strings.HasPrefix(at, "/store/") || strings.HasPrefix(at, "/store/store") {
			t.Errorf("Location is %q", at)
		}
		return at
	}
	ids := []string{"a/b " + t.Name(), "é % " + t.Name()}
	for _, id := range ids {
		made := c.Want(http.StatusCreated, "POST", "/store/v1/books", `{"id":"`+id+`","n":1}`)
		c.Want(http.StatusOK, "GET", named(made), "")
	}
	work := c.Want(http.StatusAccepted, "POST", "/store/v1/_verify", "", "Prefer", "respond-async, wait=0")
	c.Want(http.StatusOK, "GET", named(work), "")
	c.Want(http.StatusOK, "GET", named(c.Want(http.StatusAccepted, "POST", "/store/v1/books/"+url.PathEscape(ids[0])+"/_erase", "")), "")
	var page struct{ Next string }
	c.Want(http.StatusCreated, "POST", "/store/v1/books", `{"n":2}`)
	harness.Decode(t, c.Want(http.StatusOK, "GET", "/store/v1/books?limit=1", "").Body, &page)
	c.Want(http.StatusOK, "GET", "/store/v1/books?limit=1&cursor="+url.QueryEscape(page.Next), "")
	for _, path := range []string{"/v1/_changes", "/v1/_changes?feed=continuous&timeout=0", "/v1/_export", "/v1/books?filter=doc.n%3E0", "/healthz"} {
		c.Want(http.StatusOK, "GET", "/store"+path, "")
	}
	var front struct{ Links []struct{ Href string } }
	harness.Decode(t, c.Want(http.StatusOK, "GET", "/store/", "").Body, &front)
	harness.Await(t, "the erasure's restart is over", time.Minute, func() bool {
		r, err := c.Do("GET", "/store/readyz", nil)
		return err == nil && r.Status == http.StatusOK
	})
	for _, l := range front.Links {
		if c.Want(http.StatusOK, "GET", l.Href, ""); !strings.HasPrefix(l.Href, "/store/") {
			t.Errorf("a link leads to %s", l.Href)
		}
	}
	followPages(t, c)
	useClient(t, origin)
}

// followPages follows the links of the pages for browsers.
func followPages(t *testing.T, c *harness.Client) {
	t.Helper()
	for _, at := range []string{"/store/", "/store/_console/"} {
		text := string(c.Want(http.StatusOK, "GET", at, "", "Accept", "text/html").Body)
		base, places := &url.URL{Path: at}, link.FindAllStringSubmatch(text, -1)
		for _, m := range places {
			to, err := base.Parse(m[1])
			if err != nil || !strings.HasPrefix(to.Path, "/store/") {
				t.Errorf("%s leads to %s", at, m[1])
				continue
			}
			c.Want(http.StatusOK, "GET", to.String(), "")
		}
		if len(places) == 0 {
			t.Errorf("%s leads nowhere: %s", at, text)
		}
	}
	for _, at := range []string{"/store", "/store/_console"} { // each leads to the page
		c.Want(http.StatusOK, "GET", at, "")
	}
}

// useClient uses the Go client below the base path, also for work that goes on without a connection.
func useClient(t *testing.T, origin string) {
	t.Helper()
	c, err := client.New(origin+"/store", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	books := client.Collection[json.RawMessage](c, "books")
	made, err := books.Create(t.Context(), json.RawMessage(`{"n":3}`))
	if err != nil {
		t.Fatal(err)
	}
	if doc, err := books.Get(t.Context(), made.ID); err != nil || doc.ID != made.ID {
		t.Errorf("the document that was made is %+v, %v", doc, err)
	}
	if _, err := c.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestBadBasePaths: a node does not start with a base path that no request could have, or that a path of its own begins with.
func TestBadBasePaths(t *testing.T) {
	for _, path := range []string{"store", "/", "/store/", "//store", "/a//b", "/a/../b", "/.", "/a b", "/%41", "/a?b", "/v1", "/v1/x", "/_console", "/" + strings.Repeat("a", 255), "/é", "https://a.example/x"} {
		wantNoStart(t, "--base-path", func(cfg *node.Config) { cfg.API.Prefix = path })
	}
}
