package foreign

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold"
)

// maxWindow bounds the memory of what zstd reads, in bytes: as much as zstd --long takes by itself.
const maxWindow = 128 << 20

// Unpacked returns the text of a stream, which may be compressed by gzip or zstd, and whether it is. The error is Invalid.
func Unpacked(in io.Reader) (text io.Reader, packed bool, err error) {
	return unpacked(bufio.NewReaderSize(in, 256<<10), maxWindow)
}

// Bounds of a compressed stream of somebody who is not trusted.
const (
	smallWindow = 8 << 20  // bytes of zstd's window: what its standard asks every reader for
	freeText    = 64 << 20 // bytes of text, whatever they were compressed to
	maxShare    = 250      // times what was read of the stream, beyond that
)

// UnpackedWithin does what Unpacked does for a stream of somebody who is not trusted. Reading ends with an Invalid where the text is far longer than
// what it was compressed to. decoded, which may be nil, takes away how the stream was compressed on its way; the bound is for both together.
func UnpackedWithin(in io.Reader, decoded func(io.Reader) io.Reader) (text io.Reader, packed bool, err error) {
	b := &bounded{from: in}
	stream := io.Reader(readerFunc(b.take))
	if decoded != nil {
		stream = decoded(stream)
	}
	text, packed, err = unpacked(bufio.NewReaderSize(stream, 256<<10), smallWindow)
	if err != nil || !packed && decoded == nil {
		return text, packed, err
	}
	b.text = text
	return readerFunc(b.give), packed, nil
}

// bounded compares how much a stream gives with how much is read of it.
type bounded struct {
	from, text  io.Reader
	read, given int64
}

// take reads from the stream.
func (b *bounded) take(p []byte) (int, error) {
	n, err := b.from.Read(p)
	b.read += int64(n)
	return n, err
}

// give reads the text. The error is Invalid, or the text's.
func (b *bounded) give(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if b.given += int64(n); b.given > freeText && b.given > maxShare*b.read {
		return 0, fanfold.Errorf(fanfold.Invalid, "what is compressed has more than %d times its length as text: send the text", maxShare)
	}
	return n, err
}

// readerFunc is a function that reads.
type readerFunc func(p []byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// unpacked returns the text of a stream, with a bound of zstd's window. The error is Invalid.
func unpacked(r *bufio.Reader, window uint64) (text io.Reader, packed bool, err error) {
	head, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fanfold.Wrap(err, fanfold.Invalid, "%v", err)
	}
	switch {
	case strings.HasPrefix(string(head), "\x1f\x8b"):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, true, fanfold.Wrap(err, fanfold.Invalid, "it begins as gzip does, and is none: %v", err)
		}
		return z, true, nil
	case string(head) == "\x28\xb5\x2f\xfd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, true, fanfold.Wrap(err, fanfold.Invalid, "it begins as zstd does, and is none: %v", err)
		}
		return z.IOReadCloser(), true, nil
	}
	return r, false, nil
}

// ends are how names of files end that are read, without the end for how they are compressed.
var ends = []string{".json", ".ndjson", ".jsonl"}

// maxFiles bounds the files of a directory.
const maxFiles = 8000

// directory is a directory with a file a collection.
type directory struct {
	path  string
	names []string // of the files that are yet to be read

	name, collection string // of the file that is being read
	file             *os.File
	read             func(int) // told of the bytes that are read; nil for nobody
}

// close closes the file that is being read.
func (d *directory) close() error {
	if d.file == nil {
		return nil
	}
	err := d.file.Close()
	d.file = nil
	return err
}

// OpenDir returns a reader of the files of a directory, by their names: each has the documents of the collection that it is called after.
// The first one is looked at. read, which may be nil, is told of the bytes that are read. The caller closes the reader. Errors are Invalid.
func OpenDir(path string, opt Options, read func(int)) (*Reader, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	names, left, err := Files(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{opt: opt, report: newReport(), files: &directory{path: path, names: names, read: read}}
	r.report.Files = left
	if err := r.nextFile(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Files returns the names of the files of a directory that are read, in order, and of those that are left out. The error is Invalid.
func Files(path string) (names, left []string, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, nil, unreadable(err)
	}
	for _, e := range entries {
		name := e.Name()
		plain := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
		switch {
		case e.IsDir():
			return nil, nil, fanfold.Errorf(fanfold.Invalid, "%s has the directory %s: import a directory whose files have a collection each", path, name)
		case strings.HasSuffix(plain, ".bson"):
			return nil, nil, refuseBinary(nil, name)
		case strings.HasSuffix(plain, ".csv"):
			return nil, nil, fanfold.Errorf(fanfold.Invalid, "%s has the CSV file %s: import it by itself, with a --mapping", path, name)
		case strings.HasPrefix(name, "."), strings.HasSuffix(plain, ".metadata.json"), !slices.Contains(ends, filepath.Ext(plain)):
			left = append(left, name)
		default:
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, nil, fanfold.Errorf(fanfold.Invalid, "%s has no file whose name ends with %s, also compressed as .gz or .zst", path, strings.Join(ends, ", "))
	case len(names) > maxFiles:
		return nil, nil, fanfold.Errorf(fanfold.Invalid, "%s has %d files; at most %d are read", path, len(names), maxFiles)
	}
	return names, left[:min(len(left), maxCounted)], nil
}

// Proposed returns a name for the collection of a file's documents, made from the file's name.
func Proposed(name string) string {
	base := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(filepath.Base(name)), ".gz"), ".zst")
	base = strings.TrimSuffix(base, filepath.Ext(base))
	collection := strings.TrimLeft(notOfName.ReplaceAllString(base, "-"), "-_0123456789")
	if fanfold.CheckCollection(collection) != nil {
		return "documents"
	}
	return collection
}

// notOfName matches what no name of a collection has.
var notOfName = regexp.MustCompile(`[^a-z0-9_-]+`)

// CollectionOf returns the collection that a file of a directory is called after. The error is Invalid.
func CollectionOf(name string) (string, error) {
	plain := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	collection := strings.TrimSuffix(plain, filepath.Ext(plain))
	if err := fanfold.CheckCollection(collection); err != nil {
		return "", fanfold.Errorf(fanfold.Invalid, "the file %s is called after no collection: %s", name, fanfold.MessageOf(err))
	}
	return collection, nil
}

// nextFile begins with the next file. The error is io.EOF after the last one, and Invalid.
func (r *Reader) nextFile() error {
	d := r.files
	if d == nil || len(d.names) == 0 {
		return io.EOF
	}
	d.name, d.names = d.names[0], d.names[1:]
	var err error
	if d.collection, err = CollectionOf(d.name); err != nil && r.opt.Collection == "" {
		return err
	}
	if d.file, err = os.Open(filepath.Join(d.path, d.name)); err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return fanfold.Wrap(err, fanfold.Invalid, "%s: %v", d.name, err)
	}
	text, _, err := Unpacked(&told{d.file, d.read})
	if err == nil {
		err = r.begin(text, d.name)
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "%s: %s", d.name, fanfold.MessageOf(err))
	}
	r.plain = nil
	return nil
}

// told is a file that tells how much of it is read.
type told struct {
	*os.File
	read func(int)
}

// Read implements io.Reader.
func (t *told) Read(p []byte) (int, error) {
	n, err := t.File.Read(p)
	if t.read != nil {
		t.read(n)
	}
	return n, err
}

// Close closes the file of a directory that is being read.
func (r *Reader) Close() error {
	if r.files == nil {
		return nil
	}
	return r.files.close()
}
