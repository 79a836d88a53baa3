package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestDeleteCommand: a delete that is too large for a transaction is refused, and done in steps. If another client stops it on its way, it
// says how far it came, and goes on when it is run again.
func TestDeleteCommand(t *testing.T) {
	const comments = 2500
	s := harness.OpenTemp(t, `
collections:
  posts: {}
  comments: {relations: {post: {path: postId, to: posts, onDelete: cascade}}}
  marks: {relations: {post: {path: postId, to: posts, onDelete: unlink}}}
  holds: {relations: {post: {path: postId, to: posts, onDelete: restrict}}}
`)
	lines := strings.Builder{}
	for _, post := range []string{"p", "q", "r"} {
		for i := range comments {
			fmt.Fprintf(&lines, `{"collection":"comments","doc":{"id":"%s%d","postId":"%s"}}`+"\n", post, i, post)
		}
		fmt.Fprintf(&lines, `{"collection":"posts","doc":{"id":"%s"}}`+"\n"+`{"collection":"marks","doc":{"id":"%s","postId":"%s"}}`+"\n", post, post, post)
	}
	runCommand(t, lines.String(), "import", "-", "--server", s.URL).want(t, exitDone, "7506 documents written")
	steps := func(post, server string, flags ...string) ran {
		return runCommand(t, "", append([]string{"delete", "posts", post, "--steps", "--server", server}, flags...)...)
	}
	runCommand(t, "", "delete", "posts", "p", "--server", s.URL).want(t, exitFailed, "422", "2502 documents; a transaction writes at most 1000", "fanfold delete --steps", "2500 documents would be deleted", "1 documents would lose their reference")
	steps("none", s.URL).want(t, exitFailed, "404")
	steps("p", s.URL).want(t, exitDone, "deleted posts/p at ", "; 2501 documents in all, and 1 lost their reference")
	steps("q", holdingProxy(t, s, "q")).want(t, exitFailed, "documents are deleted, and ", "posts/q is still there: run this again to go on", "409")
	if r := steps("q", s.URL, "--json"); r.code != exitFailed || r.out != "" || !strings.Contains(r.err, "409") { // nothing was deleted
		t.Errorf("it ends with %+v", r)
	}
	s.Delete("holds", "h")
	steps("q", s.URL).want(t, exitDone, "deleted posts/q at ")

	var first, rest client.DeletedSteps
	r := steps("r", holdingProxy(t, s, "r"), "--json")
	r.want(t, exitFailed, "409")
	if err := json.Unmarshal([]byte(r.out), &first); err != nil || first.Done || first.Steps == 0 || first.Deleted == 0 || first.Position == "" {
		t.Errorf("as JSON it is %s, %v", r.out, err)
	}
	s.Delete("holds", "h")
	r = steps("r", s.URL, "--json")
	r.want(t, exitDone)
	if err := json.Unmarshal([]byte(r.out), &rest); err != nil || !rest.Done || first.Deleted+rest.Deleted != comments+1 || first.Changed+rest.Changed != 1 || r.err != "" {
		t.Errorf("as JSON it is %s after %+v, %v, %s", r.out, first, err, r.err)
	}
	s.WantDoc("marks", "r", `{"id":"r"}`)
}

// holdingProxy returns the URL of a proxy to a store that writes what stands in the way of a post's delete after each step.
func holdingProxy(t *testing.T, s *harness.Store, post string) string {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method == http.MethodDelete && r.StatusCode == http.StatusOK {
			_, err := s.Do(http.MethodPut, "/v1/holds/h", []byte(`{"postId":"`+post+`"}`))
			return err
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}
