package faults_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestNoWritesWithoutBase: a node that has neither a read model nor the base does not know what guards the writes, and takes none.
func TestNoWritesWithoutBase(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	s.Model(`collections: {people: {unique: [email]}}`)
	s.Put("people", "a", `{"email":"a@b.c"}`)
	s.Put("people", "b", `{"email":"b@b.c"}`)
	s.CatchUp()
	s.Compact(s.Node.Store.Applied.Seq())
	s.Close()
	for _, gone := range []string{"readmodel", "nats/jetstream/$G/streams/OBJ_fanfold_fanfold_base"} {
		path := filepath.Join(dir, gone)
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	s = harness.Open(t, harness.Options{Dir: dir})
	defer s.Close()
	harness.Await(t, "the projector to stop", time.Minute, func() bool { return s.Node.Projector.Status().Stopped != nil })
	r := s.Want(http.StatusServiceUnavailable, http.MethodPut, "/v1/people/b", `{"email":"a@b.c"}`)
	if !strings.Contains(string(r.Body), "is not in the object store") {
		t.Errorf("%s", r.Body)
	}
}
