package harness

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mattn/go-sqlite3"
)

// ReadModel returns the one file of a data directory's read model.
func ReadModel(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "readmodel", "*.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("read models %v, %v", files, err)
	}
	return files[0]
}

// RunOutside runs a statement from another process.
func RunOutside(t *testing.T, path, statement string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), readerEnv+"="+statement)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// readerEnv makes the test binary a program that runs one statement on a read model, as the sqlite3 shell would. File locks belong to a
// process, so this must be another one.
const readerEnv = "FANFOLD_TEST_STATEMENT"

// runStatement runs a statement on a file of SQLite and returns the exit code.
func runStatement(statement, path string) int {
	c, err := (&sqlite3.SQLiteDriver{}).Open("file:" + url.PathEscape(path))
	if err == nil {
		_, err = c.(*sqlite3.SQLiteConn).Exec(statement, nil)
	}
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
