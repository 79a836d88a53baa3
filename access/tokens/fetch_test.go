package tokens

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestFetchIsBounded: of an issuer's document 1 MiB is read, from an answer that is 200, and no redirect leads to plain HTTP, to another host, or on for ever.
func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	var secure *httptest.Server
	secure = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/whole":
			_, _ = w.Write([]byte(strings.Repeat("x", maxAnswer)))
		case r.URL.Path == "/long":
			_, _ = w.Write([]byte(strings.Repeat("x", maxAnswer+1)))
		case r.URL.Path == "/created":
			w.WriteHeader(http.StatusCreated)
		case r.URL.Path == "/plain":
			http.Redirect(w, r, "http://"+strings.TrimPrefix(secure.URL, "https://"), http.StatusFound)
		case r.URL.Path == "/elsewhere":
			http.Redirect(w, r, strings.Replace(secure.URL, "127.0.0.1", "localhost", 1)+"/whole", http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/on"):
			if len(r.URL.Path) == len("/on3") && r.URL.Path[3] == '0' {
				return
			}
			http.Redirect(w, r, "/on"+string(r.URL.Path[3]-1), http.StatusFound)
		}
	}))
	defer secure.Close()
	f := NewFetcher(secure.Client().Transport)
	for path, want := range map[string]string{
		"/whole":     "",
		"/long":      "more than",
		"/created":   "answers 201",
		"/plain":     "leads elsewhere",
		"/elsewhere": "leads elsewhere",
		"/on3":       "",
		"/on4":       "leads elsewhere",
	} {
		if _, err := f.fetch(t.Context(), secure.URL+path); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := NewFetcher(&http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}).fetch(t.Context(), secure.URL+"/whole"); err == nil {
		t.Error("a certificate that nobody vouches for is taken")
	}
	for text, fine := range map[string]bool{"https://a.example": true, "https://a.example/k?x=1": true, "http://a.example": false, "https://": false, "https://u@a.example": false, "https://a.example/#f": false, "ftp://a.example": false} {
		if err := checkURL("--token-keys", text); (err == nil) != fine {
			t.Errorf("%s: %v", text, err)
		}
	}
}
