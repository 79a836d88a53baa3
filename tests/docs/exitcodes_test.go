package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// TestExitCodes holds the exit codes of the running program, as docs/use/commands.md has them, but for 3: TestRescue has that.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	s := harness.OpenTemp(t, "collections: {publishers: {}, books: {unique: [isbn], relations: {publisher: {path: publisher, to: publishers, strict: true}}}}")
	s.Put("publishers", "p", "{}")
	s.Put("books", "b1", `{"isbn":"1"}`)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		says string
		line []string
	}{
		{0, "position", []string{"status"}},
		{0, "0 wrong", []string{"verify"}},
		{0, "wrote books/b1", []string{"put", "books", "b1", file("b1.json", `{"isbn":"1"}`)}},
		{0, "Usage:", []string{"help", "put"}},
		{1, "404 Not Found", []string{"get", "books", "none"}},
		{1, "404 Not Found", []string{"group", "describe", "none"}},
		{1, "409 Conflict", []string{"put", "books", "b2", file("b2.json", `{"isbn":"1"}`)}},
		{1, "412 Precondition Failed", []string{"delete", "books", "b1", "--if-match", "1"}},
		{1, "422 Unprocessable Entity", []string{"put", "books", "b3", file("b3.json", `{"publisher":"none"}`)}},
		{1, "some documents were refused", []string{"import", "--collection", "books", file("b4.ndjson", `{"isbn":"1"}`)}},
		{1, "is a server running there?", []string{"status", "--server", "127.0.0.1:1"}},
		{1, "there is no collection", []string{"export", "--collections", "boks"}},
		{2, "see fanfold import --help", []string{"import", "--foo"}},
		{2, "missing argument: ID", []string{"get", "books"}},
		{2, "want bash, fish, powershell or zsh", []string{"completion", "tcsh"}},
		{2, "is a path", []string{"status", "--server", "/tmp"}},
		{2, "400 Bad Request", []string{"put", "books", "b5", file("b5.json", `{`)}},
		{2, "is CSV", []string{"import", file("b.csv", "a,b\n1,2\n")}},
		{2, "nothing", []string{"model", "check", file("m.yaml", "collections: {books: {nothing: 1}}")}},
		{2, "cannot read the file", []string{"import", "--collection", "books", filepath.Join(dir, "none")}},
	} {
		cmd := exec.Command(path, c.line...)
		cmd.Env = append(os.Environ(), "FANFOLD_SERVER="+s.URL)
		out, err := cmd.CombinedOutput()
		if harness.ExitCode(err) != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("fanfold %s ends with %d, want %d, and prints %s, want %q", strings.Join(c.line, " "), harness.ExitCode(err), c.code, out, c.says)
		}
	}
}
