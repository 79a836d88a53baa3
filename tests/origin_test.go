package tests

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestForeignPagesDoNotWrite: a page in a browser writes nothing to a node on the same machine, neither across origins
// nor under a name of its own that leads to the loopback address.
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
