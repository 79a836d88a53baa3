package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/forget"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestEraseUsage: a command line that names no documents, or too much besides, is refused before anything is asked.
func TestEraseUsage(t *testing.T) {
	t.Setenv("FANFOLD_SERVER", "127.0.0.1:1") // where nothing listens: no command may come as far
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	line := `{"collection":"c","id":"1"}` + "\n"
	for line, want := range map[string]string{
		"erase":                                      "which document?",
		"erase customers":                            "which document?",
		"erase a b c":                                "an argument too many",
		"erase 9customers c1":                        "9customers",
		"erase customers c1 --members email":         "must begin with /",
		"erase customers c1 --members /id":           "id cannot be erased",
		"erase customers c1 --members /a,":           "must begin with /",
		"erase customers c1 --members /a,/a/b":       "is inside",
		"erase customers c1 --members=":              "--members is empty",
		"erase customers c1 --file " + file("f", ""): "--file names the documents",
		"erase --file " + filepath.Join(dir, "none"): "cannot read the documents",
		"erase --file " + file("empty", "\n"):        "no document is named",
		"erase --file " + file("twice", line+line):   "named twice",
		"erase --file " + file("members", line+`{"collection":"c","id":"2","members":["/a"]}`): "line 2 of the documents",
		"erase --file " + file("two", strings.TrimSpace(line)+line):                            "line 1 of the documents",
		"erase --file " + file("many", strings.Repeat(line, 10_001)):                           "10000 at most",
		"erase --file " + file("large", strings.Repeat(" ", maxEraseFile+1)):                   "more than 8388608 bytes",
		"erase customers --find x": "leave \"customers\" out",
		"erase --find x --dry-run": "see fanfold erase --help",
		"erasures now":             "takes no arguments",
		"erasures --export --json": "see fanfold erasures --help",
	} {
		runCommand(t, "", strings.Fields(line)...).want(t, exitUsage, want)
	}
}

// TestEraseCommand: it says what would go and what went, and needs no second time.
func TestEraseCommand(t *testing.T) {
	s := harness.OpenTemp(t, "collections: {authors: {}, books: {relations: {author: {path: author, to: authors, onDelete: unlink}}, derive: {by: {copy: author, value: doc.name}}}}")
	s.Put("authors", "a1", `{"name":"Marker","born":1}`)
	s.Put("authors", "a1", `{"name":"Marker Two","born":1}`)
	s.Put("books", "b1", `{"author":"a1"}`)
	erase := func(args ...string) ran {
		return runCommand(t, `{"collection":"authors","id":"a1"}`, append([]string{"erase", "--server", s.URL}, args...)...)
	}
	erase("authors", "never").want(t, exitFailed, "404")
	erase("--find", "Marker").want(t, exitDone, "authors/a1: 2 versions")
	erase("--find", "Marker", "--json").want(t, exitDone, `{"collection":"authors","id":"a1","versions":2}`)
	erase("--find", "nobody").want(t, exitDone, "no version of any document has this text")
	erase("authors", "a1", "--dry-run").want(t, exitDone, "1 document, of which 1 still there", "2 versions", "would go", "books.by: 1 document with copies", "nothing is erased")
	erase("authors", "a1", "--dry-run", "--json").want(t, exitDone, `"versions": 2`)
	runCommand(t, "", "erasures", "--server", s.URL).want(t, exitDone, "nothing was erased")
	erase("authors", "a1", "--members", "/name", "--yes").want(t, exitDone, "/name, in 2 versions", "erased 1 document,")
	runCommand(t, "", "get", "authors", "a1", "--json", "--server", s.URL).want(t, exitDone, `{"id":"a1","born":1}`)
	erase("--file", "-", "--yes").want(t, exitDone, "erased 1 document, with the contents of")
	erase("--file", "-", "--yes").want(t, exitDone, "nothing is left to erase")
	runCommand(t, "", "history", "authors", "a1", "--server", s.URL).want(t, exitDone, "erase    all that it was is erased", "create")
	runCommand(t, "", "changes", "--mode", "all", "--since", "0", "--once", "--server", s.URL).want(t, exitDone, "erase", "authors/a1")
	runCommand(t, "", "erasures", "--server", s.URL).want(t, exitDone, "done", "1 document,")
	runCommand(t, "", "erasures", "--json", "--server", s.URL).want(t, exitDone, `"phase": "done"`)
	runCommand(t, "", "erasures", "--export", "--server", s.URL).want(t, exitDone, `"collection":"authors","id":"a1","members":["/name"]}`, `"collection":"authors","id":"a1"}`)
	if text := runCommand(t, "", "export", "--server", s.URL).out; strings.Contains(text, "Marker") {
		t.Errorf("the export has what is erased: %s", text)
	}
}

// TestErasureLines: an erasure says for what it waits, and what it could not reach.
func TestErasureLines(t *testing.T) {
	e := client.Erasure{Number: 7, Phase: "switching", Documents: 2, Events: 9, By: "key:k", Nodes: []string{"n1", "n2"}, Error: "no space"}
	if line := erasureLine(&e, time.Now()); !strings.HasPrefix(line, "erase: switching, waiting for n1, n2, trying again: no space, for ") {
		t.Errorf("%q", line)
	}
	if row := erasureRow(&e); !strings.Contains(row, "2 documents, 9 events  by key:k  waiting for n1, n2  trying again: no space") {
		t.Errorf("%q", row)
	}
	e.Phase, e.Error, e.Position, e.Residue = "done", "", "9-0", []client.Residue{{Where: "server s", Do: "make its replica anew"}}
	if row := erasureRow(&e); !strings.Contains(row, "away: n1, n2  residue: server s") {
		t.Errorf("%q", row)
	}
	var out strings.Builder
	showErased(&out, &e)
	for _, want := range []string{"erased 2 documents, with the contents of 9 events: the store has nothing of them since 9-0", "the node n1 was away", "server s may still have something of them: make its replica anew"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, out.String())
		}
	}
}

// TestEraseCommandInterrupted: a command that is interrupted while it waits says that the server goes on, and that does.
func TestEraseCommandInterrupted(t *testing.T) {
	suite.Concurrent(t)
	held, release := make(chan struct{}), make(chan struct{})
	var once, end sync.Once
	s := harness.Open(t, harness.Options{Dir: t.TempDir(), Configure: func(cfg *node.Config) {
		cfg.Steps.Erase = func(step string) error {
			if step == forget.StepCompared {
				once.Do(func() { close(held) })
				<-release
			}
			return nil
		}
	}})
	t.Cleanup(func() { end.Do(func() { close(release) }); s.Close() })
	s.Put("books", "b1", `{"n":1}`)
	ended, interrupt, out := startCommand(t, "erase", "books", "b1", "--yes", "--server", s.URL)
	select {
	case <-held:
	case code := <-ended:
		t.Fatalf("exit code %d before the erasure is in force: %s", code, out.String())
	}
	s.CatchUp()
	number, _ := s.Node.Log.Prefix().Erasures()
	interrupt()
	if code := <-ended; code != exitFailed || !strings.Contains(out.String(), "the server goes on by itself: fanfold erasures") || !strings.Contains(out.String(), "interrupted") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
	runCommand(t, "", "erasures", "--server", s.URL).want(t, exitDone, "switching", "1 document,")
	end.Do(func() { close(release) })
	s.Erased(fmt.Sprint("/v1/_erasures/", number))
	runCommand(t, "", "erasures", "--server", s.URL).want(t, exitDone, "done", "1 document,")
}

// TestEraseMany: a file may name 10,000 documents, and a request no more. The lines of --find are such a file.
func TestEraseMany(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("ten thousand documents")
	}
	s := harness.OpenTemp(t, "")
	var documents, named strings.Builder
	for i := range fanfold.MaxErasedDocuments {
		fmt.Fprintf(&documents, `{"id":"%d","name":"Marker"}`+"\n", i)
		fmt.Fprintf(&named, `{"collection":"people","id":"%d"}`+"\n", i)
	}
	s.Put("people", "stays", `{"name":"another"}`)
	harness.ImportText(t, s.Client, "collection=people", documents.String())
	request := `{"documents":[` + strings.ReplaceAll(strings.TrimSpace(named.String()), "\n", ",") + `,{"collection":"people","id":"stays"}]}`
	s.Want(http.StatusBadRequest, http.MethodPost, "/v1/_erase", request, "Content-Type", "application/json")
	found := runCommand(t, "", "erase", "--find", "Marker", "--json", "--server", s.URL)
	found.want(t, exitDone, `{"collection":"people","id":"0","versions":1}`)
	if n := strings.Count(found.out, "\n"); n < 1000 || n > 1001 {
		t.Errorf("%d documents are found", n)
	}
	runCommand(t, found.out, "erase", "--file", "-", "--dry-run", "--server", s.URL).want(t, exitDone, "1000 documents, of which 1000 still there")
	path := filepath.Join(t.TempDir(), "ids.ndjson")
	if err := os.WriteFile(path, []byte(named.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	runCommand(t, "", "erase", "--file", path, "--yes", "--server", s.URL).want(t, exitDone, "erased 10000 documents")
	runCommand(t, "", "erase", "--find", "Marker", "--server", s.URL).want(t, exitDone, "no version of any document has this text")
	s.WantDoc("people", "stays", `{"id":"stays","name":"another"}`)
}
