package tickets

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestPathsOfTickets: a ticket is for the path and query of a change feed or a backup, as a browser sends it.
func TestPathsOfTickets(t *testing.T) {
	longest := feedPath + "?" + strings.Repeat("x", maxPath-len(feedPath)-1)
	for _, path := range []string{feedPath, feedPath + "?feed=eventsource&since=now", feedPath + "?collections=a%2Cb", feedPath + "?myticket=x", feedPath + "?filter='a'", longest, backupPath, backupPath + "?after=12"} {
		if err := CheckPath(path); err != nil {
			t.Errorf("%.100s: %v", path, err)
		}
		if got, want := ForBackup(path), strings.HasPrefix(path, backupPath); got != want {
			t.Errorf("%.100s is for a backup: %t", path, got)
		}
	}
	for _, path := range []string{"", "/", "x", "/v1/tasks", "/v1/_changes/", "/v1/_changes/x", "/v1/_changesx", "/v1/%5Fchanges", "v1/_changes", "//x/v1/_changes", "http://x/v1/_changes", "/v1/../v1/_changes", "/v1/_groups/g/_changes", "/V1/_changes", "/v1/_backup/", "/v1/_backups", "/v1/_backup/x", "/v1/%5Fbackup", "//v1/_backup", "http://x/v1/_backup", "/v1/_changes/../_backup", "/v1/_backup?", "/v1/_backup?ticket=x", "/v1/_backup#x",
		feedPath + "#x", feedPath + "?a#x", feedPath + "?a b", feedPath + "?a\tb", feedPath + "?\u00fc", feedPath + `?"`, feedPath + "?<", feedPath + "?a>", feedPath + "?\x7f", feedPath + "?", feedPath + "?ticket=x", feedPath + "?x&ticket=fft_a&y", feedPath + "?ticket=", longest + "x"} {
		if err := CheckPath(path); fanfold.CodeOf(err) != fanfold.Invalid {
			t.Errorf("%.100s: %v", path, err)
		}
	}
}

// TestTake: a ticket is taken from every URL. It may let in a GET of a feed or a backup, as the last parameter.
func TestTake(t *testing.T) {
	for _, x := range []struct{ method, url, ticket, target, below string }{
		{"GET", "/v1/_changes?ticket=t", "t", "/v1/_changes", "/v1/_changes"},
		{"GET", "/v1/_changes?a=b&ticket=t", "t", "/v1/_changes?a=b", "/v1/_changes?a=b"},
		{"GET", "/v1/_changes?ticket=", "", "/v1/_changes", "/v1/_changes"},
		{"GET", "/v1/_changes?ticket=t&a=b", "t", "", "/v1/_changes?a=b"},
		{"GET", "/v1/_changes?ticket=t&ticket=t", "t", "", "/v1/_changes"},
		{"GET", "/v1/_changes?ticket=s&ticket=t", "t", "", "/v1/_changes"},
		{"GET", "/v1/_backup?ticket=t", "t", "/v1/_backup", "/v1/_backup"},
		{"GET", "/v1/_backup?after=1&ticket=t", "t", "/v1/_backup?after=1", "/v1/_backup?after=1"},
		{"GET", "/v1/%5Fbackup?ticket=t", "t", "", "/v1/%5Fbackup"},
		{"HEAD", "/v1/_backup?ticket=t", "t", "", "/v1/_backup"},
		{"POST", "/v1/_backup?ticket=t", "t", "", "/v1/_backup"},
		{"HEAD", "/v1/_changes?ticket=t", "t", "", "/v1/_changes"},
		{"POST", "/v1/_changes?ticket=t", "t", "", "/v1/_changes"},
		{"GET", "/v1/tasks?ticket=t", "t", "", "/v1/tasks"},
		{"GET", "/v1/%5Fchanges?ticket=t", "t", "", "/v1/%5Fchanges"},
		{"GET", "/v1/_changes/?ticket=t", "t", "", "/v1/_changes/"},
	} {
		var got Given
		var of bool
		var below *http.Request
		Take(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			below = r
			got, of = Of(r)
		})).ServeHTTP(nil, httptest.NewRequest(x.method, x.url, nil))
		if !of || got != (Given{x.ticket, x.target}) || below.RequestURI != x.below || below.URL.String() != x.below {
			t.Errorf("%s %s: %+v %t, below it %s and %s", x.method, x.url, got, of, below.RequestURI, below.URL)
		}
	}
	for _, url := range []string{"/v1/_changes", "/v1/_changes?a=b", "/v1/_changes?myticket=x", "/v1/_changes?Ticket=x"} {
		Take(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if g, ok := Of(r); ok || r.RequestURI != url {
				t.Errorf("%s has %+v, below it %s", url, g, r.RequestURI)
			}
		})).ServeHTTP(nil, httptest.NewRequest(http.MethodGet, url, nil))
	}
}
