package main

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
)

// startNode runs a node on an empty directory and returns its URL. It ends with the test.
func startNode(t *testing.T) string {
	t.Helper()
	program, err := goBuild(t.Context(), root, "./cmd/fanfold", filepath.Join(t.TempDir(), "fanfold"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	said := bufio.NewScanner(stderr)
	for said.Scan() {
		if url := regexp.MustCompile(`url=(http://\S+)`).FindStringSubmatch(said.Text()); url != nil {
			return url[1]
		}
	}
	t.Fatal("the node did not come up")
	return ""
}

// runWhereInstalled runs a program, which must succeed; where it is not installed the test is skipped, saying so.
func runWhereInstalled(t *testing.T, program string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed; make stack installs it", program)
	}
	if text, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %v: %v\n%s", program, args, err, text)
	}
}
