package docs_test

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/suite"
)

// portTens returns numbers. Each, followed by a digit from 1 to 3, is a port that was free a moment ago. They lie between
// the ports of natsserver.FreePorts and those that systems give to outgoing connections.
func portTens(t *testing.T, n int) (tens []string) {
	t.Helper()
	for k := 3201; len(tens) < n && k <= 3275; k++ {
		free := true
		for i := 1; i <= 3 && free; i++ {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d%d", k, i))
			if free = err == nil; free {
				_ = l.Close() // it was free
			}
		}
		if free {
			tens = append(tens, fmt.Sprint(k))
		}
	}
	if len(tens) < n {
		t.Fatal("there are no free ports")
	}
	return tens
}

// TestClusterDocument runs the commands of docs/run/cluster.md in one shell, with three NATS servers and three nodes as processes.
func TestClusterDocument(t *testing.T) {
	suite.Parallel(t)
	fanfold, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	nats := filepath.Join(t.TempDir(), "nats-server")
	if out, err := exec.Command("go", "build", "-o", nats, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	script, want := "set -e\ntrap 'kill $(jobs -p); wait' EXIT\n", ""
	for _, b := range blocks(t, "../../docs/run/cluster.md") {
		if b.kind == "sh" {
			script += b.text
		} else {
			want = b.text
		}
	}
	script = regexp.MustCompile(`(?m)^( *)fanfold `).ReplaceAllString(script, "${1}"+fanfold+" ")
	script = regexp.MustCompile(`(?m)^( *)nats-server `).ReplaceAllString(script, "${1}"+nats+" ")
	ports := portTens(t, 4)
	script = strings.NewReplacer("127.0.0.1:422", "127.0.0.1:"+ports[0], "127.0.0.1:622", "127.0.0.1:"+ports[1],
		"127.0.0.1:822", "127.0.0.1:"+ports[2], "127.0.0.1:808", "127.0.0.1:"+ports[3]).Replace(script)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		logs, _ := exec.Command("bash", "-c", "tail -n 20 "+cmd.Dir+"/*.log").CombinedOutput()
		t.Fatalf("%v\n%s\n%s", err, out, logs)
	}
	for _, w := range []string{want, "3 of 3 replicas current", "snapshot ", "begins with a snapshot"} {
		if !strings.Contains(string(out), w) {
			t.Errorf("the commands print\n%s\nwant %q", out, w)
		}
	}
}
