package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
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

// buildExamples builds the examples that a script runs, and returns the script with the programs in their places.
func buildExamples(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	return regexp.MustCompile(`go run \./examples/\w+`).ReplaceAllStringFunc(script, func(run string) string {
		out := filepath.Join(dir, filepath.Base(run))
		if text, err := exec.Command("go", "build", "-o", out, "../../"+run[len("go run ./"):]).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return out
	})
}

// TestDocumentsWork runs the commands of the documents, top to bottom in one shell, against a
// server of its own. A block of json or text below one is what it prints.
func TestDocumentsWork(t *testing.T) {
	suite.Parallel(t)
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "docs/learn/tour.md", "docs/learn/moving-in.md", "docs/learn/build-an-app.md", "docs/learn/modeling.md", "docs/use/http.md", "docs/use/query.md", "docs/use/functions.md", "docs/use/commands.md", "docs/use/groups.md", "docs/use/feed.md", "docs/use/history.md", "docs/use/erasure.md", "docs/run/upgrade.md"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			suite.Parallel(t)
			s := harness.OpenTemp(t, "")
			const mark = "=== block "
			script := "set -e\n"
			want := map[string]string{}
			at := ""
			for _, b := range blocks(t, filepath.Join("../..", name)) {
				switch {
				case b.kind == "sh" && !regexp.MustCompile(`fanfold (serve|demo)|go test`).MatchString(b.text):
					at = fmt.Sprintf("%s:%d", name, b.line)
					script += fmt.Sprintf("echo; echo '%s%s'\n%s", mark, at, b.text)
				case b.kind == "json" || b.kind == "text":
					want[at] = b.text
				}
			}
			script = buildExamples(t, script)
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
			if len(want) == 0 {
				t.Fatal("nothing is compared")
			}
		})
	}
}

// TestOperationsWork runs the commands of the operators' documents, top to bottom in one shell each, with servers of their
// own: those that the commands start, and a NATS server. Benchmarks run at a tenth of their size.
func TestOperationsWork(t *testing.T) {
	suite.Parallel(t)
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Dir(path), "../../cmd/fanfold-bench").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"docs/run/running.md", "docs/run/scale.md"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			script := "set -e -o pipefail\n"
			for _, b := range blocks(t, filepath.Join("../..", name)) {
				if b.kind == "sh" {
					script += fmt.Sprintf("echo '=== %s:%d'\n%s", name, b.line, b.text)
				}
			}
			first, second := harness.FreeAddress(t), harness.FreeAddress(t)
			script = strings.NewReplacer("127.0.0.1:8080", first, "127.0.0.1:8081", second, "nats://127.0.0.1:4222", natsserver.Start(t, 1)[0],
				"fanfold-bench ", "fanfold-bench --quick ").Replace(script)
			cmd := exec.Command("bash", "-c", script)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"), "TMPDIR="+cmd.Dir, "FANFOLD_LISTEN="+first, "FANFOLD_SERVER=http://"+first)
			runShell(t, cmd)
		})
	}
}

// runShell runs a shell to its end, or for three minutes, and then ends whatever it has started. The test fails where the
// shell does.
func runShell(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // all may have ended
	late := time.AfterFunc(10*time.Minute, end)
	err = cmd.Wait()
	late.Stop()
	end()
	if text, _ := os.ReadFile(out.Name()); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}
