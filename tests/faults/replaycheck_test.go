package faults_test

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/fanfold/fanfold/internal/wire"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/harness"
)

// readModelPath returns the file of the generation that a store serves.
func readModelPath(t *testing.T, s *harness.Store) (path string) {
	t.Helper()
	if err := s.Node.Store.Use(func(db *sqlite.DB) error { path = db.Path(); return nil }); err != nil {
		t.Fatal(err)
	}
	return path
}

// openFile opens a file of SQLite.
func openFile(t *testing.T, path string) *sqlite3.SQLiteConn {
	t.Helper()
	c, err := (&sqlite3.SQLiteDriver{}).Open("file:" + url.PathEscape(path) + "?_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	return c.(*sqlite3.SQLiteConn)
}

// column is a column of a table.
type column struct {
	name, kind string
	key        bool
}

// tablesOf returns the tables of a read model with their columns.
func tablesOf(t *testing.T, c *sqlite3.SQLiteConn) map[string][]column {
	t.Helper()
	out := map[string][]column{}
	rows, err := c.Query("SELECT t.name, c.name, c.type, c.pk FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'", nil) //nolint:staticcheck // the plain driver
	if err != nil {
		t.Fatal(err)
	}
	for row := make([]driver.Value, 4); ; {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := row[0].(string)
		out[name] = append(out[name], column{row[1].(string), row[2].(string), row[3].(int64) > 0})
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	return out
}

// other returns an expression for another value of a column.
func (c column) other() string {
	switch c.kind {
	case "INTEGER":
		return "coalesce(" + c.name + ", 0) + 1000000"
	case "BLOB":
		return "CAST(coalesce(" + c.name + ", x'') || 'zz' AS BLOB)"
	}
	return "coalesce(" + c.name + ", '') || 'zz'"
}

// filler has rows for tables that a history leaves empty.
var filler = map[string]string{
	"horizon": "INSERT INTO horizon VALUES (1, 7, x'07', x'07', 7, 7, 7, 0)", "horizon_version": "INSERT INTO horizon_version VALUES (7, 7, 7, 7, 7)",
	"horizon_paged": "INSERT INTO horizon_paged VALUES (7, 't', 7)",
	"omission":      "INSERT INTO omission VALUES ('r', 1, 1)", "once": "INSERT INTO once VALUES ('k', 'd', 1, 1)",
	"import_progress": "INSERT INTO import_progress VALUES (x'6b', 1, x'7b7d')",
	"sequence":        "INSERT INTO sequence VALUES ('c', 'n', 'k', 7, 7, 'p')",
	"erasure":         "INSERT INTO erasure VALUES (7, 7, 1, 1, 7, NULL, NULL)",
	"erased_document": "INSERT INTO erased_document VALUES (7, 'c', 'd', NULL, NULL)",
}

// TestReplayCheckFindsEachTable: a row that is falsified, taken away or added in any table is reported with its table and key.
func TestReplayCheckFindsEachTable(t *testing.T) {
	s := harness.OpenTemp(t, "")
	for i := range 300 { // a digest of the log is stored
		s.Put("filler", fmt.Sprint(i%3), fmt.Sprintf(`{"n":%d}`, i))
	}
	script := slices.DeleteFunc(slices.Clone(harness.CrashScript), func(st harness.CrashStep) bool {
		return st.Method == http.MethodDelete && st.Path == "/v1/series/s" || st.Body == harness.SmallerModel // after which tables are empty
	})
	harness.RunScript(t, s, script)
	requireSame(t, s)
	c := openFile(t, readModelPath(t, s))
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	exec := func(statement string) {
		t.Helper()
		if _, err := c.Exec(statement, nil); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	tables := tablesOf(t, c)
	if len(tables) < 21 {
		t.Fatalf("%d tables", len(tables))
	}
	for name, columns := range tables {
		keys, rest := slices.Clone(columns), slices.Clone(columns)
		keys = slices.DeleteFunc(keys, func(c column) bool { return !c.key })
		rest = slices.DeleteFunc(rest, func(c column) bool {
			return c.key || strings.HasPrefix(c.kind, "ANY") || name == "checkpoint" && c.name == "erasure" // by which the replay itself goes
		})
		statements := map[string]string{sqlite.Missing: "DELETE FROM " + name + " WHERE " + first(name, keys)}
		if len(rest) > 0 {
			last := rest[len(rest)-1]
			statements[sqlite.Changed] = "UPDATE " + name + " SET " + last.name + " = " + last.other() + " WHERE " + first(name, keys)
		}
		if fill := filler[name]; fill != "" {
			statements = map[string]string{sqlite.Surplus: fill}
		} else if name != "checkpoint" && name != "proposal" {
			statements[sqlite.Surplus] = surplus(name, columns)
		}
		for kind, statement := range statements {
			exec("CREATE TEMP TABLE saved AS SELECT * FROM main." + name)
			exec(statement)
			if kind == sqlite.Missing && name == "checkpoint" {
				exec("INSERT INTO checkpoint SELECT * FROM saved") // without it the read model is at no position
			} else {
				requireDifferent(t, s, name, kind)
			}
			exec("DELETE FROM main." + name)
			exec("INSERT INTO main." + name + " SELECT * FROM saved")
			exec("DROP TABLE temp.saved")
		}
	}
	requireSame(t, s)
}

// first returns a condition for the first row of a table.
func first(table string, keys []column) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	list := strings.Join(names, ", ")
	return "(" + list + ") = (SELECT " + list + " FROM " + table + " ORDER BY " + list + " LIMIT 1)"
}

// surplus returns a statement that adds a row with other values in all columns that are unique.
func surplus(table string, columns []column) string {
	values := make([]string, len(columns))
	for i, c := range columns {
		if values[i] = c.name; c.kind != "ANY" && (c.key || c.name != "op") {
			values[i] = c.other()
		}
	}
	return "INSERT INTO " + table + " SELECT " + strings.Join(values, ", ") + " FROM " + table + " LIMIT 1"
}

// requireSame fails the test unless a check finds no row that differs.
func requireSame(t *testing.T, s *harness.Store) *wire.Check {
	t.Helper()
	s.CatchUp()
	found, err := harness.CheckReplay(t.Context(), s.Node.Projector)
	if err != nil || found.Different != 0 || found.First != nil || found.Rows == 0 {
		t.Fatalf("a check of a sound read model: %+v, %v", found, err)
	}
	return found
}

// requireDifferent fails the test unless a check finds one row of a table alone.
func requireDifferent(t *testing.T, s *harness.Store, table, kind string) {
	t.Helper()
	found, err := harness.CheckReplay(t.Context(), s.Node.Projector)
	if err != nil || found.Different != 1 || found.Tables[table] != 1 || found.First == nil || found.First.Table != table || found.First.Kind != kind || found.First.Key == "" {
		t.Errorf("a row of %s that is %s: %+v %+v, %v", table, kind, found, found.First, err)
	}
}

// TestReplayCheckByHTTP: a check leaves the read model as it was, shows in the status what it found, and runs beside writes; bodies that it
// does not know are 400.
func TestReplayCheckByHTTP(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {authors: {derive: {n: {count: books.author}}}, books: {relations: {author: {path: author, to: authors}}}}")
	s.Put("authors", "a", `{}`)
	s.Put("books", "b", `{"author":"a"}`)
	for body, status := range map[string]int{`{"check":1}`: 400, `{"check":null}`: 400, `{"other":true}`: 400, `[]`: 400, `{`: 400, `{"check":true}` + strings.Repeat(" ", 1<<10): 413} {
		s.Want(status, "POST", "/v1/_replay", body)
	}
	run, err := s.Node.Projector.Begin(rebuild.Check())
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"", `{"check":true}`} {
		if r := s.Want(http.StatusConflict, "POST", "/v1/_replay", body); r.Problem() != "urn:fanfold:problem:conflict" {
			t.Errorf("a second replay: %s", r.Body)
		}
	}
	if err := run(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := readModelPath(t, s)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				s.Put("books", fmt.Sprint(i%50), `{"author":"a"}`)
			}
		}
	}()
	for range 5 {
		s.Want(http.StatusAccepted, "POST", "/v1/_replay", `{"check":true}`)
		r := endOfReplay(t, s.Client)
		if r.Error != "" || r.Phase != "done" || r.Check == nil || r.Check.Different != 0 || r.Check.Rows == 0 || r.Check.Compared != r.Check.Rows || !strings.Contains(r.Check.Position, "-"+string(s.Node.Log.Store())) {
			t.Fatalf("a check beside writes ends with %+v %+v", r, r.Check)
		}
	}
	close(stop)
	<-stopped
	if now := readModelPath(t, s); now != path {
		t.Errorf("the read model was %s, and is %s", path, now)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.db")); err != nil || len(left) != 1 {
		t.Errorf("files %v are left, %v", left, err)
	}
	s.Want(http.StatusAccepted, "POST", "/v1/_replay", `{"check":false}`)
	if r := endOfReplay(t, s.Client); r.Error != "" || r.Check != nil {
		t.Errorf("a replay ends with %+v", r)
	}
	if now := readModelPath(t, s); now == path {
		t.Error("a replay leaves the read model in place")
	}
}

// endOfReplay waits for the end of a replay and returns what the status says of it.
func endOfReplay(t *testing.T, c *harness.Client) (out *wire.Replay) {
	t.Helper()
	harness.Await(t, "the end of a replay", harness.WaitTime, func() bool {
		var status struct{ Replay *wire.Replay }
		if err := json.Unmarshal(c.Want(http.StatusOK, "GET", "/v1/_status", "").Body, &status); err != nil {
			t.Fatal(err)
		}
		out = status.Replay
		return !out.Running
	})
	return out
}

// TestReplayCheckEndsWithItsContext: a check that is cut leaves nothing, and what a killed one left is removed at the next start.
func TestReplayCheckEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	s.Put("books", "b", `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := harness.CheckReplay(ctx, s.Node.Projector); err == nil {
		t.Error("a check without time succeeds")
	}
	s.Close()
	left := filepath.Join(dir, "readmodel", "compared.db")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = harness.Open(t, harness.Options{Dir: dir})
	defer s.Close()
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the copy of a killed check is there: %v", err)
	}
	requireSame(t, s)
}
