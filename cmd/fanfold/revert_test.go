package main

import (
	"encoding/json"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestRevertCommand: revert writes a document as it was written, or says that it is so already, or why it does not.
func TestRevertCommand(t *testing.T) {
	s := harness.OpenTemp(t, libraryModel)
	s.Put("authors", "a", `{"name":"Ann"}`)
	s.Put("books", "b", `{"author":"a","price":2.50}`) // event 3
	s.Put("books", "b", `{"author":"a","price":3.00}`)
	s.Put("authors", "a", `{"name":"Bo"}`)
	revert := func(args ...string) ran {
		return runCommand(t, "", append([]string{"revert", "books", "b", "--server", s.URL}, args...)...)
	}
	revert("--at", "3", "--dry-run").want(t, exitDone, `"op": "put"`)
	s.WantDoc("books", "b", `{"id":"b","author":"a","price":3.00,"by":"Bo"}`)
	revert("--at", "3", "--if-match", "3").want(t, exitFailed, "412")
	revert("--at", "3", "--if-match", "4").want(t, exitDone, "wrote books/b: revision 6, position 6-0-")
	s.WantDoc("books", "b", `{"id":"b","author":"a","price":2.50,"by":"Bo"}`)
	revert("--at", "3-0").lines(t, "books/b is written so already: revision 6")
	revert("--at", "3", "--if-match", "4").want(t, exitFailed, "412")
	var result struct {
		Unchanged bool
		Revision  int
	}
	if r := revert("--at", "3", "--json"); json.Unmarshal([]byte(r.out), &result) != nil || !result.Unchanged || result.Revision != 6 {
		t.Errorf("as JSON it is %+v", r)
	}
	s.Delete("books", "b")
	revert("--at", "4").want(t, exitDone, "created books/b: revision 8")
	revert("--at", "2").want(t, exitFailed, "404", "delete it")
	revert("--at", "3", "--if", "true").want(t, exitUsage, "unknown flag: --if")
	revert("--at", "yesterday").want(t, exitUsage, "at=yesterday")
	revert("--at", "3-0-aaaaaaaa").want(t, exitFailed, "410")
}
