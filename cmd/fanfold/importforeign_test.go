package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/fanfold/fanfold/tests/harness"
)

// gzipped returns a text as gzip.
func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestImportOfOtherStores: what other stores export is loaded from files, a directory and standard input, and the report says what was dropped, refused
// and where.
func TestImportOfOtherStores(t *testing.T) {
	s := harness.OpenTemp(t, "")
	load := func(stdin string, args ...string) ran {
		return runCommand(t, stdin, append([]string{"import", "--server", s.URL}, args...)...)
	}
	cosmos := `[{"id":"1","n":12345678901234567890.10,"_rid":"a","_ts":1},` + "\n" + `{"id":"2","_x":1,"_ts":1}]`
	load("", "--collection", "books", writeTemp(t, "b.json", cosmos)).want(t, exitFailed, "is taken for an export of Cosmos DB; --from says otherwise", "line 2: member /_x: names that begin with _",
		"1 documents written", "1 refused", "dropped members: _rid: 1, _ts: 1")
	s.WantDoc("books", "1", `{"id":"1","n":12345678901234567890.10}`)
	load(cosmos, "--collection", "books", "--from", "cosmos", "--rename", "_x=x", "--rename", "_ts=at", "-", "--json").want(t, exitDone, `"written": 2`, `"_rid": 1`, `"cosmos"`)
	s.WantDoc("books", "2", `{"id":"2","x":1,"at":1}`)
	load(gzipped(t, `{"_id":{"$oid":"57e193d7a9cc81b4027498b5"},"v":{"$numberDecimal":"1.50"}}`), "--collection", "m", "-").want(t, exitDone, "standard input is taken for an export of MongoDB")
	s.WantDoc("m", "57e193d7a9cc81b4027498b5", `{"id":"57e193d7a9cc81b4027498b5","v":1.50}`)
	load("", writeTemp(t, "b.json", cosmos)).want(t, exitUsage, "documents that do not say where they go: give --collection, such as --collection b")
	load(`{"data":[{"id":"9"}]}`, "--collection", "c", "-").want(t, exitUsage, `its member "data" has a list of objects`, "--list data")
	load(`{"data":[{"id":"9"}]}`, "--collection", "c", "-", "--list", "data").want(t, exitDone, "1 documents written")
	load("", "--rename", "a", writeTemp(t, "b.json", cosmos)).want(t, exitUsage, "is not OLD=NEW")
	load("", "--from", "oracle", writeTemp(t, "b.json", cosmos)).want(t, exitUsage, "is no store that is known")

	lines := `{"id":"g1"}` + "\n" + `{"id":"g2"}` + "\n"
	load("", "--collection", "g", writeTemp(t, "g.ndjson.gz", gzipped(t, lines))).want(t, exitDone, "2 documents written")
	s.WantDoc("g", "g2", `{"id":"g2"}`)

	dir := t.TempDir()
	for name, text := range map[string]string{"authors.json": `[{"_id":"a1","_rev":"1-x","name":"A"}]`, "works.ndjson": `{"id":"w1","author":"a1"}` + "\n" + "oops\n" + `{"id":"w2","id":"w3"}` + "\n" + `{"id":".."}`, "README.md": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load("", "--dry-run", dir).want(t, exitFailed, "3 documents read", "2 refused; nothing is stored", "authors: 1", "works: 2", "works.ndjson, line 2: ", "files left out: README.md", "the first file of "+dir+" is taken for an export of CouchDB",
		"the files are taken for: an export of CouchDB, JSON\n", "some documents would be refused; nothing is loaded")
	runCommand(t, "", "get", "authors", "a1", "--server", s.URL).want(t, exitFailed, "authors/a1")
	errors := filepath.Join(t.TempDir(), "errors")
	load("", "--errors", errors, "--refusals", "1", dir).want(t, exitFailed, "2 documents written", "3 refused", "works.ndjson, line 2: ", "--errors FILE has all", "dropped members: _rev: 1")
	text, err := os.ReadFile(errors)
	if err != nil || strings.Count(string(text), "\n") != 3 || !strings.Contains(string(text), `{"file":"works.ndjson","line":4,"code":"invalid","detail":`) {
		t.Errorf("%v: the refused lines are %s", err, text)
	}
	s.WantDoc("authors", "a1", `{"id":"a1","name":"A"}`)
	load("", "--resume", dir).want(t, exitFailed, "0 documents written", "2 were stored before")
	mapping := writeTemp(t, "m.yaml", "- collection: people\n  documents: \"{'id': doc.id, 'called': doc.name}\"\n")
	load("", "--mapping", mapping, filepath.Join(dir, "authors.json")).want(t, exitDone, "1 documents written")
	s.WantDoc("people", "a1", `{"id":"a1","called":"A"}`)
}

// TestExportInADirectory: lines of an export go where they say, also from a directory, with the model among them.
func TestExportInADirectory(t *testing.T) {
	s, dir := harness.OpenTemp(t, ""), t.TempDir()
	lines := `{"model":{"collections":{"authors":{},"books":{"relations":{"author":{"path":"author","to":"authors"}},"derive":{"name":{"copy":"author","value":"doc.name"}}}}}}` + "\n" +
		`{"collection":"authors","doc":{"id":"a","name":"A"}}` + "\n" + `{"collection":"books","text":"{\"id\":\"b\",\n\"author\":\"a\"}"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "all.ndjson"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	runCommand(t, "", "import", "--server", s.URL, dir).want(t, exitDone, "2 documents written", "0 refused")
	s.WantDoc("books", "b", `{"id":"b","author":"a","name":"A"}`)
}

// TestPlacesOfLines: a number of a line stands for a file and a line of it.
func TestPlacesOfLines(t *testing.T) {
	src := &source{}
	for i := range 8000 {
		src.files = append(src.files, fmt.Sprintf("%04d", i))
	}
	for _, file := range []string{"0000", "7999"} {
		p := src.placeOf(1)
		p.File, p.Line = file, 1<<fileShift-1
		if n := src.number(p); src.placeOf(n) != p || n > 1<<53 {
			t.Errorf("%v is %d, which is %v", p, n, src.placeOf(n))
		}
	}
}
