package sqlcopy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/sqlite/driver"
)

// copied returns a copy of some lines, and what it has.
func copied(t *testing.T, lines io.Reader, about About) (*driver.Conn, Counts) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	counts, err := Write(t.Context(), path, lines, about)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := driver.Open(path, driver.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, counts
}

// rows returns the rows of a query, a line each.
func rows(t *testing.T, conn *driver.Conn, query string) string {
	t.Helper()
	var out []string
	err := conn.Query(query, func(r driver.Row) error {
		var values []string
		for _, v := range r {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			values = append(values, fmt.Sprintf("%T:%v", v, v))
		}
		out = append(out, strings.Join(values, " "))
		return nil
	})
	if err != nil {
		t.Fatal(query, err)
	}
	return strings.ReplaceAll(strings.ReplaceAll(strings.Join(out, "\n"), "string:", ""), "<nil>:<nil>", "NULL")
}

// doc returns the line of a document.
func doc(collection, body string) string {
	return `{"collection":"` + collection + `","doc":` + body + "}\n"
}

// TestValues: each value stays what it is. Numbers that neither an integer nor a double holds are texts.
func TestValues(t *testing.T) {
	for value, want := range map[string]string{
		`"x"`: "x", `"007"`: "007", `"a\u0000b"`: "a\x00b", "true": "int64:1", "false": "int64:0", "null": "NULL", `[1, {"a":2.50}]`: `[1, {"a":2.50}]`, `{"a":[]}`: `{"a":[]}`,
		"7": "int64:7", "-7": "int64:-7", "9223372036854775807": "int64:9223372036854775807", "9223372036854775808": "9223372036854775808", "9223372036854774784e0": "9223372036854774784e0",
		"2.50": "float64:2.5", "0.1": "float64:0.1", "1e2": "float64:100", "0.30000000000000000001": "0.30000000000000000001", "123456789012345678.5": "123456789012345678.5", "1e400": "1e400", "1e-400": "1e-400", "-0": "int64:0",
		"12345678901234567890123": "12345678901234567890123",
	} {
		conn, _ := copied(t, strings.NewReader(doc("a", `{"id":"1","v":`+value+`}`)), About{})
		if got := rows(t, conn, "SELECT v FROM a"); got != want {
			t.Errorf("%s is %s, want %s", value, got, want)
		}
	}
}

// TestNames: names that SQLite does not take, or does not tell apart, become others, and the table of columns has what they stand for.
func TestNames(t *testing.T) {
	hostile := `x\u0000\"; DROP TABLE fanfold_copy; --`
	lines := doc("fanfold_copy", `{"id":"1","ID":2,"Id":3,"body":4,"Body":5,"":6,"`+hostile+`":7,"rowid":8,"a.b":9,"`+strings.Repeat("é", 300)+`":10,"`+strings.Repeat("é", 301)+`":11}`) +
		doc("sqlite_master", `{"id":"1","x":1}`) + doc("books", `{"id":"1"}`) + doc("Books", `{"id":"1"}`) + doc("books-1", `{"id":"1"}`) + doc("order", `{"id":"1","select":1}`)
	conn, counts := copied(t, strings.NewReader(lines), About{Position: "P", Store: "S"})
	if counts.Documents != 6 || counts.Collections != 6 || counts.Columnless != 0 {
		t.Errorf("it has %+v", counts)
	}
	for query, want := range map[string]string{
		`SELECT position, store, documents FROM fanfold_copy`:                                                             "P S int64:6",
		`SELECT id, ID_2, Id_3, body_2, Body_3, _, "x_""; DROP TABLE fanfold_copy; --", rowid, "a.b" FROM fanfold_copy_2`: "1 int64:2 int64:3 int64:4 int64:5 int64:6 int64:7 int64:8 int64:9",
		`SELECT id, x FROM _sqlite_master`:                                                                                "1 int64:1", `SELECT count(*) FROM books_2`: "int64:1", `SELECT "select" FROM "order"`: "int64:1", `SELECT count(*) FROM "books-1"`: "int64:1",
		`SELECT member FROM fanfold_columns WHERE "table" = 'fanfold_copy_2' AND "column" = 'Id_3'`: "Id",
		`SELECT max(length("column")), count(*) FROM fanfold_columns WHERE member LIKE 'é%'`:        "int64:102 int64:2",
		`SELECT count(*) FROM fanfold_columns WHERE "table" = 'books_2'`:                            "int64:0",
	} {
		if got := rows(t, conn, query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestBounds: a table has at most 500 columns, and later documents give it none. Their number is told.
func TestBounds(t *testing.T) {
	var wide, lines strings.Builder
	for i := range 2 * maxColumns {
		fmt.Fprintf(&wide, `,"m%d":%d`, i, i)
	}
	lines.WriteString(doc("a", `{"id":"w"`+wide.String()+`}`))
	for i := range 2 * sampleDocs {
		lines.WriteString(doc("b", fmt.Sprintf(`{"id":"%d"%s}`, i, map[bool]string{true: `,"late":1`}[i >= sampleDocs])))
	}
	conn, counts := copied(t, strings.NewReader(lines.String()), About{})
	if got := rows(t, conn, "SELECT count(*) FROM pragma_table_info('a')"); got != fmt.Sprintf("int64:%d", maxColumns) {
		t.Errorf("a has %s columns", got)
	}
	if got := rows(t, conn, "SELECT group_concat(name) FROM pragma_table_info('b')"); got != "id,body" || counts.Columnless != 1+sampleDocs {
		t.Errorf("b has %s, and %d documents have members without a column", got, counts.Columnless)
	}
	if _, err := Write(t.Context(), filepath.Join(t.TempDir(), "x"), strings.NewReader(doc("a", `{"id":"1","x":"`+strings.Repeat("x", maxLine)+`"}`)), About{}); err == nil {
		t.Error("a line without end is taken")
	}
}

// TestRelations: each relation has a table of its ids, also one of a collection without documents, and one over derived ids has none.
func TestRelations(t *testing.T) {
	model := `{"collections":{"authors":{},"books":{"relations":{"authors":{"path":"authors[].id","to":"authors"},"shelf":{"path":"shelf","to":"shelves"},"town":{"path":"town","to":"shelves"}},"derive":{"town":{"copy":"shelf","value":"doc.town"}}},"shelves":{"relations":{"under":{"path":"u","to":"shelves"}}}}}`
	documents := doc("books", `{"id":"b1","authors":[{"id":"a2"},{"id":"a1"},{"id":"a2"},{}],"shelf":7}`) + `{"collection":"books","text":"{\"id\":\"b2\"}"}` + "\n" + `{"collection":"books","path":"n","key":"","last":7}` + "\n"
	for name, given := range map[string]struct {
		lines string
		about About
	}{
		"in the export": {`{"model":` + model + `,"guards":"last"}` + "\n" + documents + `{"model":` + model + "}\n", About{}}, "given": {documents, About{Model: []byte(model)}},
	} {
		conn, counts := copied(t, strings.NewReader(given.lines), given.about)
		if counts.Documents != 2 || counts.Collections != 3 || counts.Relations != 3 {
			t.Errorf("%s: it has %+v", name, counts)
		}
		for query, want := range map[string]string{
			"SELECT id, place, target FROM books_authors ORDER BY place": "b1 int64:0 a2\nb1 int64:1 a1", "SELECT id, target FROM books_shelf": "b1 7", "SELECT count(*) FROM shelves_under": "int64:0",
			`SELECT collection, relation, path, target FROM fanfold_relations WHERE "table" = 'books_authors'`: "books authors authors[].id authors", "SELECT id FROM books ORDER BY id": "b1\nb2", "SELECT id, body FROM authors": "",
			"SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'books_authors' ORDER BY 1": "books_authors_id\nbooks_authors_target", "PRAGMA integrity_check": "ok",
		} {
			if got := rows(t, conn, query); got != want {
				t.Errorf("%s: %s: %q, want %q", name, query, got, want)
			}
		}
	}
}

// endless gives documents of many collections, without end but for its number of bytes.
type endless struct {
	left, n int
	rest    []byte
	most    uint64 // of the heap, in bytes
}

// Read implements io.Reader.
func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.left <= 0 {
			return 0, io.EOF
		}
		e.n++
		e.rest = []byte(doc(fmt.Sprintf("c%d", e.n%500), fmt.Sprintf(`{"id":"%d","x":%d,"text":"%s"}`, e.n, e.n, strings.Repeat("x", 4000))))
		e.left -= len(e.rest)
		if e.n%5000 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			e.most = max(e.most, m.HeapAlloc)
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestMemory: a copy of many collections holds no more than the sample, whatever its length.
func TestMemory(t *testing.T) {
	in := &endless{left: 120 << 20}
	conn, counts := copied(t, in, About{})
	if in.most > 3*sampleBytes {
		t.Errorf("the heap has up to %d MB", in.most>>20)
	}
	if got := rows(t, conn, "SELECT count(*), count(x), min(length(body)) > 4000 FROM c7"); counts.Collections != 500 || !strings.HasSuffix(got, "int64:1") {
		t.Errorf("c7 has %s, of %+v", got, counts)
	}
}

// TestCut: a copy fails whose export fails, or whose command is interrupted.
func TestCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "copy.db")
	broken := io.MultiReader(strings.NewReader(doc("a", `{"id":"1"}`)), cutReader{})
	if _, err := Write(t.Context(), path, broken, About{}); err == nil || !strings.Contains(err.Error(), "cut") {
		t.Errorf("it ends with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ctx, filepath.Join(t.TempDir(), "b"), bytes.NewReader([]byte(doc("a", `{"id":"1"}`))), About{}); err == nil {
		t.Error("it goes on")
	}
	if _, err := Write(t.Context(), filepath.Join(t.TempDir(), "c"), strings.NewReader(`{"collection":"a","doc":`), About{}); err == nil {
		t.Error("half a line is taken")
	}
}

// cutReader fails.
type cutReader struct{}

// Read implements io.Reader.
func (cutReader) Read([]byte) (int, error) { return 0, fmt.Errorf("cut") }
