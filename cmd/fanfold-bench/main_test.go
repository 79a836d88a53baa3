package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/client"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

// TestMain lets the tests' program be the one that benchmarks start as processes of their own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "serve" || os.Args[1] == "replay") {
		main()
		return
	}
	os.Exit(m.Run())
}

// runLine runs a command line.
func runLine(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := command()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// measured runs benchmarks at a tenth of their size, and returns what they measured.
func measured(t *testing.T, args ...string) (results []Result) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	out, err := runLine(t, append([]string{"--quick", "--json"}, args...)...)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := json.Unmarshal([]byte(out), &results); err != nil || len(results) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, r := range results {
		if r.Ours <= 0 || r.Limit <= 0 {
			t.Errorf("%s: %v beside %v", r.Name, r.Ours, r.Limit)
		}
	}
	return results
}

// TestBystanders: requests beside a rename are measured on two nodes, and none of them fails.
func TestBystanders(t *testing.T) {
	suite.Concurrent(t)
	r := measured(t, "--only", "bystanders", "--documents", "10000", "--nodes", "2", "--steps", "2", "--nats", natsserver.Start(t, 1)[0])
	if notes := strings.Join(r[0].Notes, "\n"); len(r) != 1 || !strings.Contains(notes, "answered 202") || !strings.Contains(notes, "2 nodes") {
		t.Errorf("%+v", r)
	}
}

// TestSizing: what documents take is measured. The benchmark of nodes runs with the commands of docs/run/scale.md
// (TestOperationsWork).
func TestSizing(t *testing.T) {
	for _, only := range []string{"sizing", "richsizing"} {
		r := measured(t, "--only", only, "--documents", "50000")
		if len(r) != 1 || !strings.Contains(strings.Join(r[0].Notes, "\n"), "at rest: memory") {
			t.Errorf("%s: %+v", only, r)
		}
	}
}

// TestRetention: disk and time of compactions and erasures are measured, and no GET beside one is refused.
func TestRetention(t *testing.T) {
	r := measured(t, "--only", "retention", "--documents", "20000")
	if len(r) != 8 || !strings.Contains(strings.Join(r[4].Notes, "\n"), "\n0 of ") || !strings.Contains(strings.Join(r[7].Notes, "\n"), "\n0 of ") {
		t.Errorf("%+v", r)
	}
}

// TestReplay: a replay is measured in a process of its own.
func TestReplay(t *testing.T) {
	if r := measured(t, "--only", "replay"); len(r) != 1 || !strings.HasPrefix(r[0].Name, "replay of 20000 events") {
		t.Errorf("%+v", r)
	}
}

// TestWrongFlags: an error names the values that a flag takes.
func TestWrongFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"--only bystanders --nodes 1000":      "1 to 16",
		"--only bystanders --steps 1000":      "1 to 500",
		"--only bystanders --nodes 2":         "need --nats",
		"--only bystanders --documents 0":     "1000 to",
		"--only sizing --documents 4999":      "5000 to",
		"--only rich --documents 10000000000": "1000 to",
		"--only other":                        "is not one of get, put",
	} {
		if out, err := runLine(t, strings.Fields(flags)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %s", flags, err, out)
		}
	}
}

// TestLogInUse: a benchmark does not fill a log that has a model.
func TestLogInUse(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	n, err := node.Open(t.Context(), node.Config{Data: filepath.Join(t.TempDir(), "data"), Listen: "127.0.0.1:0", NATS: url})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	err = n.Run(ctx, func(ctx context.Context) error {
		defer end()
		err := withClient(n.URL(), func(c *client.Client) error {
			_, err := c.PutModel(ctx, []byte(benchModel), client.ModelOptions{})
			return err
		})
		if err != nil {
			return err
		}
		if out, err := runLine(t, "--only", "nodes", "--nats", url); err == nil || !strings.Contains(err.Error(), "is not empty") {
			t.Errorf("%v, %s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
