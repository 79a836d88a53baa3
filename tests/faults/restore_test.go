package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

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

// backedUp returns a store with everything that the script writes and a group, and the directory of a backup of it. If compacted says so,
// the store begins in the middle of that.
func backedUp(t *testing.T, compacted bool) (s *harness.Store, dir string) {
	t.Helper()
	s = harness.OpenTemp(t, "")
	harness.RunScript(t, s, harness.CrashScript)
	s.Put("authors", "keyed", `{"name":"K"}`)
	s.Want(201, "PUT", "/v1/authors/once", `{"name":"O"}`, "Idempotency-Key", `"k1"`)
	group := "{}"
	if compacted {
		last, err := s.Node.Log.LastSeq(t.Context())
		must(t, err)
		if s.Compact(last/2) == 0 {
			t.Fatal("the store has all its events")
		}
		for i := range 5 {
			s.Put("authors", fmt.Sprint("after", i), `{"name":"A"}`)
		}
		s.Put("authors", "keyed", `{"name":"K2"}`)
		group = `{"since":"now"}`
	}
	s.Want(http.StatusCreated, "PUT", "/v1/_groups/g", group)
	return s, harness.BackUp(t, s)
}

// crashing returns a configuration that ends a restore at the step, event or fsync that fails.
func crashing(cfg transfer.RestoreConfig, f *failing) transfer.RestoreConfig {
	f.arm()
	cfg.Step = func(string) error { return f.write() }
	cfg.Sent = func(uint64) error { return f.write() }
	cfg.Fsync = func(file *os.File) error { return errors.Join(f.write(), file.Sync()) }
	return cfg
}

// A restore is ended after a step, event or fsync, in a directory or on servers, of a store that begins at its beginning or later. The node refuses
// what is there then, and the same restore begins anew.
var (
	crashOfRestore                  = restoreInto("directory", false)
	crashOfRestoreWithBase          = restoreInto("directory with a base", true)
	crashOfRestoreOnServers         = restoreOnto("servers", false)
	crashOfRestoreWithBaseOnServers = restoreOnto("servers with a base", true)
)

// restoreInto returns the restores of a store into directories.
func restoreInto(name string, compacted bool) crash {
	return crash{name: name, begin: func(t *testing.T) func(*testing.T, *failing) {
		s, dir := backedUp(t, compacted)
		rows := s.Digest()
		return func(t *testing.T, f *failing) {
			data := filepath.Join(t.TempDir(), "data")
			if _, err := harness.Restore(t.Context(), dir, crashing(transfer.RestoreConfig{Data: data}, f)); f.struck() != (err != nil) {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(data, "restoring")); err == nil {
				requireUnfinished(t, harness.Options{Dir: data})
				if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: data}); err != nil {
					t.Fatalf("after the crash: %v", err)
				}
			} // else it was ended after the last step: what is there is whole
			harness.RequireRows(t, harness.Options{Dir: data}, rows)
		}
	}}
}

// restoreOnto returns the restores of a store onto servers.
func restoreOnto(name string, compacted bool) crash {
	return crash{name: name, begin: func(t *testing.T) func(*testing.T, *failing) {
		s, dir := backedUp(t, compacted)
		last := s.Node.Store.Applied.Seq()
		digest := digestUpTo(t, s, last)
		return func(t *testing.T, f *failing) {
			urls := strings.Join(natsserver.Start(t, 1), ",")
			cfg, finished := crashing(transfer.RestoreConfig{NATS: urls, Replicas: 1}, f), false
			fault := cfg.Step
			cfg.Step = func(done string) error {
				finished = done == transfer.FinishedStream
				return fault(done)
			}
			if _, err := harness.Restore(t.Context(), dir, cfg); f.struck() != (err != nil) {
				t.Fatal(err)
			}
			if !finished { // the last step comes after the end
				requireUnfinished(t, harness.Options{Dir: t.TempDir(), NATS: urls})
				if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{NATS: urls, Replicas: 1}); err != nil {
					t.Fatalf("after the crash: %v", err)
				}
			}
			requireOnServers(t, urls, dir, last, digest)
		}
	}}
}

// requireOnServers checks what a restore left on servers.
func requireOnServers(t *testing.T, urls, dir string, last uint64, digest fanfold.Digest) {
	t.Helper()
	restored := harness.Open(t, harness.Options{Dir: t.TempDir(), NATS: urls})
	if digestUpTo(t, restored, last) != digest {
		t.Fatal("the events are not those of the store before")
	}
	if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{NATS: urls}); fanfold.CodeOf(err) != fanfold.Conflict {
		t.Fatalf("a restore where a log is: %v", err)
	}
	if report, err := restored.Node.VerifyLog(t.Context(), nil); err != nil || report.Err() != nil {
		t.Fatalf("the log is %+v, %v", report, err)
	}
	restored.Verify()
	for try := 0; ; try++ { // a node on servers appends a fence now and then
		rows := restored.Digest()
		if restored.Replay(); restored.Digest() == rows {
			break
		}
		if try == 10 {
			t.Fatal("the rows are not those of a replay")
		}
	}
	restored.Close()
}

// digestUpTo returns the digest of all events of a log up to one.
func digestUpTo(t *testing.T, s *harness.Store, last uint64) (d fanfold.Digest) {
	t.Helper()
	err := s.Node.Log.Scan(t.Context(), s.Node.Log.Prefix().Base().Seq+1, last, func(_ uint64, _ int, event fanfold.Digest) error {
		d = d.Followed(event)
		return nil
	})
	must(t, err)
	return d
}

// killedRestore returns the directory of a restore that was killed on its way. On a busy machine one may end before: then it kills another.
func killedRestore(t *testing.T, dir string) (data string) {
	t.Helper()
	path, err := harness.Program()
	if err != nil {
		t.Fatal(err)
	}
	for {
		data = filepath.Join(t.TempDir(), "data")
		var said strings.Builder
		cmd := exec.Command(path, "restore", dir, "--data", data)
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if err := killUnder(cmd.Process, ended, filepath.Join(data, "nats", "jetstream")); err != nil {
			t.Fatalf("%v: %s", err, &said)
		}
		if _, err := os.Stat(filepath.Join(data, "restoring")); err == nil {
			return data
		}
	}
}

// killUnder kills a process once a path is there, and returns nil after its end. It returns the error with which the process ended before.
func killUnder(p *os.Process, ended <-chan error, path string) error {
	for {
		if _, err := os.Stat(path); err == nil {
			_ = p.Kill()
			<-ended //nolint:errcheck // it was killed
			return nil
		}
		select {
		case err := <-ended:
			return err
		case <-time.After(time.Millisecond):
		}
	}
}

// killRestore ends the process.
func killRestore(t *testing.T) {
	s := harness.OpenTemp(t, "")
	var lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, `{"id":"%d","x":%d}`+"\n", i, i)
	}
	harness.ImportText(t, s.Client, "collection=docs", lines.String())
	dir := harness.BackUp(t, s)
	data := killedRestore(t, dir)
	if out, err := harness.RunProgram(t, "serve", "--data", data, "--listen", "127.0.0.1:0"); err == nil || !strings.Contains(out, "fanfold restore BACKUP") {
		t.Fatalf("serve: %v %s", err, out)
	}
	if out, err := harness.RunProgram(t, "restore", dir, "--data", data); err != nil {
		t.Fatalf("restore: %v %s", err, out)
	}
	harness.RequireRows(t, harness.Options{Dir: data}, s.Digest())
}

// restoreOnFullDisk restores where there is no room. The same restore succeeds once there is.
func restoreOnFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("this test mounts a small disk, which this machine does not allow: %v", err)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	s := harness.OpenTemp(t, "")
	for i := range 40 {
		s.Put("docs", fmt.Sprint(i), `{"x":"`+strings.Repeat("y", 200_000)+`"}`)
	}
	dir, data := harness.BackUp(t, s), filepath.Join(disk, "data")
	if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: data}); fanfold.CodeOf(err) != fanfold.Unavailable {
		t.Fatalf("a restore on a full disk: %v", err)
	}
	requireUnfinished(t, harness.Options{Dir: data})
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=400m"); err != nil {
		t.Fatal(err)
	}
	if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{Data: data}); err != nil {
		t.Fatal(err)
	}
	harness.RequireRows(t, harness.Options{Dir: data}, s.Digest())
}
