package faults_test

import (
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestNoWritesBeforeTheirRules: a node that builds its read model anew takes no write before it knows the rules that guard it.
func TestNoWritesBeforeTheirRules(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	s.Model(`collections: {people: {unique: [email]}}`)
	s.Put("people", "a", `{"email":"a@b.c"}`)
	s.Close()
	if err := os.RemoveAll(filepath.Join(dir, "readmodel")); err != nil {
		t.Fatal(err)
	}
	var logOpen atomic.Bool // before that the read model's file is made
	fold := make(chan struct{})
	s = harness.Open(t, harness.Options{Dir: dir, Sync: true, Fsync: func(f *os.File) error {
		logOpen.Store(true)
		return f.Sync()
	}, FailWrite: func() error {
		if logOpen.Load() {
			<-fold
		}
		return nil
	}})
	defer s.Close()
	s.Want(http.StatusServiceUnavailable, http.MethodPut, "/v1/people/b", `{"email":"a@b.c"}`)
	s.Want(http.StatusServiceUnavailable, http.MethodPost, "/v1/people", `{"email":"c@b.c"}`)
	close(fold)
	s.CatchUp()
	s.Want(http.StatusConflict, http.MethodPut, "/v1/people/b", `{"email":"a@b.c"}`)
	s.Put("people", "b", `{"email":"b@b.c"}`)
	s.Verify()
}
