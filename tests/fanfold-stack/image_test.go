//go:build stack

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// TestImage: the files that the Dockerfile puts into the image are enough to run on. The program runs as the image's user, sees nothing
// else, and writes below the volume alone. It says that it is ready by the image's health check, and knows its version.
func TestImage(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a root directory of its own takes root")
	}
	img, err := readDockerfile(root + "/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := buildImage(t.Context(), root, img, version, dir); err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(dir, "image")
	for _, c := range img.stages[len(img.stages)-1].Commands {
		if c, ok := c.(*instructions.CopyCommand); ok {
			layOut(t, c, filepath.Join(dir, "out"), image)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the image's user must get in
		t.Fatal(err)
	}
	network, err := freeNetwork(uint16(os.Getpid()), 8080)
	if err != nil {
		t.Fatal(err)
	}
	address := loopback(network, 2).String() + ":8080"
	inside := func(ctx context.Context, argv []string, more ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, argv[0], slices.Concat(argv[1:], more)...)
		uid, gid, _ := strings.Cut(img.user, ":")
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: image, Credential: &syscall.Credential{Uid: number(t, uid), Gid: number(t, gid)}, Pdeathsig: syscall.SIGKILL}
		cmd.Dir, cmd.Env = "/data", []string{}
		for name, value := range img.environment {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		return cmd
	}
	if said, err := inside(t.Context(), img.entrypoint, "--version").CombinedOutput(); err != nil || !strings.Contains(string(said), version) {
		t.Fatalf("its version: %v %s", err, said)
	}
	node := inside(context.Background(), img.entrypoint, append(img.command, "--listen", address)...)
	var said strings.Builder
	node.Stdout, node.Stderr = &said, &said
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, 30*time.Second, "the health check succeeds", func() bool {
		check := inside(t.Context(), img.healthcheck[1:], "--server", "http://"+address)
		return check.Run() == nil
	})
	if err := errors.Join(node.Process.Signal(syscall.SIGTERM), node.Wait()); err != nil {
		t.Errorf("its end: %v\n%s", err, said.String())
	}
	requireWrittenIn(t, image, "data", "usr/bin/fanfold", "etc/ssl/certs/ca-certificates.crt")
}

func number(t *testing.T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// layOut does what a COPY of the last stage does: from what was built where it names that, else from this machine.
func layOut(t *testing.T, c *instructions.CopyCommand, out, image string) {
	t.Helper()
	source := c.SourcePaths[0]
	if built, ok := strings.CutPrefix(source, "/out/"); ok {
		source = filepath.Join(out, built)
	}
	to := filepath.Join(image, c.DestPath)
	info, err := os.Stat(source)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !strings.HasPrefix(source, out):
		return // this machine need not have what the image that is built in has
	case err != nil:
		t.Fatal(err)
	case info.IsDir():
		err = os.MkdirAll(to, 0o755)
	default:
		err = copyFile(source, to)
	}
	if err = errors.Join(err, os.Chmod(to, 0o755)); err == nil && c.Chown != "" {
		uid, gid, _ := strings.Cut(c.Chown, ":")
		err = os.Chown(to, int(number(t, uid)), int(number(t, gid)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// requireWrittenIn fails the test where there are files besides those that are listed, or below a directory that is.
func requireWrittenIn(t *testing.T, image string, allowed ...string) {
	t.Helper()
	err := filepath.WalkDir(image, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(image, path)
		for _, a := range allowed {
			if rel == a || strings.HasPrefix(rel, a+"/") {
				return err
			}
		}
		t.Errorf("%s was written", rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
