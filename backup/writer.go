package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/fanfold/fanfold"
)

// temporary ends the name of a file that is being written.
const temporary = ".tmp"

// Writer makes a backup in a directory, or continues the one that is there. Until Receive has returned nil, the directory holds the backup
// that it held before, also after a crash. One Writer at a time has a directory.
type Writer struct {
	dir   string
	files files
	lock  *os.File
	old   *Manifest // nil for none
	added []string  // segments' files that the manifest does not name yet
}

// OpenWriter opens a directory, which it makes where there is none, and locks it. The caller closes the writer. The error is Invalid
// for a directory that holds other files than those of a backup, and Damage where the backup in it is not whole. It is Conflict while
// another process writes into it, and Unavailable.
func OpenWriter(dir string) (*Writer, error) {
	if err := os.MkdirAll(filepath.Join(dir, segmentsDir), 0o700); err != nil {
		return nil, unwritable(err)
	}
	lock, err := os.Open(dir)
	if err != nil {
		return nil, unwritable(err)
	}
	w := &Writer{dir: dir, files: disk{}, lock: lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fanfold.Wrap(err, fanfold.Conflict, "another process writes a backup into %s", dir), lock.Close())
	}
	if err := w.readOld(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return w, nil
}

// Close releases the directory.
func (w *Writer) Close() error { return w.lock.Close() }

// readOld reads the manifest of the backup that is there, and looks whether its segments are.
func (w *Writer) readOld() error {
	old, err := Open(w.dir)
	if fanfold.CodeOf(err) == fanfold.NotFound {
		return w.checkEmpty()
	}
	if err != nil {
		return err
	}
	for _, s := range old.Segments {
		if info, err := os.Stat(w.path(s.File)); err != nil || info.Size() != s.Bytes {
			return damaged(s.File, s.First, "the file is missing, or has another size than the manifest says")
		}
	}
	w.old = &old.Manifest
	return nil
}

// checkEmpty returns Invalid where the directory holds something else than what a backup leaves that did not end.
func (w *Writer) checkEmpty() error {
	names, err := os.ReadDir(w.dir)
	if err != nil {
		return unwritable(err)
	}
	for _, e := range names {
		if e.Name() != segmentsDir && e.Name() != manifestFile+temporary {
			return fanfold.Errorf(fanfold.Invalid, "%s is no directory of a backup: it holds %q", w.dir, e.Name())
		}
	}
	return nil
}

// Old returns the manifest of the backup that the directory holds, nil for none.
func (w *Writer) Old() *Manifest { return w.old }

// After returns the point of the log after which the events are wanted. The last segment of the backup that is there is made anew, for
// more events may belong to it.
func (w *Writer) After() Point {
	if w.old == nil {
		return Point{}
	}
	if n := len(w.old.Segments); n > 1 {
		return Point{w.old.Segments[n-2].Last, w.old.Segments[n-2].Digest}
	}
	return w.old.begins()
}

// Receive reads a stream of the events after After, and adds them to the backup. It tells progress, which may be nil, the last event that it
// has. It holds one segment in memory, and returns the new manifest once that is durable. Errors are StoreChanged for a stream of another
// store, LogDamaged where the stream does not continue the backup, Damage for a stream that is not whole, ctx's, and Unavailable. After an
// error the directory holds the backup from before.
func (w *Writer) Receive(ctx context.Context, stream io.Reader, progress func(last uint64)) (m *Manifest, err error) {
	defer func() {
		if err != nil {
			w.discard()
		}
	}()
	in := newStreamReader(stream)
	came, err := w.segments(ctx, in, progress)
	if err != nil {
		return nil, err
	}
	if m, err = in.decoded(); err != nil {
		return nil, err
	}
	if err := w.checkContinues(m, came); err != nil {
		return nil, err
	}
	m = w.joined(m)
	if err := w.writeManifest(m); err != nil {
		return nil, err
	}
	w.old = m
	w.clean()
	return m, nil
}

// received is what came in a stream.
type received struct {
	segments []Segment
	chain    fanfold.Digest // of all events up to the end of the backup from before
}

// segments writes the segments of a stream into the directory.
func (w *Writer) segments(ctx context.Context, in *streamReader, progress func(uint64)) (came received, err error) {
	o, err := newOpener(w.After())
	if err != nil {
		return came, err
	}
	defer o.close()
	came.chain = o.at.Digest
	for {
		name, content, err := in.next()
		if err != nil || name == "" {
			return came, errors.Join(err, ctx.Err())
		}
		s, err := w.describe(o, name, content, &came.chain)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return came, err
		}
		if err := w.writeSegment(name, content); err != nil {
			return came, err
		}
		came.segments = append(came.segments, s)
		if progress != nil {
			progress(s.Last)
		}
	}
}

// describe returns what a segment's file holds by its name and hash. Its events are read only where the backup that is there may have them:
// chain becomes the digest of all events up to that one's end.
func (w *Writer) describe(o *opener, name string, content []byte, chain *fanfold.Digest) (s Segment, err error) {
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, segmentsDir+"/"), "%020d-%020d-", &s.First, &s.Last); err != nil {
		return s, damaged(name, 0, "its name is not that of a segment")
	}
	s.File, s.Bytes, s.SHA256 = name, int64(len(content)), sha256.Sum256(content)
	if name != segmentFile(s.First, s.Last, s.SHA256) {
		return s, damaged(name, s.First, "its content is not the one that its name says")
	}
	if w.old == nil || s.First > w.old.Position {
		return s, nil
	}
	got, err := o.read(name, content, func(ev *Event) error {
		if ev.Seq == w.old.Position {
			*chain = o.at.Digest
		}
		return nil
	})
	if err == nil && (got.First != s.First || got.Last != s.Last) {
		err = damaged(name, s.First, "its events are not those that its name says")
	}
	return s, err
}

// checkContinues returns an error where what came does not continue the backup that is there.
func (w *Writer) checkContinues(m *Manifest, came received) error {
	if !slices.EqualFunc(m.Segments, came.segments, func(a, b Segment) bool { return a.File == b.File && a.SHA256 == b.SHA256 }) {
		return damaged(manifestFile, 0, "it does not describe the segments as they came")
	}
	old := w.old
	if old == nil {
		if m.After != nil {
			return fanfold.Errorf(fanfold.Invalid, "the stream begins after event %d, and %s holds no backup that it continues", m.After.Seq, w.dir)
		}
		return nil
	}
	switch {
	case m.Store != old.Store:
		return fanfold.Errorf(fanfold.StoreChanged, "%s holds a backup of store %s, and this is store %s: take another directory", w.dir, old.Store, m.Store)
	case m.begins() != w.After():
		return notContinued(w.dir, w.After().Seq)
	case m.Position < old.Position:
		return fanfold.Errorf(fanfold.LogDamaged, "%s holds events up to %d, and the log ends with %d: it has lost some, or this node lags", w.dir, old.Position, m.Position)
	case came.chain != old.Digest:
		return notContinued(w.dir, old.Position)
	}
	return nil
}

// notContinued is the error for a log whose events differ from those of the backup.
func notContinued(dir string, seq uint64) error {
	return fanfold.Errorf(fanfold.LogDamaged, "the log does not continue the backup in %s: up to event %d it has other events; take another directory, and keep this one", dir, seq)
}

// joined returns the manifest of what the directory holds with the segments that m names.
func (w *Writer) joined(m *Manifest) *Manifest {
	if w.old == nil {
		return m
	}
	out := *m
	out.After, out.Base = w.old.After, w.old.Base
	kept := max(len(w.old.Segments)-1, 0)
	out.Segments = append(slices.Clone(w.old.Segments[:kept]), m.Segments...)
	return &out
}

func (w *Writer) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// writeSegment writes a segment's file. One that is damaged on the disk is replaced so.
func (w *Writer) writeSegment(name string, content []byte) error {
	path := w.path(name)
	w.added = append(w.added, name)
	if err := w.files.write(path+temporary, content); err != nil {
		return unwritable(err)
	}
	if err := w.files.rename(path+temporary, path); err != nil {
		return unwritable(err)
	}
	return nil
}

// writeManifest puts a manifest in place of the old one, once what it names is durable.
func (w *Writer) writeManifest(m *Manifest) error {
	text, err := m.encode()
	if err == nil {
		_, err = decodeManifest(text) // the next run must be able to read it
	}
	if err != nil {
		return err
	}
	path := w.path(manifestFile)
	for _, step := range []func() error{
		func() error { return w.files.sync(w.path(segmentsDir)) },
		func() error { return w.files.sync(filepath.Dir(w.dir)) }, // which may have been made for it
		func() error { return w.files.write(path+temporary, text) },
		func() error {
			w.added = nil // from here on, a manifest may name them
			return w.files.rename(path+temporary, path)
		},
		func() error { return w.files.sync(w.dir) },
	} {
		if err := step(); err != nil {
			return unwritable(err)
		}
	}
	return nil
}

// clean removes segments that the manifest does not name, and files that were not finished, as far as that is possible: the next run
// tries again. Files of other names stay.
func (w *Writer) clean() {
	keep := map[string]bool{}
	for _, s := range w.old.Segments {
		keep[s.File] = true
	}
	found, _ := os.ReadDir(w.path(segmentsDir)) // none where it cannot be read
	for _, e := range found {
		name := segmentsDir + "/" + e.Name()
		if isSegmentFile(strings.TrimSuffix(name, temporary)) && !keep[name] {
			_ = w.files.remove(w.path(name))
		}
	}
}

// discard removes what was written for a backup that failed, as far as that is possible.
func (w *Writer) discard() {
	for _, name := range w.added {
		_ = w.files.remove(w.path(name) + temporary)
		if w.old == nil || !slices.ContainsFunc(w.old.Segments, func(s Segment) bool { return s.File == name }) {
			_ = w.files.remove(w.path(name))
		}
	}
	_ = w.files.remove(w.path(manifestFile + temporary))
	w.added = nil
}
