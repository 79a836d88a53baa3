package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// mostWAL is what SQLite's log may keep: a node does not sync a file for every few writes. On a busy machine, the log is emptied while these
// documents are written, and has only the last ones then.
const mostWAL = 1 << 20

// TestWALIsGivenBack: once nothing is written, SQLite's log soon takes little space beside the read model.
func TestWALIsGivenBack(t *testing.T) {
	suite.Parallel(t)
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	defer s.Close()
	for i := range 400 {
		s.Put("a", fmt.Sprint(i), `{"n":1}`)
	}
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) { // it happens at no position
		files, err := filepath.Glob(filepath.Join(dir, "readmodel", "*.db-wal"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the logs of SQLite are %v, %v", files, err)
		}
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() <= mostWAL {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("SQLite's log still has %d bytes", info.Size())
		}
	}
}
