package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/fanfold/fanfold"
)

// streamReader reads a stream of a backup: a tar of its directory, whose last file is the manifest.
type streamReader struct {
	in       *tar.Reader
	files    map[string]int64 // sizes of segments and of a base, by file
	manifest []byte
}

// next returns the name and the content of the next file, which the caller reads to its end. It returns "" after the last one, when the
// manifest is read. Errors are Damage, and Unavailable where the stream cannot be read; so are the content's.
func (r *streamReader) next() (name string, content io.Reader, err error) {
	h, err := r.in.Next()
	if err != nil {
		return "", nil, badStream("", err)
	}
	limit, err := largestFile(h.Name)
	if err != nil {
		return "", nil, err
	}
	_, doubled := r.files[h.Name]
	switch {
	case h.Typeflag != tar.TypeReg:
		return "", nil, damaged(h.Name, 0, "it is no ordinary file")
	case h.Size > limit:
		return "", nil, damaged(h.Name, 0, "it has more than %d bytes", limit)
	case doubled:
		return "", nil, damaged(h.Name, 0, "it comes twice")
	}
	content = streamFile{r.in, h.Name}
	if h.Name != manifestFile {
		r.files[h.Name] = h.Size
		return h.Name, content, nil
	}
	if r.manifest, err = io.ReadAll(content); err != nil {
		return "", nil, err
	}
	if _, err := r.in.Next(); !errors.Is(err, io.EOF) {
		return "", nil, damaged(h.Name, 0, "something follows it, or the stream was cut")
	}
	return "", nil, nil
}

// largestFile returns the most bytes that a file of a stream has. The error is Damage for a name that none has.
func largestFile(name string) (int64, error) {
	switch {
	case name == manifestFile:
		return MaxManifest, nil
	case isSegmentFile(name):
		return maxFile, nil
	case isBaseFile(name):
		return maxBase, nil
	}
	return 0, damaged("the stream", 0, "%.100q is not a file of a backup", name)
}

// streamFile is the content of a file of a stream.
type streamFile struct {
	in   *tar.Reader
	name string
}

// Read implements io.Reader.
func (f streamFile) Read(b []byte) (int, error) {
	n, err := f.in.Read(b)
	if err != nil && err != io.EOF { //nolint:errorlint // a reader at its end returns it as it is
		err = badStream(f.name, err)
	}
	return n, err
}

// badStream is the error of a stream that cannot be read. A source that fails by itself says why in its own way.
func badStream(name string, err error) error {
	var own *fanfold.Error
	switch {
	case errors.As(err, &own):
		return err
	case name == "":
		name = "the stream"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) {
		return damaged(name, 0, "the stream was cut before the manifest, or is none of a backup: %v", err)
	}
	return fanfold.Wrap(err, fanfold.Unavailable, "the stream of the backup ended early: %v", err)
}

// decoded returns the manifest, once next has returned "". All of its files must have come, and no others.
func (r *streamReader) decoded() (*Manifest, error) {
	m, err := decodeManifest(r.manifest)
	if err != nil {
		return nil, err
	}
	named := m.files()
	for _, f := range named {
		if size, came := r.files[f.name]; !came || size != f.bytes {
			return nil, damaged(f.name, f.event, "it is missing, or has another size than the manifest says")
		}
	}
	if len(named) != len(r.files) {
		return nil, damaged(manifestFile, 0, "it does not name all files that came")
	}
	return m, nil
}

// newStreamReader returns a reader of a stream.
func newStreamReader(in io.Reader) *streamReader {
	return &streamReader{in: tar.NewReader(in), files: map[string]int64{}}
}

var segmentFileRE = regexp.MustCompile(`^segments/[0-9]{20}-[0-9]{20}-[0-9a-f]{16}\.seg$`)

// isSegmentFile tells whether a name is one that a segment can have.
func isSegmentFile(name string) bool { return segmentFileRE.MatchString(name) }

// Unpack writes a stream of a backup into a directory, which is empty or is made. It checks names, sizes and the manifest. Check reads what it
// wrote. Errors are Invalid for a directory that is not empty, Damage, and Unavailable.
func Unpack(r io.Reader, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, segmentsDir), 0o700); err != nil {
		return unwritable(err)
	}
	for path, most := range map[string]int{dir: 1, filepath.Join(dir, segmentsDir): 0} {
		if found, err := os.ReadDir(path); err != nil || len(found) > most {
			return fanfold.Wrap(err, fanfold.Invalid, "%s is not an empty directory", dir)
		}
	}
	in := newStreamReader(r)
	for {
		name, content, err := in.next()
		if err != nil {
			return err
		}
		if name == "" {
			break
		}
		if err := unpackFile(filepath.Join(dir, filepath.FromSlash(name)), content); err != nil {
			return err
		}
	}
	if _, err := in.decoded(); err != nil {
		return err
	}
	return unpackFile(filepath.Join(dir, manifestFile), bytes.NewReader(in.manifest))
}

// unpackFile writes a file of a backup.
func unpackFile(path string, content io.Reader) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err != nil {
		return unwritable(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return unwritable(err)
	}
	_, err = io.Copy(f, content)
	return unwritable(errors.Join(err, f.Close()))
}

// unwritable is the error of files that cannot be written, nil for nil. A failure of a stream says why in its own way.
func unwritable(err error) error {
	var own *fanfold.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	return fanfold.Wrap(err, fanfold.Unavailable, "the backup cannot be written: %v", err)
}
