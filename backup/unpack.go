package backup

import (
	"archive/tar"
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
	segments map[string]int64 // size, by file
	manifest []byte
}

// next returns the name and content of the next segment's file, and "" after the last one, when the manifest is read. Errors are Damage,
// and Unavailable where the stream cannot be read.
func (r *streamReader) next() (name string, content []byte, err error) {
	h, err := r.in.Next()
	if err != nil {
		return "", nil, badStream("", err)
	}
	limit := int64(maxFile)
	if h.Name == manifestFile {
		limit = MaxManifest
	} else if !isSegmentFile(h.Name) {
		return "", nil, damaged("the stream", 0, "%.100q is not a file of a backup", h.Name)
	}
	_, doubled := r.segments[h.Name]
	switch {
	case h.Typeflag != tar.TypeReg:
		return "", nil, damaged(h.Name, 0, "it is no ordinary file")
	case h.Size > limit:
		return "", nil, damaged(h.Name, 0, "it has more than %d bytes", limit)
	case doubled:
		return "", nil, damaged(h.Name, 0, "it comes twice")
	}
	if content, err = io.ReadAll(r.in); err != nil {
		return "", nil, badStream(h.Name, err)
	}
	if h.Name != manifestFile {
		r.segments[h.Name] = h.Size
		return h.Name, content, nil
	}
	r.manifest = content
	if _, err := r.in.Next(); !errors.Is(err, io.EOF) {
		return "", nil, damaged(h.Name, 0, "something follows it, or the stream was cut")
	}
	return "", nil, nil
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

// decoded returns the manifest, once next has returned "". All of its segments must have come, and no others.
func (r *streamReader) decoded() (*Manifest, error) {
	m, err := decodeManifest(r.manifest)
	if err != nil {
		return nil, err
	}
	for _, s := range m.Segments {
		if size, came := r.segments[s.File]; !came || size != s.Bytes {
			return nil, damaged(s.File, s.First, "it is missing, or has another size than the manifest says")
		}
	}
	if len(m.Segments) != len(r.segments) {
		return nil, damaged(manifestFile, 0, "it does not name all segments that came")
	}
	return m, nil
}

// newStreamReader returns a reader of a stream.
func newStreamReader(in io.Reader) *streamReader {
	return &streamReader{in: tar.NewReader(in), segments: map[string]int64{}}
}

var segmentFileRE = regexp.MustCompile(`^segments/[0-9]{20}-[0-9]{20}-[0-9a-f]{16}\.seg$`)

// isSegmentFile tells whether a name is one that a segment can have.
func isSegmentFile(name string) bool { return segmentFileRE.MatchString(name) }

// Unpack writes a stream of a backup into a directory, which is empty or is made. It holds one file in memory, and checks names, sizes and
// the manifest. Check reads what it wrote. Errors are Invalid for a directory that is not empty, Damage, and Unavailable.
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
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), content, 0o600); err != nil {
			return unwritable(err)
		}
	}
	if _, err := in.decoded(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, manifestFile), in.manifest, 0o600); err != nil {
		return unwritable(err)
	}
	return nil
}

// unwritable is the error of files that cannot be written.
func unwritable(err error) error {
	return fanfold.Wrap(err, fanfold.Unavailable, "the backup cannot be written: %v", err)
}
