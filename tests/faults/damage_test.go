package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/projector/inspect"
	"github.com/fanfold/fanfold/tests/harness"
)

const damageModel = `
collections:
  authors: {derive: {n: {count: books.author}}}
  books: {relations: {author: {path: author, to: authors}}, derive: {name: {copy: author, value: doc.name}}}
`

// TestForeignReader: another process that reads the file while a restarted server runs must not
// take the server's log away.
func TestForeignReader(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir, Sync: true})
	s.Model(damageModel)
	s.Put("authors", "a", `{"name":"A"}`)
	for round := range 3 {
		s = s.Reopen()
		s.Put("books", fmt.Sprint(round), `{"author":"a"}`)
		harness.RunOutside(t, harness.ReadModel(t, dir), "SELECT count(*) FROM document")
		s.Put("books", fmt.Sprint("x", round), `{"author":"a"}`)
		s.Verify()
	}
	s = s.Reopen()
	s.WantDoc("authors", "a", `{"id":"a","name":"A","n":6}`)
	s.Verify()
	s.Close()
}

// TestVerifyFindsPlantedValues: a wrong copy, a wrong count, a lost link and a view that is not JSON are planted from outside while the
// server runs. All are found, and a replay mends them.
func TestVerifyFindsPlantedValues(t *testing.T) {
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
		harness.RunOutside(t, harness.ReadModel(t, dir), statement)
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
	if err := os.WriteFile(harness.ReadModel(t, dir), []byte(strings.Repeat("not a database ", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	s = harness.Open(t, harness.Options{Dir: dir, Sync: true})
	s.CatchUp()
	s.WantDoc("books", "b", `{"id":"b","author":"a","name":"A"}`)
	s.Verify()
	s.Close()
}

// TestPending: what is after a page that limit cut is counted.
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
	s = s.Reopen() // a fold knows what it has written
	harness.RunOutside(t, harness.ReadModel(t, dir), `UPDATE document SET source = '{broken' WHERE collection = 'books'`)
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
