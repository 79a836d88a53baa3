package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// block is a fenced block of a document.
type block struct {
	line       int
	kind, text string
}

func blocks(t *testing.T, path string) (out []block) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := false
	for i, line := range strings.Split(string(text), "\n") {
		switch kind, fence := strings.CutPrefix(line, "```"); {
		case fence && open:
			open = false
		case fence:
			open = true
			out = append(out, block{line: i + 1, kind: kind})
		case open:
			out[len(out)-1].text += line + "\n"
		}
	}
	return out
}

// TestDocumentsWork runs the commands of the documents, top to bottom in one shell, against a
// server of its own. A block of json or text below one is what it prints.
func TestDocumentsWork(t *testing.T) {
	plainOnly(t, otherProcess)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "docs/modeling.md"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			s := harness.OpenTemp(t, "")
			const mark = "=== block "
			script := "set -e\n"
			want := map[string]string{}
			at := ""
			for _, b := range blocks(t, filepath.Join("..", name)) {
				switch {
				case b.kind == "sh" && !regexp.MustCompile(`fanfold (serve|demo)|go test`).MatchString(b.text):
					at = fmt.Sprintf("%s:%d", name, b.line)
					script += fmt.Sprintf("echo; echo '%s%s'\n%s", mark, at, b.text)
				case b.kind == "json" || b.kind == "text":
					want[at] = b.text
				}
			}
			script = strings.NewReplacer("go run ./cmd/fanfold", path, "http://127.0.0.1:8080", s.URL).Replace(script)
			cmd := exec.Command("bash", "-c", script)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "FANFOLD_SERVER="+s.URL)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got := map[string]string{}
			for part := range strings.SplitSeq(string(out), mark) {
				place, text, _ := strings.Cut(part, "\n")
				got[place] = strings.TrimSpace(text)
			}
			for place, text := range want {
				if got[place] != strings.TrimSpace(text) {
					t.Errorf("%s prints\n%s\nwant\n%s", place, got[place], text)
				}
			}
			if len(want) == 0 && name != "README.md" {
				t.Fatal("nothing is compared")
			}
		})
	}
}
