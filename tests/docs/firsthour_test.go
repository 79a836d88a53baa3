package docs_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestAddressInUse: a node whose address is taken says by whom, as far as that answers, and what to do.
func TestAddressInUse(t *testing.T) {
	s := harness.OpenTemp(t, "")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 1 << 10 {
			if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"store":"abcdefgh","version":"v1\u001b[2J"}`)
	}))
	defer odd.Close()
	for address, by := range map[string]string{s.Node.Addr(): "another Fanfold server, version " + node.Version(),
		silent.Addr().String(): "another process", endless.Listener.Addr().String(): "another process", odd.Listener.Addr().String(): "another process"} {
		for _, flag := range []string{"--listen", "--debug-listen"} {
			cfg := node.Config{Data: t.TempDir(), Listen: address}
			if flag == "--debug-listen" {
				cfg.Listen, cfg.DebugListen = "127.0.0.1:0", address
			}
			want := address + " is in use by " + by + ": stop that, or choose another address with " + flag + ", such as " + flag + " 127.0.0.1:0 for any free port"
			var err error
			for range 3 { // on a busy machine the node may take longer to answer than it is waited for
				var n *node.Node
				if n, err = node.Open(t.Context(), cfg); err == nil {
					_ = n.Close()
					t.Fatalf("%s %s: started", flag, address)
				}
				if fanfold.MessageOf(err) == want {
					break
				}
			}
			if fanfold.CodeOf(err) != fanfold.Unavailable || fanfold.MessageOf(err) != want {
				t.Errorf("%s: %v, want %s", flag, err, want)
			}
		}
	}
}

// started tells a way to start the program.
type started struct {
	name string
	args []string // the program, up to its own arguments
	path string   // is put before the PATH
	want string   // how the command begins that the demo prints
}

// TestPrintedCommands: what the demo prints to be pasted works in another directory, however the demo was started.
func TestPrintedCommands(t *testing.T) {
	suite.Parallel(t)
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []started{
		{name: "built", args: []string{path}, want: path + " "},
		{name: "installed", args: []string{"fanfold"}, path: install(t), want: "fanfold "},
		{name: "go run", args: []string{"go", "run", "./cmd/fanfold"}, want: "go run -C " + checkout + " ./cmd/fanfold "},
	} {
		t.Run(s.name, func(t *testing.T) {
			env := append(os.Environ(), "PATH="+s.path+string(os.PathListSeparator)+os.Getenv("PATH"))
			command := printedByDemo(t, s, checkout, env)
			if !strings.HasPrefix(command, s.want) {
				t.Errorf("the demo prints %q, want one that begins with %q", command, s.want)
			}
			paste := exec.CommandContext(t.Context(), "sh", "-c", command+" --since 0 --collections shelves --once")
			paste.Dir, paste.Env = t.TempDir(), env
			if out, err := paste.CombinedOutput(); err != nil || !strings.Contains(string(out), "shelves/pen-names") {
				t.Errorf("%s: %v\n%s", command, err, out)
			}
		})
	}
}

// install installs the program as the README says, and returns the directory that it is in.
func install(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "install", "./cmd/fanfold")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "GOBIN="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// printedByDemo starts a demo, which ends with the test, and returns the command by which the change feed is followed.
func printedByDemo(t *testing.T, s started, checkout string, env []string) string {
	t.Helper()
	cmd := exec.Command("/usr/bin/env", slices.Concat(s.args, []string{"demo", "--listen", "127.0.0.1:0"})...)
	cmd.Dir, cmd.Env = checkout, slices.Concat(env, []string{"TMPDIR=" + t.TempDir()})
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go run leaves signals to the program that it has started
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		_ = cmd.Wait()
	})
	text := ""
	buf := make([]byte, 4096)
	for !strings.Contains(text, "Press Ctrl-C to stop.\n") {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatalf("%v after %s", err, text)
		}
		text += string(buf[:n])
	}
	printed := regexp.MustCompile(`(?m)^ *(.* changes --server .*)$`).FindStringSubmatch(text)
	if printed == nil {
		t.Fatalf("the demo prints no command for the change feed:\n%s", text)
	}
	return printed[1]
}

// TestVersionCommand: version tells the same as --version, and as a server of this program.
func TestVersionCommand(t *testing.T) {
	suite.Parallel(t)
	out, err := harness.RunProgram(t, "version")
	if err != nil || !regexp.MustCompile(`^fanfold \S+ \(go\S+, \w+/\w+, fold \d+\)\n$`).MatchString(out) {
		t.Fatalf("version: %v, %q", err, out)
	}
	version := strings.Fields(out)[1]
	if flag, err := harness.RunProgram(t, "--version"); err != nil || !strings.Contains(flag, version) {
		t.Errorf("--version: %v, %q, want %s", err, flag, version)
	}
	if asJSON, err := harness.RunProgram(t, "version", "--json"); err != nil || !strings.Contains(asJSON, `"version": "`+version+`"`) {
		t.Errorf("version --json: %v, %s", err, asJSON)
	}
	if out, err := harness.RunProgram(t, "version", "1"); err == nil {
		t.Errorf("version 1: %s", out)
	}
}
