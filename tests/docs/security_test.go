package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/access/tokens"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestSecurityDocument runs the commands of docs/security.md, top to bottom in one shell: they close a house, and each text below them
// is what they print.
func TestSecurityDocument(t *testing.T) {
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("there is no openssl")
	}
	address, script, want, commands := harness.FreeAddress(t), "set -e -o pipefail\n", []string(nil), 0
	for _, b := range blocks(t, "../../docs/security.md") {
		switch b.kind {
		case "sh":
			script += fmt.Sprintf("echo '=== %d'\n%s", b.line, b.text)
			if commands++; commands == 2 && strings.Count(b.text, "\n") != 5 {
				t.Errorf("a house is closed by %d commands, and the page says five", strings.Count(b.text, "\n"))
			}
		case "text":
			want = append(want, b.text)
		}
	}
	log, out := filepath.Join(t.TempDir(), "serve.log"), filepath.Join(t.TempDir(), "printed")
	script = "trap 'kill $(jobs -p); wait; cp serve.log \"$LOG\"' EXIT\n" + strings.ReplaceAll(script, "127.0.0.1:8080", address)
	cmd := exec.Command("bash", "-o", "pipefail", "-c", `bash -c "$0" 2>&1 | tee "$OUT"`, script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"), "TMPDIR="+cmd.Dir, "FANFOLD_LISTEN="+address, "LOG="+log, "OUT="+out)
	runShell(t, cmd)
	printed, err := os.ReadFile(out)
	if err != nil || len(want) < 4 {
		t.Errorf("the page has the texts %q: %v", want, err)
	}
	rest := string(printed)
	for _, text := range want {
		_, after, found := strings.Cut(rest, "\n"+text)
		if rest = "\n" + after; !found {
			t.Fatalf("it prints\n%s\nwant\n%s", printed, text)
		}
	}
	key, err := os.ReadFile(filepath.Join(cmd.Dir, "ops.key"))
	if err != nil || !strings.HasPrefix(string(key), "fan_") {
		t.Fatalf("the first key is %d bytes, %v", len(key), err)
	}
	checkToken(t, cmd.Dir)
	logged, err := os.ReadFile(log)
	if err != nil || len(logged) == 0 || strings.Contains(string(logged), strings.TrimSpace(string(key))) {
		t.Errorf("the node's log has %d bytes, and perhaps the key: %v", len(logged), err)
	}
}

// checkToken looks whether the token of the page lets in as the page says.
func checkToken(t *testing.T, dir string) {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(dir, "ann.token"))
	if err != nil {
		t.Fatal(err)
	}
	of, err := tokens.New(tokens.Options{Issuer: "my-backend", Audience: "fanfold", Keys: filepath.Join(dir, "backend.pub"), Secret: func() []byte { return make([]byte, 32) }})
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := of.Principal(strings.TrimSpace(string(token)))
	if err != nil || p == nil || p.Sub != "ann" || !slices.Equal(p.Roles, []string{"editors"}) || string(p.Claims) != `{"tenant":"t1"}` {
		t.Errorf("%s lets in %+v %v", token, p, err)
	}
}
