package api_test

import (
	"bufio"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestForeignPagesDoNotWrite: a page in a browser writes nothing to a node on the same machine. It may come from another origin, or have a
// name of its own that leads to the loopback address.
func TestForeignPagesDoNotWrite(t *testing.T) {
	s := harness.OpenTemp(t, "")
	s.Put("as", "1", `{"n":1}`)
	own := strings.TrimPrefix(s.URL, "http://")
	_, port, err := net.SplitHostPort(own)
	if err != nil {
		t.Fatal(err)
	}
	const put, get, post = http.MethodPut, http.MethodGet, http.MethodPost
	for name, c := range map[string]struct {
		method, path, host, origin, contentType string
		status                                  int
	}{
		"no browser":                       {put, "/v1/as/2", own, "", "application/json", http.StatusCreated},
		"a page of its own":                {put, "/v1/as/3", own, "http://" + own, "application/json", http.StatusCreated},
		"another name of this machine":     {put, "/v1/as/4", "localhost:" + port, "", "application/json", http.StatusCreated},
		"a page of another origin":         {put, "/v1/as/5", own, "https://evil.example", "application/json", http.StatusForbidden},
		"a page of another port":           {put, "/v1/as/5", own, "http://127.0.0.1:1", "application/json", http.StatusForbidden},
		"a page without an origin":         {put, "/v1/as/5", own, "null", "application/json", http.StatusForbidden},
		"a command of another origin":      {post, "/v1/_replay", own, "https://evil.example", "application/json", http.StatusForbidden},
		"a form of no origin":              {post, "/v1/_replay", own, "", "text/plain", http.StatusUnsupportedMediaType},
		"a verification without a type":    {post, "/v1/_verify", own, "", "", http.StatusUnsupportedMediaType},
		"a write under another name":       {put, "/v1/as/5", "evil.example:" + port, "", "application/json", http.StatusForbidden},
		"a read under another name":        {get, "/v1/as/1", "evil.example:" + port, "", "", http.StatusForbidden},
		"an export under another name":     {get, "/v1/_export", "evil.example", "", "", http.StatusForbidden},
		"a read by a page of another site": {get, "/v1/as/1", own, "https://evil.example", "", http.StatusOK},
		"a read by address":                {get, "/v1/as/1", "10.1.2.3:" + port, "", "", http.StatusOK},
		"a read by a full name":            {get, "/v1/as/1", "LOCALHOST.:" + port, "", "", http.StatusOK},
		"a read under a longer name":       {get, "/v1/as/1", "localhost.evil.example:" + port, "", "", http.StatusForbidden},
		"a read under a name with digits":  {get, "/v1/as/1", "127.0.0.1.evil.example", "", "", http.StatusForbidden},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path, strings.NewReader(`{"n":2}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		for header, v := range map[string]string{"Origin": c.origin, "Content-Type": c.contentType} {
			if v != "" {
				req.Header.Set(header, v)
			}
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, c.status)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the answer may be read by pages of another origin", name)
		}
	}
	s.Want(http.StatusNotFound, http.MethodGet, "/v1/as/5", "")
}

// TestCrossSiteRequests: what a browser says of where a request comes from counts, also where it has no Origin.
func TestCrossSiteRequests(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.Origins = []string{"https://app.example"} }})
	defer s.Close()
	for _, c := range []struct {
		site, origin string
		status       int
	}{
		{"same-origin", s.URL, http.StatusNoContent},
		{"none", "", http.StatusNoContent},
		{"cross-site", "", http.StatusForbidden},
		{"same-site", "", http.StatusForbidden},
		{"same-site", "http://localhost:3000", http.StatusForbidden},
		{"cross-site", s.URL, http.StatusForbidden},
		{"cross-site", "null", http.StatusForbidden},
		{"cross-site", "https://app.example", http.StatusNoContent},
		{"cross-site", "https://app.example.evil.example", http.StatusForbidden},
		{"cross-site", "http://app.example", http.StatusForbidden},
	} {
		s.Put("as", "1", `{}`)
		headers := []string{"Sec-Fetch-Site", c.site}
		if c.origin != "" {
			headers = append(headers, "Origin", c.origin)
		}
		if r, err := s.Do(http.MethodDelete, "/v1/as/1", nil, headers...); err != nil || r.Status != c.status {
			t.Errorf("%+v: %d, %v", c, r.Status, err)
		}
		if r, err := s.Do(http.MethodGet, "/v1/as", nil, headers...); err != nil || r.Status != http.StatusOK {
			t.Errorf("a read by %+v: %d, %v", c, r.Status, err)
		}
	}
}

// TestNoHost: a health check by HTTP/1.0, as some balancers send it, names no host.
func TestNoHost(t *testing.T) {
	s := harness.OpenTemp(t, "")
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET /readyz HTTP/1.0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCORS: pages of the origins that are named read and write, with * all others read, and without either no answer says
// anything of it.
func TestCORS(t *testing.T) {
	suite.Parallel(t)
	const app, other = "https://app.example", "https://other.example"
	for name, c := range map[string]struct {
		origins                  []string
		origin                   string
		allowed, methods         string // in answers to reads and in preflights
		write, socket, preflight int
	}{
		"off":                   {nil, app, "", "", 403, 403, 204},
		"named":                 {[]string{"http://a.example", app}, app, app, "POST,PUT,PATCH,DELETE,GET,HEAD", 204, 101, 204},
		"another one":           {[]string{app}, other, "", "", 403, 403, 204},
		"all read":              {[]string{"*"}, other, "*", "GET,HEAD", 403, 101, 204},
		"no origin of its own":  {[]string{"*"}, "null", "*", "GET,HEAD", 403, 101, 204},
		"all read, one writes":  {[]string{"*", app}, app, app, "POST,PUT,PATCH,DELETE,GET,HEAD", 204, 101, 204},
		"all read, another one": {[]string{"*", app}, other, "*", "GET,HEAD", 403, 101, 204},
		"a star is no origin":   {[]string{app}, "*", "", "", 403, 403, 204},
	} {
		t.Run(name, func(t *testing.T) {
			s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) { cfg.Origins = c.origins }})
			defer s.Close()
			s.Put("as", "1", `{}`)
			for _, path := range []string{"/v1/as/1", "/v1/as/none", "/v1/_changes?feed=eventsource&limit=1"} {
				r, err := s.Do(http.MethodGet, path, nil, "Origin", c.origin)
				if err != nil || r.Header.Get("Access-Control-Allow-Origin") != c.allowed || r.Header.Get("Access-Control-Allow-Credentials") != "" {
					t.Errorf("GET %s: %v, %v", path, r.Header, err)
				}
				for _, header := range []string{"ETag", "Last-Modified", "Location", "Fanfold-Position", "Fanfold-Revision", "Fanfold-Derived-Changes"} {
					if strings.Contains(","+r.Header.Get("Access-Control-Expose-Headers")+",", ","+header+",") != (c.allowed != "") {
						t.Errorf("GET %s exposes %q", path, r.Header.Get("Access-Control-Expose-Headers"))
					}
				}
			}
			if r, err := s.Do(http.MethodGet, "/v1/as/1", nil); err != nil || r.Header.Get("Access-Control-Allow-Origin") != "" && c.allowed != "*" || slices.Contains(r.Header.Values("Vary"), "Origin") != (c.origins != nil) {
				t.Errorf("without an origin: %v, %v", r.Header, err)
			}
			r, err := s.Do(http.MethodOptions, "/v1/as/1", nil, "Origin", c.origin, "Access-Control-Request-Method", "PATCH", "Access-Control-Request-Headers", "content-type,if-match")
			if err != nil || r.Status != c.preflight || r.Header.Get("Access-Control-Allow-Origin") != c.allowed || r.Header.Get("Access-Control-Allow-Methods") != c.methods {
				t.Errorf("the preflight: %d %v, %v", r.Status, r.Header, err)
			}
			if asked := r.Header.Get("Access-Control-Allow-Headers"); strings.Contains(asked, "If-Match") != (c.methods != "") {
				t.Errorf("the preflight allows %q", asked)
			}
			if _, resp, err := harness.DialFeed(t, s, "feed=websocket", "Origin", c.origin); resp == nil || resp.StatusCode != c.socket {
				t.Errorf("a WebSocket: %v, %v", resp, err)
			}
			if r, err := s.Do(http.MethodDelete, "/v1/as/1", nil, "Origin", c.origin); err != nil || r.Status != c.write {
				t.Errorf("a write: %d, %v", r.Status, err)
			}
		})
	}
}

// TestBadOrigins: what no browser sends, and more than anybody needs, is refused at the start.
func TestBadOrigins(t *testing.T) {
	many := make([]string, 101)
	for i := range many {
		many[i] = "https://app.example"
	}
	for _, origins := range [][]string{{"app.example"}, {"https://app.example/"}, {"https://App.example"}, {"https://"}, {"null"}, {""}, {"https://*.example/x"}, {"ftp://app.example"},
		{"https://u@app.example"}, {"https://*"}, {"https://a:99999"}, {"https://a:0"}, {"https://a:443"}, {"http://a:"}, {"https://\u00e4.example"}, {"https://" + strings.Repeat("a", 256)}, many} {
		wantNoStart(t, "--cors-origin", func(cfg *node.Config) { cfg.Origins = origins })
	}
	for _, hosts := range [][]string{{""}, {"a.example:80"}, {"http://a.example"}, {"*"}, many} {
		wantNoStart(t, "--host", func(cfg *node.Config) { cfg.Hosts = hosts })
	}
}

// wantNoStart wants a node not to start, for a reason that names a flag.
func wantNoStart(t *testing.T, flag string, configure func(cfg *node.Config)) {
	t.Helper()
	cfg := node.Config{Data: t.TempDir(), Listen: "127.0.0.1:0", Durability: "interval"}
	configure(&cfg)
	n, err := node.Open(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), flag) {
		t.Errorf("%v %v: %v", cfg.Hosts, cfg.Origins, err)
	}
	if n != nil {
		t.Error(n.Close())
	}
}

// TestAdvertisedHost: a node answers by the name at which it says that it is reached, and by those that --host gives.
func TestAdvertisedHost(t *testing.T) {
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) {
		cfg.Advertise, cfg.Hosts = "http://n1.example:8080", []string{"front.example"}
	}})
	defer s.Close()
	for host, want := range map[string]int{"n1.example:8080": 200, "front.example": 200, "FRONT.example:1": 200, "n2.example:8080": 403} {
		if r, err := s.Do(http.MethodGet, "/healthz", nil, "Host", host); err != nil || r.Status != want {
			t.Errorf("%s: %d, %v", host, r.Status, err)
		}
	}
}

// TestListenToOthersIsSaid: a node that others reach does not start unless that is said to be meant.
func TestListenToOthersIsSaid(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		n, err := node.Open(t.Context(), node.Config{Data: t.TempDir(), Listen: listen, Durability: "interval"})
		if err == nil || !strings.Contains(err.Error(), "--insecure") {
			t.Errorf("%s: %v", listen, err)
		}
		if n != nil {
			t.Error(n.Close())
		}
	}
	n, err := node.Open(t.Context(), node.Config{Data: t.TempDir(), Listen: "0.0.0.0:0", Durability: "interval", Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}
