package api_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/api"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestHangingUpIsNoError: a client that hangs up in a long answer is nothing that the log calls an error.
func TestHangingUpIsNoError(t *testing.T) {
	s, log := logged(t, api.Options{})
	s.Model("collections: {books: {}}")
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, `{"collection":"books","doc":{"id":"%d","text":"%0100000d"}}`+"\n", i, i*7919)
	}
	harness.ImportText(t, s.Client, "", lines.String())
	for _, path := range []string{"/v1/_export", "/v1/_backup"} {
		resp, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, 512)); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, resp.Status, err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		http.DefaultClient.CloseIdleConnections()
	}
	s.Close() // once no request is left
	if found := log.lines(`"ERROR"`); len(found) > 0 {
		t.Errorf("the log has %s", found)
	}
}
