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

// TestWALIsGivenBack: once nothing is written, SQLite's log soon takes no space beside the read model.
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
		if info.Size() == 0 {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("SQLite's log still has %d bytes", info.Size())
		}
	}
}
