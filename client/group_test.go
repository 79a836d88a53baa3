package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fanfold/fanfold/client"
)

// TestParkedBeforeRestore: a batch that was parked before a restore has no failure in the answer, and fields without values here.
func TestParkedBeforeRestore(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"parked":[{"id":"0-1","partition":0,"from":"1-0-abcdefgh","to":"2-0-abcdefgh","retry":true},
			{"id":"0-2","partition":0,"from":"2-0-abcdefgh","to":"3-0-abcdefgh","attempts":5,"error":"no","time":"2026-01-01T00:00:00Z","retry":false}]}`)
	}))
	defer srv.Close()
	list := must(connect(t, srv.URL, client.Options{}).Parked(t.Context(), "g"))(t)
	got := ""
	for _, b := range list.Parked {
		got += fmt.Sprintln(b.ID, b.From, b.To, b.Attempts, b.Error, b.Time.IsZero(), b.Retry)
	}
	if want := "0-1 1-0-abcdefgh 2-0-abcdefgh 0  true true\n0-2 2-0-abcdefgh 3-0-abcdefgh 5 no false false\n"; got != want {
		t.Errorf("parked are\n%swant\n%s", got, want)
	}
}
