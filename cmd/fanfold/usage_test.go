package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
)

// ran is what a command line printed, and its exit code.
type ran struct {
	code     int
	out, err string
}

// runCommand runs a command line as main does, without the process.
func runCommand(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	root := command()
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	code := run(t.Context(), root, args)
	return ran{code: code, out: out.String(), err: errs.String()}
}

// want fails the test unless the command ended with a code and printed some texts, on whichever output.
func (r ran) want(t *testing.T, code int, texts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d: %s%s", r.code, code, r.out, r.err)
	}
	for _, text := range texts {
		if !strings.Contains(r.out+r.err, text) {
			t.Errorf("no %q in\n%s%s", text, r.out, r.err)
		}
	}
}

// TestWrongUsage: a command line that cannot be understood says what is wrong and whose help to read, and ends with 2.
func TestWrongUsage(t *testing.T) {
	t.Setenv("FANFOLD_SERVER", "127.0.0.1:1") // where nothing listens: no command may come as far
	for line, want := range map[string]string{
		"import --foo":                     "unknown flag: --foo; see fanfold import --help",
		"--foo":                            "unknown flag: --foo; see fanfold --help",
		"group reset g --nope":             "unknown flag: --nope; see fanfold group reset --help",
		"get":                              "missing arguments: COLLECTION and ID; see fanfold get --help",
		"get books":                        "missing argument: ID; see fanfold get --help",
		"get a b c":                        `"c" is an argument too many: fanfold get takes COLLECTION ID; see fanfold get --help`,
		"import":                           "missing argument: FILE; see fanfold import --help",
		"model apply":                      "missing argument: FILE; see fanfold model apply --help",
		"status now":                       `fanfold status takes no arguments: "now" is one`,
		"replicas 1 2":                     `"2" is an argument too many: fanfold replicas takes [N]`,
		"get books b1 --lineage --view x":  "see fanfold get --help",
		"get books b1 --at 5 --max-lag 1s": "see fanfold get --help",
		"get books b1 --at 5 --consistency strong": "see fanfold get --help",
		"history books":                     "missing argument: ID; see fanfold history --help",
		"history books b1 --limit -1":       "--limit -1 is not how many versions can be printed",
		"history books b1 --limit x":        `--limit "x" is not a whole number`,
		"history books b1 --derived no":     `--derived "no" is neither include nor exclude`,
		"history books b1 --from=":          "--from is empty",
		"diff":                              "--from is missing",
		"diff 5":                            "fanfold diff takes no arguments",
		"diff --from 5 --derived no":        `--derived "no" is neither include nor exclude`,
		"diff --from 5 --collections a,":    "has an empty name in its list",
		"diff --from 5 --stat --json":       "see fanfold diff --help",
		"list books --at 5 --count":         "see fanfold list --help",
		"list books --at 5 --cursor x":      "see fanfold list --help",
		"revert books":                      "missing argument: ID; see fanfold revert --help",
		"revert books b1":                   "--at is missing",
		"revert 1books b1 --at 5":           "1books",
		"revert books b1 --at=":             "--at is empty",
		"completion tcsh":                   `fanfold completion has no "tcsh": want bash, fish, powershell or zsh`,
		"group lst":                         "want create, delete, describe, drop, list, parked, reset or retry; see fanfold group --help",
		"bench --quick":                     "the benchmarks are a program of their own: go run ./cmd/fanfold-bench",
		"model foo":                         "want apply, cancel, check, diff, flows, get, schema, suggest or types",
		"help foo":                          `unknown command "foo"`,
		"stats":                             "Did you mean this?",
		"status --server /tmp/fanfold.sock": `--server "/tmp/fanfold.sock" is a path: give host:port, such as 127.0.0.1:8080, or a URL`,
		"status --server localhost:80/v1":   "has a path",
		"status --server http://h?a=b":      "has a query",
		"status --server ftp://h":           "begins with ftp://",
		"status --server 8080":              "is a port alone",
		"status --server http://":           "names no host",
		"status --server ::1:80":            "is no address",
		"status --server " + strings.Repeat("h", maxServer+1): "has 2049 bytes, more than 2048",
	} {
		t.Run(line[:min(len(line), 40)], func(t *testing.T) {
			runCommand(t, "", strings.Fields(line)...).want(t, exitUsage, want)
		})
	}
}

// TestHelpIsNoMistake: what is asked for help, or is a group of commands, prints help and ends with 0.
func TestHelpIsNoMistake(t *testing.T) {
	for _, line := range []string{"", "--help", "help import", "import --help", "group", "model", "completion", "--version", "completion bash"} {
		r := runCommand(t, "", strings.Fields(line)...)
		if r.code != exitDone || r.out == "" || r.err != "" {
			t.Errorf("fanfold %s: %d, %.100q, %q", line, r.code, r.out, r.err)
		}
	}
}

// TestServerAddresses: --server is host:port or a URL.
func TestServerAddresses(t *testing.T) {
	s := harness.OpenTemp(t, "")
	bare := strings.TrimPrefix(s.URL, "http://")
	for _, address := range []string{s.URL, s.URL + "/", bare, bare + "/"} {
		runCommand(t, "", "status", "--server", address).want(t, exitDone, "position ")
	}
	for address, want := range map[string]string{
		"fanfold.example:80": "http://fanfold.example:80", "fanfold.example": "http://fanfold.example", "[::1]:8080": "http://[::1]:8080",
		"https://fanfold.example/store": "https://fanfold.example/store",
	} {
		if got, err := serverURL(address, "http"); got != want || err != nil {
			t.Errorf("%s is %s, %v", address, got, err)
		}
	}
}

// TestInterruptedCommand: a command that is interrupted says so, and no more.
func TestInterruptedCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs bytes.Buffer
	root := command()
	root.SetErr(&errs)
	if code := run(ctx, root, []string{"status", "--server", "127.0.0.1:1"}); code != exitFailed || errs.String() != "fanfold: interrupted\n" {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}
