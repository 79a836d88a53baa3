package tests

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
)

// readerEnv makes the test binary a program that runs one statement on a read model, as the
// sqlite3 shell would: file locks are a process's, so this must be another one.
const readerEnv = "FANFOLD_TEST_STATEMENT"

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

// outside runs a statement from another process.
func outside(t *testing.T, path, statement string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), readerEnv+"="+statement)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func readModel(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "readmodel", "*.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("read models %v, %v", files, err)
	}
	return files[0]
}

const damageModel = `
collections:
  authors: {derive: {n: {count: books.author}}}
  books: {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}
`

// TestForeignReader: another process that reads the file while a restarted server runs must not
// take the server's log away.
func TestForeignReader(t *testing.T) {
	plainOnly(t, otherProcess)
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Sync: true})
	s.Model(damageModel)
	s.Put("authors", "a", `{"name":"A"}`)
	for round := range 3 {
		s = s.Reopen()
		s.Put("books", fmt.Sprint(round), `{"author":"a"}`)
		outside(t, readModel(t, dir), "SELECT count(*) FROM document")
		s.Put("books", fmt.Sprint("x", round), `{"author":"a"}`)
		s.Verify()
	}
	s = s.Reopen()
	s.WantDoc("authors", "a", `{"id":"a","name":"A","n":6}`)
	s.Verify()
	s.Close()
}

// TestVerifyFindsPlantedValues: a wrong copy, a wrong count, a lost link and a view that is not
// JSON, planted from outside while the server runs, are all found; a replay mends them.
func TestVerifyFindsPlantedValues(t *testing.T) {
	plainOnly(t, oneByOne)
	for statement, want := range map[string]string{
		`UPDATE document SET body = replace(body, '"name":"A"', '"name":"B"') WHERE collection = 'books'`: "books.name",
		`UPDATE document SET body = replace(body, '"n":1', '"n":7') WHERE collection = 'authors'`:         "authors.n",
		`DELETE FROM link`: "lacks relation",
		`UPDATE collection SET documents = 7 WHERE name = 'books'`: "has counted 7",
		`UPDATE document SET source = '{broken' WHERE number = 2`:  "not JSON",
	} {
		dir := t.TempDir()
		s := harness.Open(t, harness.Options{Dir: dir, Sync: true})
		s.Model(damageModel)
		s.Put("authors", "a", `{"name":"A"}`)
		s.Put("books", "b", `{"author":"a"}`)
		before := s.Digest()
		outside(t, readModel(t, dir), statement)
		v, err := inspect.Verify(context.Background(), s.Node.Store, nil)
		if err != nil || len(v.Wrong) == 0 || !strings.Contains(v.Wrong[0].Rule+v.Wrong[0].Detail, want) {
			t.Errorf("%s: found %+v, %v; want %q", statement, v, err, want)
		}
		s.Replay()
		if s.Digest() != before {
			t.Errorf("%s: the replay did not mend it", statement)
		}
		s.Verify()
		s.Close()
	}
}

// TestDamagedFile: a read model that is no database any more is built anew from the log.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Sync: true})
	s.Model(damageModel)
	s.Put("authors", "a", `{"name":"A"}`)
	s.Put("books", "b", `{"author":"a"}`)
	s.Close()
	if err := os.WriteFile(readModel(t, dir), []byte(strings.Repeat("not a database ", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	s = harness.Open(t, harness.Options{Dir: dir, Sync: true})
	s.CatchUp()
	s.WantDoc("books", "b", `{"id":"b","author":"a","name":"A"}`)
	s.Verify()
	s.Close()
}

// TestPending: what is behind a page that limit cut is counted.
func TestPending(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 10 {
		s.Put("c", fmt.Sprint(i), `{}`)
	}
	for limit, want := range map[int]string{1: `"pending":9}`, 4: `"pending":6}`, 10: `"pending":0}`, 100: `"pending":0}`} {
		r := s.Want(http.StatusOK, "GET", fmt.Sprintf("/v1/_changes?mode=all&limit=%d", limit), "")
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("limit %d: %s, want %s", limit, r.Body, want)
		}
		r = s.Want(http.StatusOK, "GET", fmt.Sprintf("/v1/_changes?limit=%d", limit), "")
		if counted := strings.Contains(string(r.Body), `"pending":`); counted != (limit >= 10) {
			t.Errorf("limit %d of the latest: %s", limit, r.Body)
		}
	}
}

// TestReplayWakesTheProjector: rows that the fold cannot use stop it, and reads go on; a replay
// puts sound ones in place, and folding goes on by itself.
func TestReplayWakesTheProjector(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Sync: true})
	s.Model(damageModel)
	s.Put("authors", "a", `{"name":"A"}`)
	s.Put("books", "b", `{"author":"a"}`)
	outside(t, readModel(t, dir), `UPDATE document SET source = '{broken' WHERE collection = 'books'`)
	s.Want(http.StatusAccepted, "PUT", "/v1/books/b", `{"author":"a","x":1}`)
	s.Want(http.StatusServiceUnavailable, "GET", "/readyz", "")
	s.WantDoc("books", "b", `{"id":"b","author":"a","name":"A"}`)
	s.Replay()
	s.CatchUp()
	s.WantDoc("books", "b", `{"id":"b","author":"a","x":1,"name":"A"}`)
	s.Want(http.StatusOK, "GET", "/readyz", "")
	s.Verify()
	s.Close()
}
