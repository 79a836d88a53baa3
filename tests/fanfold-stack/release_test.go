//go:build stack

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// dist has the files of a release.
const dist = root + "/dist"

// output runs a command and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// only returns the one file of a release that a pattern finds.
func only(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s finds %v, %v", pattern, found, err)
	}
	return found[0]
}

// TestRelease: the files of a snapshot that make test-release has made are whole, and what they say they are. The deb installs in a fresh Debian, and
// the service's command runs there as its user.
func TestRelease(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a root directory of its own takes root")
	}
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
	cmd.Dir = dist
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		t.Run(arch, func(t *testing.T) { requireProgram(t, arch, machine) })
	}
	t.Run("rpm", requireRPM)
	t.Run("image", requireLayout)
	t.Run("service", requireService)
	t.Run("deb", requireDeb)
}

// requireProgram fails the test if an architecture's archive has no program that runs without any other file, or its bill of materials lacks modules.
func requireProgram(t *testing.T, arch string, machine elf.Machine) {
	f, err := os.Open(only(t, "fanfold-*-linux-"+arch+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpack(t, z, dir)
	programs, err := filepath.Glob(dir + "/*/fanfold")
	if err != nil || len(programs) != 1 {
		t.Fatal(programs, err)
	}
	x, err := elf.Open(programs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	if x.Machine != machine || slices.ContainsFunc(x.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("it is for %s, or needs a loader", x.Machine)
	}
	run := []string{programs[0], "--version"}
	if arch != runtime.GOARCH {
		run = append([]string{"qemu-aarch64-static"}, run...)
	}
	commit := strings.TrimSpace(output(t, "git", "-C", root, "rev-parse", "HEAD"))
	if line := output(t, run[0], run[1:]...); !strings.Contains(line, "commit "+commit[:12]) || !strings.Contains(line, "linux/"+arch+", fold ") {
		t.Errorf("its version is %s", line)
	}
	var bill struct {
		Components []struct{ Name, Version string }
	}
	text := read(t, only(t, "fanfold-*-linux-"+arch+".cdx.json"))
	if err := json.Unmarshal([]byte(text), &bill); err != nil || len(bill.Components) < 50 || !strings.Contains(text, "github.com/mattn/go-sqlite3") || !strings.Contains(text, "Apache-2.0") {
		t.Errorf("the bill of materials has %d modules, %v", len(bill.Components), err)
	}
}

// unpack writes the files of a tar archive into a directory.
func unpack(t *testing.T, r io.Reader, dir string) {
	t.Helper()
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if err == nil && h.Typeflag == tar.TypeReg {
			var text []byte
			if text, err = io.ReadAll(archive); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, h.FileInfo().Mode()))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func requireRPM(t *testing.T) {
	for _, arch := range []string{"x86_64", "aarch64"} {
		files := output(t, "rpm", "--query", "--package", "--list", only(t, "fanfold-*."+arch+".rpm"))
		for _, want := range []string{"/usr/bin/fanfold", "/usr/lib/systemd/system/fanfold.service", "/etc/default/fanfold", "/usr/share/doc/fanfold/copyright", "/usr/share/bash-completion/completions/fanfold"} {
			if !slices.Contains(strings.Fields(files), want) {
				t.Errorf("the rpm for %s has no %s:\n%s", arch, want, files)
			}
		}
	}
}

// requireLayout fails the test if the image is not one for both platforms, with the Dockerfile's user, volume and command.
func requireLayout(t *testing.T) {
	f, err := os.Open(only(t, "fanfold-*-image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := t.TempDir()
	unpack(t, f, dir)
	type descriptor struct {
		Digest   string
		Platform struct{ OS, Architecture string }
	}
	var index struct{ Manifests []descriptor }
	blob := func(digest string, into any) {
		path := dir + "/index.json"
		if digest != "" {
			path = dir + "/blobs/" + strings.Replace(digest, ":", "/", 1)
		}
		if err := json.Unmarshal([]byte(read(t, path)), into); err != nil {
			t.Fatal(err)
		}
	}
	blob("", &index)
	if len(index.Manifests) != 1 {
		t.Fatalf("%+v", index)
	}
	blob(index.Manifests[0].Digest, &index)
	var platforms []string
	for _, m := range index.Manifests {
		platforms = append(platforms, m.Platform.OS+"/"+m.Platform.Architecture)
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		blob(m.Digest, &manifest)
		var config struct {
			Config struct {
				User            string
				Entrypoint, Cmd []string
				Labels          map[string]string
				Volumes         map[string]any
			}
		}
		blob(manifest.Config.Digest, &config)
		c := config.Config
		if c.User != "65532:65532" || !slices.Equal(append(c.Entrypoint, c.Cmd...), []string{"/usr/bin/fanfold", "serve"}) || c.Volumes["/data"] == nil || c.Labels["org.opencontainers.image.licenses"] != "Apache-2.0" {
			t.Errorf("%+v", c)
		}
		layer, err := os.Open(dir + "/blobs/" + strings.Replace(manifest.Layers[0].Digest, ":", "/", 1))
		if err != nil {
			t.Fatal(err)
		}
		defer layer.Close()
		z, err := gzip.NewReader(layer)
		if err != nil {
			t.Fatal(err)
		}
		files := t.TempDir()
		unpack(t, z, files)
		if licences := read(t, files+"/usr/share/doc/fanfold/LICENSES"); !strings.Contains(licences, "==== github.com/mattn/go-sqlite3 ") || len(read(t, files+"/etc/ssl/certs/ca-certificates.crt")) < 10_000 {
			t.Error("the image lacks licences or authorities")
		}
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("the image is for %v", platforms)
	}
}

// requireService fails the test if systemd does not take the service, or finds it exposed.
func requireService(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	output(t, "systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", root+"/deploy/release/fanfold.service")
}

// setting returns the values of a setting of the service.
func setting(t *testing.T, unit, name string) (values []string) {
	t.Helper()
	for line := range strings.Lines(read(t, unit)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			values = append(values, strings.Fields(value)...)
		}
	}
	return values
}

// requireDeb installs the deb in a fresh Debian, runs the service's command there, and removes the package.
func requireDeb(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the deb for this architecture is not installed")
	}
	dir := filepath.Join(t.TempDir(), "root")
	mirror := strings.Fields(output(t, "apt-get", "indextargets", "--format", "$(REPO_URI) $(COMPONENT) $(CODENAME)", "Identifier: Packages"))
	if len(mirror) < 3 {
		t.Fatal(mirror)
	}
	output(t, "debootstrap", "--variant=minbase", strings.TrimSuffix(mirror[2], "-updates"), dir, mirror[0])
	output(t, "cp", only(t, "fanfold_*_amd64.deb"), dir+"/fanfold.deb")
	output(t, "chroot", dir, "dpkg", "--install", "/fanfold.deb")
	unit := dir + "/usr/lib/systemd/system/fanfold.service"
	state := filepath.Join("/var/lib", setting(t, unit, "StateDirectory")[0])
	user := setting(t, unit, "User")[0]
	output(t, "chroot", dir, "install", "--directory", "--mode=0700", "--owner="+user, "--group="+user, state) // as systemd does
	args := slices.Concat([]string{"--userspec=" + user + ":" + user, dir, "/usr/bin/env", "--ignore-environment", "FANFOLD_LISTEN=127.0.0.1:0"}, setting(t, unit, "Environment"), setting(t, unit, "ExecStart"))
	cmd := exec.CommandContext(t.Context(), "chroot", args...)
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var url string
	var said bytes.Buffer
	lines := bufio.NewScanner(logs)
	for url == "" && lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		for _, word := range strings.Fields(lines.Text()) {
			if at, ok := strings.CutPrefix(word, "url="); ok {
				url = at
			}
		}
	}
	if url == "" {
		t.Fatalf("it is not ready: %v\n%s", cmd.Wait(), &said)
	}
	go func() { _, _ = io.Copy(io.Discard, logs) }()
	request(t, http.MethodPut, url+"/v1/books/b1", `{"title":"Emma"}`, http.StatusCreated)
	if body := request(t, http.MethodGet, url+"/v1/books/b1", "", http.StatusOK); !strings.Contains(body, "Emma") {
		t.Errorf("it answers %s", body)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	uid := strings.TrimSpace(output(t, "chroot", dir, "id", "--user", user))
	if uid == "0" {
		t.Error("it runs as root")
	}
	files := strings.Fields(output(t, "find", dir+state, "-mindepth", "1", "-printf", "%U "))
	if len(files) < 5 || slices.ContainsFunc(files, func(owner string) bool { return owner != uid }) {
		t.Errorf("the files in %s belong to %v, and not to %s", state, files, uid)
	}
	if mode := output(t, "stat", "--format=%a", dir+state); strings.TrimSpace(mode) != strconv.FormatInt(0o700, 8) {
		t.Errorf("%s has mode %s", state, mode)
	}
	if said := output(t, "chroot", dir, "dpkg", "--purge", "fanfold"); !strings.Contains(said, "is still there") {
		t.Errorf("a purge says\n%s", said)
	}
	if _, err := os.Stat(dir + state + "/nats"); err != nil {
		t.Errorf("a purge has removed the data: %v", err)
	}
}

// request sends a request, and returns the body of the answer.
func request(t *testing.T, method, url, body string, want int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		t.Fatalf("%s %s: %d, %v\n%s", method, url, resp.StatusCode, err, text)
	}
	return string(text)
}
