package backup

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/fanfold/fanfold"
)

// Bounds of a base.
const (
	maxBase     = 1 << 40 // bytes of its file, which is never in memory
	maxBaseName = 200     // bytes of its object's name
)

// Base says where a log begins whose first events are gone, and which file holds the state at that place. Version 1 of the format knows the
// point alone.
type Base struct {
	Point
	Event    fanfold.Digest   `json:"event,omitzero"`     // of the point's event
	Position fanfold.Position `json:"position,omitempty"` // of the last change up to the point
	Changes  int64            `json:"changes,omitempty"`  // how many there were up to it
	Time     time.Time        `json:"time,omitzero"`      // the latest time of an event up to it
	File     string           `json:"file,omitempty"`     // below the backup's directory; "" for none
	Name     string           `json:"name,omitempty"`     // of the object that the store has the file in
	Bytes    int64            `json:"bytes,omitempty"`    // of the file
	SHA256   fanfold.Digest   `json:"sha256,omitzero"`    // of the file
}

// NewBase returns the base at a horizon, whose state is in a file.
func NewBase(h fanfold.Horizon, f fanfold.BaseFile) *Base {
	return &Base{Point{h.Seq, h.Digest}, h.Event, h.Position, h.Changes, h.Time.UTC(), baseFile(h.Seq, f.Sum), f.Name, f.Bytes, f.Sum}
}

// Horizon returns the horizon that the base is of.
func (b *Base) Horizon() fanfold.Horizon {
	return fanfold.Horizon{Seq: b.Seq, Event: b.Event, Digest: b.Digest, Position: b.Position, Changes: b.Changes, Time: b.Time}
}

// Object returns the file as the store has it.
func (b *Base) Object() fanfold.BaseFile {
	return fanfold.BaseFile{Name: b.Name, Bytes: b.Bytes, Sum: b.SHA256}
}

// baseFile returns the name of the file of a base. It follows from the content.
func baseFile(seq uint64, sum fanfold.Digest) string {
	return fmt.Sprintf("%s/%020d-%x.base", baseDir, seq, sum[:8])
}

var baseFileRE = regexp.MustCompile(`^base/[0-9]{20}-[0-9a-f]{16}\.base$`)

// isBaseFile tells whether a name is one that the file of a base can have.
func isBaseFile(name string) bool { return baseFileRE.MatchString(name) }

// check returns Damage where the description contradicts itself.
func (b *Base) check() error {
	bare := Base{Point: b.Point}
	switch {
	case b.Seq == 0:
		return damaged(manifestFile, 0, "its base is before the first event")
	case b.File == "" && *b != bare:
		return damaged(manifestFile, b.Seq, "its base has no file")
	case b.File == "":
		return nil
	case b.File != baseFile(b.Seq, b.SHA256):
		return damaged(manifestFile, b.Seq, "%.100q is not the name of that base", b.File)
	case b.Bytes <= 0 || b.Bytes > maxBase || b.Name == "" || len(b.Name) > maxBaseName || b.Changes < 0 || b.Position.Seq() > b.Seq:
		return damaged(manifestFile, b.Seq, "%s is not described as a base can be", b.File)
	}
	return nil
}

// sum is a reader that counts and hashes what goes through it.
type sum struct {
	io.Reader
	bytes int64
	hash  interface {
		io.Writer
		Sum([]byte) []byte
	}
}

func newSum(r io.Reader) *sum { return &sum{Reader: r, hash: sha256.New()} }

// Read implements io.Reader.
func (s *sum) Read(b []byte) (n int, err error) {
	n, err = s.Reader.Read(b)
	s.bytes += int64(n)
	_, _ = s.hash.Write(b[:n]) // never fails
	return n, err
}

// digest returns the SHA-256 of what was read.
func (s *sum) digest() fanfold.Digest { return fanfold.Digest(s.hash.Sum(nil)) }

// baseReader reads the file of a base. In place of io.EOF, it returns Damage for a file that the manifest does not describe.
type baseReader struct {
	*sum
	base *Base
	file io.Closer
}

// Read implements io.Reader.
func (r *baseReader) Read(b []byte) (n int, err error) {
	n, err = r.sum.Read(b)
	switch {
	case r.bytes > r.base.Bytes:
		return n, damaged(r.base.File, r.base.Seq, "the file has more than the %d bytes that the manifest says", r.base.Bytes)
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, unreadable(err)
	case r.bytes < r.base.Bytes:
		return n, damaged(r.base.File, r.base.Seq, "the file has %d bytes, and the manifest says %d", r.bytes, r.base.Bytes)
	case r.digest() != r.base.SHA256:
		return n, damaged(r.base.File, r.base.Seq, "the SHA-256 of the file is not that of the manifest")
	}
	return n, io.EOF
}

// Close closes the file.
func (r *baseReader) Close() error { return r.file.Close() }

// OpenBase returns a reader of the base's file, which the backup must have. The caller closes it. Whoever gets io.EOF has read what the manifest
// describes; otherwise Read returns Damage. Errors are Damage for a file that is missing, and Unavailable.
func (b *Backup) OpenBase() (io.ReadCloser, error) {
	f, err := os.Open(filepath.Join(b.dir, filepath.FromSlash(b.Base.File)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(b.Base.File, b.Base.Seq, "the file is missing")
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return &baseReader{newSum(f), b.Base, f}, nil
}

// CheckBase reads the base's file through, if there is one. It returns the errors of Check.
func (b *Backup) CheckBase() error {
	if b.Base == nil || b.Base.File == "" {
		return nil
	}
	r, err := b.OpenBase()
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}
