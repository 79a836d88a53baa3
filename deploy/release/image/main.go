// Command image writes the container image of one release as an OCI image layout: one image for all platforms, without a registry or a
// daemon. docs/run/install.md says how to load it.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// user is who runs the program: the Dockerfile's.
const user = 65532

// release is what all platforms of an image have.
type release struct {
	version, revision string
	made              time.Time
	certificates      string // the file of the authorities by which the program knows others
	licences          string // the file with the licences of what is within
}

func run() error {
	var r release
	var epoch int64
	out := flag.String("out", "", "the directory of the layout, which must not be there")
	flag.StringVar(&r.version, "version", "", "the release")
	flag.StringVar(&r.revision, "revision", "", "the commit")
	flag.Int64Var(&epoch, "epoch", 0, "the time that files and labels have, in seconds since 1970")
	flag.StringVar(&r.certificates, "certificates", "/etc/ssl/certs/ca-certificates.crt", "a file of certificate authorities")
	flag.StringVar(&r.licences, "licences", "", "a file with the licences of what is within")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: image -out DIR -version V -licences FILE amd64=PROGRAM arm64=PROGRAM")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *out == "" || r.version == "" || r.licences == "" || flag.NArg() == 0 {
		flag.Usage()
		return errors.New("a parameter is missing")
	}
	r.made = time.Unix(epoch, 0).UTC()
	index := mutate.IndexMediaType(v1.ImageIndex(empty.Index), types.OCIImageIndex)
	for _, arg := range flag.Args() {
		arch, program, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is no ARCH=PROGRAM", arg)
		}
		image, err := r.image(arch, program)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	if _, err := os.Stat(*out); err == nil {
		return fmt.Errorf("%s is there already", *out)
	}
	at, err := layout.Write(*out, empty.Index)
	if err != nil {
		return err
	}
	return at.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version}))
}

// image returns the image of one platform.
func (r *release) image(arch, program string) (v1.Image, error) {
	files, err := r.files(program)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.made}, CreatedBy: "make release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: r.made}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), WorkingDir: "/data", Entrypoint: []string{"/usr/bin/fanfold"}, Cmd: []string{"serve"},
		Env: []string{"FANFOLD_DATA=/data", "TMPDIR=/data"}, ExposedPorts: map[string]struct{}{"8080": {}}, Volumes: map[string]struct{}{"/data": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "Fanfold",
			"org.opencontainers.image.description": "An event-sourced JSON document store that keeps declared copies right",
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.version":     r.version,
			"org.opencontainers.image.revision":    r.revision,
			"org.opencontainers.image.created":     r.made.Format(time.RFC3339),
		},
	}
	return mutate.ConfigFile(image, config)
}

// files returns the image's files as a tar archive. The same files give the same bytes.
func (r *release) files(program string) ([]byte, error) {
	from := map[string]string{
		"usr/bin/fanfold":                   program,
		"usr/share/doc/fanfold/LICENSES":    r.licences,
		"etc/ssl/certs/ca-certificates.crt": r.certificates,
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, dir := range []string{"data", "etc", "etc/ssl", "etc/ssl/certs", "usr", "usr/bin", "usr/share", "usr/share/doc", "usr/share/doc/fanfold"} {
		h := tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: r.made, Format: tar.FormatPAX}
		if dir == "data" {
			h.Uid, h.Gid = user, user
		}
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
	}
	names := make([]string, 0, len(from))
	for name := range from {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := os.ReadFile(from[name])
		if err != nil {
			return nil, err
		}
		mode := int64(0o644)
		if strings.HasPrefix(name, "usr/bin/") {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(text)), ModTime: r.made, Format: tar.FormatPAX}); err != nil {
			return nil, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
