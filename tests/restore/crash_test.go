package restore_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
)

var errCrash = errors.New("injected crash")

// crashing returns a configuration that ends a restore at its k-th step, event or fsync, and a function that tells whether it did.
func crashing(cfg node.RestoreConfig, k int) (out node.RestoreConfig, struck func() bool) {
	n := 0
	fault := func() error {
		if n++; n >= k {
			return errCrash
		}
		return nil
	}
	cfg.Step = func(string) error { return fault() }
	cfg.Sent = func(uint64) error { return fault() }
	cfg.Fsync = func(f *os.File) error { return errors.Join(fault(), f.Sync()) }
	return cfg, func() bool { return n >= k }
}

// requireUnfinished opens a node where a restore was ended, which refuses it and names the command.
func requireUnfinished(t *testing.T, opt harness.Options) {
	t.Helper()
	s, err := harness.Start(t, opt)
	if err == nil {
		s.Close()
		t.Fatal("a node starts where a restore has not come to its end")
	}
	if fanfold.CodeOf(err) != fanfold.Conflict || !strings.Contains(err.Error(), "fanfold restore BACKUP") {
		t.Fatalf("the error is %v", err)
	}
}

// TestCrashAtEveryStepOfRestore ends a restore after each step, event and fsync. The node refuses what is there then, and the same restore
// begins anew.
func TestCrashAtEveryStepOfRestore(t *testing.T) {
	suite.PlainOnly(t, suite.OneByOne)
	s := scripted(t, harness.Options{Dir: t.TempDir()})
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{}`)
	dir, rows := backUp(t, s), s.Digest()
	crashes := 0
	for k := 1; ; k++ {
		data := filepath.Join(t.TempDir(), "data")
		cfg, struck := crashing(node.RestoreConfig{Data: data}, k)
		if _, err := restoreWith(t.Context(), dir, cfg); struck() != (err != nil) {
			t.Fatalf("crash %d: %v", k, err)
		}
		if !struck() {
			break
		}
		crashes++
		if _, err := os.Stat(filepath.Join(data, "restoring")); err == nil {
			requireUnfinished(t, harness.Options{Dir: data})
			if _, err := restoreWith(t.Context(), dir, node.RestoreConfig{Data: data}); err != nil {
				t.Fatalf("after crash %d: %v", k, err)
			}
		} // else it was ended after the last step: what is there is whole
		if k%8 == 0 || k < 8 {
			requireRows(t, harness.Options{Dir: data}, rows)
		}
	}
	suite.Done(int64(crashes), "crashes of a restore")
}

// requireRows opens a restored store, and compares its rows.
func requireRows(t *testing.T, opt harness.Options, rows string) {
	t.Helper()
	s := harness.Open(t, opt)
	defer s.Close()
	if s.Digest() != rows {
		t.Fatal("the rows are not those of the store before")
	}
}

// TestCrashOfRestoreOnServers does so on outside servers.
func TestCrashOfRestoreOnServers(t *testing.T) {
	suite.PlainOnly(t, suite.OneByOne)
	s := scripted(t, harness.Options{Dir: t.TempDir()})
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", `{}`)
	dir := backUp(t, s)
	urls := strings.Join(natsserver.Start(t, 1), ",")
	for k := 1; ; k++ {
		cfg, struck := crashing(node.RestoreConfig{NATS: urls, Replicas: 1}, k)
		finished, fault := false, cfg.Step
		cfg.Step = func(done string) error {
			finished = done == node.FinishedStream
			return fault(done)
		}
		if _, err := restoreWith(t.Context(), dir, cfg); struck() != (err != nil) {
			t.Fatalf("crash %d: %v", k, err)
		}
		if finished { // the last step comes after the end
			break
		}
		requireUnfinished(t, harness.Options{Dir: t.TempDir(), NATS: urls})
	}
	restored := open(t, harness.Options{Dir: t.TempDir(), NATS: urls})
	if last := s.Node.Store.Applied.Seq(); digestUpTo(t, restored, last) != digestUpTo(t, s, last) {
		t.Fatal("the events are not those of the store before")
	}
	if _, err := restoreWith(t.Context(), dir, node.RestoreConfig{NATS: urls}); fanfold.CodeOf(err) != fanfold.Conflict {
		t.Fatalf("a restore where a log is: %v", err)
	}
}

// TestRestoreIsKilled ends the process.
func TestRestoreIsKilled(t *testing.T) {
	suite.PlainOnly(t, suite.OneByOne)
	s := open(t, harness.Options{Dir: t.TempDir()})
	var lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, `{"collection":"docs","id":"%d","x":%d}`+"\n", i, i)
	}
	s.Want(http.StatusOK, "POST", "/v1/_import", lines.String(), "Content-Type", "application/x-ndjson")
	dir, data := backUp(t, s), filepath.Join(t.TempDir(), "data")
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "restore", dir, "--data", data)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(data, "nats", "jetstream")); err == nil {
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if out, err := harness.RunProgram(t, "serve", "--data", data, "--listen", "127.0.0.1:0"); err == nil || !strings.Contains(out, "fanfold restore BACKUP") {
		t.Fatalf("serve: %v %s", err, out)
	}
	if out, err := harness.RunProgram(t, "restore", dir, "--data", data); err != nil {
		t.Fatalf("restore: %v %s", err, out)
	}
	requireRows(t, harness.Options{Dir: data}, s.Digest())
}

// TestRestoreOnFullDisk restores where there is no room. The same restore succeeds once there is.
func TestRestoreOnFullDisk(t *testing.T) {
	suite.PlainOnly(t, suite.OneByOne)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("this test mounts a small disk, which this machine does not allow: %v", err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	s := open(t, harness.Options{Dir: t.TempDir()})
	for i := range 40 {
		s.Put("docs", fmt.Sprint(i), `{"x":"`+strings.Repeat("y", 200_000)+`"}`)
	}
	dir, data := backUp(t, s), filepath.Join(disk, "data")
	if _, err := restoreWith(t.Context(), dir, node.RestoreConfig{Data: data}); fanfold.CodeOf(err) != fanfold.Unavailable {
		t.Fatalf("a restore on a full disk: %v", err)
	}
	requireUnfinished(t, harness.Options{Dir: data})
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=400m"); err != nil {
		t.Fatal(err)
	}
	if _, err := restoreWith(t.Context(), dir, node.RestoreConfig{Data: data}); err != nil {
		t.Fatal(err)
	}
	requireRows(t, harness.Options{Dir: data}, s.Digest())
}

// TestDamageIsRefused damages a backup. Nothing is made then.
func TestDamageIsRefused(t *testing.T) {
	s := scripted(t, harness.Options{Dir: t.TempDir()})
	dir := backUp(t, s)
	urls := strings.Join(natsserver.Start(t, 1), ",")
	files, err := filepath.Glob(filepath.Join(dir, "segments", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	files = append(files, filepath.Join(dir, "manifest.json"))
	for _, file := range files {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(whole); i += 1 + len(whole)/40 {
			damaged := append([]byte(nil), whole...)
			damaged[i] ^= 1
			for _, content := range [][]byte{damaged, whole[:i]} {
				if err := os.WriteFile(file, content, 0o600); err != nil {
					t.Fatal(err)
				}
				data := filepath.Join(t.TempDir(), "data")
				for _, cfg := range []node.RestoreConfig{{Data: data}, {NATS: urls}} {
					_, err := restoreWith(t.Context(), dir, cfg)
					var damage *backup.Damage
					if !errors.As(err, &damage) {
						t.Fatalf("damage of %s at %d: %v", file, i, err)
					}
				}
				if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
					t.Fatalf("a damaged backup makes %s: %v", data, err)
				}
			}
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := restoreWith(t.Context(), dir, node.RestoreConfig{NATS: urls}); err != nil {
		t.Fatal(err)
	}
}

// TestRestoreRefuses tries places where something is. Nothing in them changes.
func TestRestoreRefuses(t *testing.T) {
	s := scripted(t, harness.Options{Dir: t.TempDir()})
	dir, full := backUp(t, s), t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		ctx  context.Context
		cfg  node.RestoreConfig
		want fanfold.Code
	}{
		{t.Context(), node.RestoreConfig{Data: full}, fanfold.Conflict},
		{t.Context(), node.RestoreConfig{}, fanfold.Invalid},
		{t.Context(), node.RestoreConfig{Data: full, NATS: "nats://127.0.0.1:1"}, fanfold.Invalid},
		{t.Context(), node.RestoreConfig{Data: filepath.Join(full, "mine")}, fanfold.Invalid},
		{t.Context(), node.RestoreConfig{Data: t.TempDir(), To: "100000-0"}, fanfold.Invalid},
		{t.Context(), node.RestoreConfig{Data: t.TempDir(), To: "yesterday"}, fanfold.Invalid},
		{t.Context(), node.RestoreConfig{Data: t.TempDir(), To: "2-0-aaaaaaaa"}, fanfold.Invalid},
		{t.Context(), node.RestoreConfig{Data: t.TempDir(), To: "1999-01-01T00:00:00Z"}, fanfold.Invalid},
		{ended, node.RestoreConfig{Data: t.TempDir()}, ""},
	} {
		if _, err := restoreWith(c.ctx, dir, c.cfg); err == nil || c.want != "" && fanfold.CodeOf(err) != c.want {
			t.Errorf("%+v: %v, want %s", c.cfg, err, c.want)
		}
	}
	found, err := os.ReadDir(full)
	if err != nil || len(found) != 1 {
		t.Fatalf("the directory has %v, %v", found, err)
	}
}
