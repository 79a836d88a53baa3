package api_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// TestImportThatIsNotFoldedInTime: an import whose lines are all stored is done, even if the node does not show them within the time that
// it waits. The answer and the command say so, and the command does not fail.
func TestImportThatIsNotFoldedInTime(t *testing.T) {
	suite.Parallel(t)
	var busy atomic.Bool
	free := make(chan struct{})
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Writer: writer.Options{ImportWait: 50 * time.Millisecond}, FailWrite: func() error {
		if busy.Load() {
			<-free
		}
		return nil
	}})
	defer s.Close()
	release := sync.OnceFunc(func() { close(free) })
	defer release()
	s.Put("books", "before", `{}`)
	harness.Await(t, "an import that is shown in time", time.Minute, func() bool {
		return strings.Contains(harness.ImportText(t, s.Client, "collection=books", `{"id":"b0"}`), `"folded":true`)
	})
	busy.Store(true)
	got := harness.ImportText(t, s.Client, "collection=books", `{"id":"b1"}`)
	if !strings.Contains(got, `"folded":false`) || !strings.Contains(got, "everything is stored, and not all of it is folded here yet: this node stands at event") {
		t.Errorf("an import that is not shown yet says %s", got)
	}
	file := filepath.Join(t.TempDir(), "books.ndjson")
	if err := os.WriteFile(file, []byte(`{"id":"b2"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := harness.RunProgram(t, "import", "--server", s.URL, "--collection", "books", file)
	if err != nil || !strings.Contains(out, "1 documents written") || !strings.Contains(out, "everything is stored, and not all of it is folded here yet") {
		t.Errorf("the command says %s, %v", out, err)
	}
	out, err = harness.RunProgram(t, "import", "--server", s.URL, "--collection", "books", "--json", file)
	if err != nil || !strings.Contains(out, `"folded": false`) {
		t.Errorf("the command says %s, %v", out, err)
	}
	busy.Store(false)
	release()
	s.CatchUp()
	for _, id := range []string{"b1", "b2"} {
		s.Want(http.StatusOK, "GET", "/v1/books/"+id, "")
	}
}
