package backup

import (
	"bytes"
	"context"
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
	added []string  // files that the manifest does not name yet
	anew  bool      // the backup is written anew, because of an erasure
}

// OpenWriter opens a directory, which it makes where there is none, and locks it. The caller closes the writer. It returns Invalid
// for a directory that holds other files than a backup's, and Damage if the backup in it is not whole. It is Conflict while another
// process writes into it, and Unavailable.
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
	if w.old != nil {
		w.clean() // what a run has left that was killed
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
	for _, f := range old.files() {
		if info, err := os.Stat(w.path(f.name)); err != nil || info.Size() != f.bytes {
			return damaged(f.name, f.event, "the file is missing, or has another size than the manifest says")
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
		if !slices.Contains([]string{segmentsDir, baseDir, manifestFile + temporary}, e.Name()) {
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
	if w.old == nil || w.anew {
		return Point{}
	}
	if n := len(w.old.Segments); n > 1 {
		return Point{w.old.Segments[n-2].Last, w.old.Segments[n-2].Digest}
	}
	return w.old.begins()
}

// HasBase returns the last event up to which the base stands that the directory holds, 0 for none.
func (w *Writer) HasBase() uint64 {
	if w.old == nil || w.anew || !w.old.hasBase() {
		return 0
	}
	return w.old.Base.Seq
}

// Receive reads a stream of the events after After, and adds them to the backup. A stream may begin with a newer base. The backup begins there then, and the events up to
// it go. It tells progress, which may be nil, the last event that it has. It holds one segment in memory, and returns the new manifest once that is durable. Errors are
// StoreChanged for a stream of another store, LogDamaged where the stream does not continue the backup, Damage for a stream that is not whole, ctx's, and Unavailable. A
// stream that was made after another erasure than the backup, and does not begin with the log, is ErrErased: After and HasBase then say what is wanted. After an error
// the directory holds the backup from before.
func (w *Writer) Receive(ctx context.Context, stream io.Reader, progress func(last uint64)) (m *Manifest, err error) {
	defer func() {
		if err != nil {
			w.discard()
		}
	}()
	in := newStreamReader(stream)
	came, err := w.receiveFiles(ctx, in, progress)
	if err != nil {
		return nil, err
	}
	if m, err = in.decoded(); err != nil {
		return nil, err
	}
	if err := m.describes(came); err != nil {
		return nil, err
	}
	switch {
	case w.old == nil:
		err = w.checkBegins(m)
	case m.Erasure != w.old.Erasure:
		err = w.checkErased(ctx, m)
	default:
		if err = w.checkContinues(ctx, m); err == nil {
			m, err = w.joined(m)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := w.writeManifest(m); err != nil {
		return nil, err
	}
	w.old, w.anew = m, false
	w.clean()
	return m, nil
}

// receiveFiles writes the files of a stream into the directory, and returns their hashes.
func (w *Writer) receiveFiles(ctx context.Context, in *streamReader, progress func(uint64)) (came map[string]fanfold.Digest, err error) {
	came = map[string]fanfold.Digest{}
	for {
		name, content, err := in.next()
		if err != nil || name == "" {
			return came, errors.Join(err, ctx.Err())
		}
		if came[name], err = w.writeFile(name, content); err != nil {
			return came, errors.Join(err, ctx.Err())
		}
		if err := ctx.Err(); err != nil {
			return came, err
		}
		if _, last := segmentEnds(name); progress != nil && last > 0 {
			progress(last)
		}
	}
}

// segmentEnds returns the first and the last event of a segment by its file's name, 0 for another file.
func segmentEnds(name string) (first, last uint64) {
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, segmentsDir+"/"), "%020d-%020d-", &first, &last); err != nil {
		return 0, 0
	}
	return first, last
}

// contentName returns the name that a segment or a base with a hash has, where another file is called name.
func contentName(name string, sum fanfold.Digest) string {
	if first, last := segmentEnds(name); last > 0 {
		return segmentFile(first, last, sum)
	}
	var seq uint64
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, baseDir+"/"), "%020d-", &seq); err != nil {
		return ""
	}
	return baseFile(seq, sum)
}

// describes returns Damage if the files that came are not the manifest's.
func (m *Manifest) describes(came map[string]fanfold.Digest) error {
	right := !m.hasBase() || came[m.Base.File] == m.Base.SHA256
	for _, s := range m.Segments {
		right = right && came[s.File] == s.SHA256
	}
	if !right {
		return damaged(manifestFile, 0, "it does not describe the files as they came")
	}
	return nil
}

// checkBegins returns Invalid for a stream that only continues another backup.
func (w *Writer) checkBegins(m *Manifest) error {
	if m.After != nil {
		return fanfold.Errorf(fanfold.Invalid, "the stream begins after event %d, and %s holds no backup that it continues", m.After.Seq, w.dir)
	}
	return nil
}

// checkContinues returns an error where what came does not continue the backup that is there.
func (w *Writer) checkContinues(ctx context.Context, m *Manifest) error {
	old := w.old
	switch {
	case m.Store != old.Store:
		return fanfold.Errorf(fanfold.StoreChanged, "%s holds a backup of store %s, and this is store %s: take another directory", w.dir, old.Store, m.Store)
	case w.beginsAnew(m):
	case m.begins().Seq != w.After().Seq:
		return fanfold.Errorf(fanfold.Invalid, "the stream begins after event %d, and %s needs what comes after event %d", m.begins().Seq, w.dir, w.After().Seq)
	case m.begins() != w.After():
		return notContinued(w.dir, w.After().Seq)
	}
	switch {
	case m.Position < old.Position:
		return fanfold.Errorf(fanfold.LogDamaged, "%s holds events up to %d, and the log ends with %d: it has lost some, or this node lags", w.dir, old.Position, m.Position)
	case m.Base != nil && !m.hasBase() && (old.Base == nil || old.Base.Point != m.Base.Point):
		return fanfold.Errorf(fanfold.Invalid, "the stream comes without its base of event %d, which %s does not have: begin anew", m.Base.Seq, w.dir)
	}
	chain, err := w.chainAt(ctx, m, old.Position)
	if err == nil && chain != old.Digest && m.begins().Seq <= old.Position {
		err = notContinued(w.dir, old.Position)
	}
	return err
}

// beginsAnew tells whether a stream begins with a base that is after all that the directory keeps.
func (w *Writer) beginsAnew(m *Manifest) bool {
	return m.After == nil && m.hasBase() && m.Base.Seq > w.After().Seq
}

// chainAt returns the digest of all events up to one that a stream has. It reads the segments that came, as far as that event.
func (w *Writer) chainAt(ctx context.Context, m *Manifest, seq uint64) (chain fanfold.Digest, err error) {
	b := Backup{*m, w.dir}
	b.Segments = nil
	for _, s := range m.Segments {
		if s.First <= seq {
			b.Segments = append(b.Segments, s)
		}
	}
	chain = m.begins().Digest
	return chain, b.digests(ctx, func(at Point) {
		if at.Seq == seq {
			chain = at.Digest
		}
	})
}

// notContinued is the error for a log whose events differ from the backup's.
func notContinued(dir string, seq uint64) error {
	return fanfold.Errorf(fanfold.LogDamaged, "the log does not continue the backup in %s: up to event %d it has other events; take another directory, and keep this one", dir, seq)
}

// joined returns the manifest of what the directory holds with the segments that m names. It makes a segment anew within which the log begins by
// now.
func (w *Writer) joined(m *Manifest) (*Manifest, error) {
	if w.beginsAnew(m) {
		return m, nil
	}
	out := *m
	out.After, out.Base = w.old.After, w.old.Base
	kept := w.old.Segments[:max(len(w.old.Segments)-1, 0)]
	if m.hasBase() && m.Base.Seq >= w.old.begins().Seq {
		out.After, out.Base = nil, m.Base
		var err error
		if kept, err = w.cut(kept, m.Base.Point); err != nil {
			return nil, err
		}
	}
	out.Segments = append(slices.Clone(kept), m.Segments...)
	out.Format = out.version()
	return &out, nil
}

// cut returns the segments without the events up to a point.
func (w *Writer) cut(segments []Segment, base Point) ([]Segment, error) {
	before := w.old.begins()
	for i, s := range segments {
		switch {
		case s.First > base.Seq:
			if before != base {
				return nil, notContinued(w.dir, base.Seq)
			}
			return segments[i:], nil
		case s.Last > base.Seq:
			rest, err := w.cutSegment(&s, before, base)
			return append([]Segment{rest}, segments[i+1:]...), err
		}
		before = Point{s.Last, s.Digest}
	}
	if before.Seq == base.Seq && before != base {
		return nil, notContinued(w.dir, base.Seq)
	}
	return nil, nil
}

// cutSegment writes a segment of the events of another one that come after a point. before is the point after which that one begins.
func (w *Writer) cutSegment(s *Segment, before, base Point) (rest Segment, err error) {
	o, err := newOpener(before)
	if err != nil {
		return rest, err
	}
	defer o.close()
	b, err := newBuilder(base)
	if err != nil {
		return rest, err
	}
	file, err := (&Backup{*w.old, w.dir}).read(s)
	if err != nil {
		return rest, err
	}
	err = o.check(file, s, func(ev *Event) error {
		switch {
		case ev.Seq == base.Seq && o.at != base:
			return notContinued(w.dir, base.Seq)
		case ev.Seq <= base.Seq:
			return nil
		}
		return b.add(ev, b.digestOf(ev))
	})
	if err != nil {
		return rest, err
	}
	rest, file, err = b.finish()
	if err == nil {
		_, err = w.writeFile(rest.File, bytes.NewReader(file))
	}
	return rest, err
}

func (w *Writer) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// writeFile writes a segment or a base, and returns its hash. One that is damaged on the disk is replaced so. It returns Damage for a content whose
// hash is not in the name.
func (w *Writer) writeFile(name string, content io.Reader) (fanfold.Digest, error) {
	path, in := w.path(name), newSum(content)
	w.added = append(w.added, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil { // a base's is not there yet
		return fanfold.Digest{}, unwritable(err)
	}
	if err := w.files.write(path+temporary, in); err != nil {
		return fanfold.Digest{}, unwritable(err)
	}
	if contentName(name, in.digest()) != name {
		return fanfold.Digest{}, damaged(name, 0, "its content is not the one that its name says")
	}
	return in.digest(), unwritable(w.files.rename(path+temporary, path))
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
	for _, dir := range []string{segmentsDir, baseDir, ".", ".."} { // which may have been made for it
		if dir == baseDir && !m.hasBase() {
			continue
		}
		if err := w.files.sync(w.path(dir)); err != nil {
			return unwritable(err)
		}
	}
	for _, step := range []func() error{
		func() error { return w.files.write(path+temporary, bytes.NewReader(text)) },
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

// clean removes segments and bases that the manifest does not name, and files that were not finished, as far as that is possible: the next run
// tries again. Files of other names stay.
func (w *Writer) clean() {
	keep := map[string]bool{}
	for _, f := range w.old.files() {
		keep[f.name] = true
	}
	for _, dir := range []string{segmentsDir, baseDir} {
		found, _ := os.ReadDir(w.path(dir)) // none where it cannot be read
		for _, e := range found {
			name := dir + "/" + e.Name()
			whole := strings.TrimSuffix(name, temporary)
			if (isSegmentFile(whole) || isBaseFile(whole)) && !keep[name] {
				_ = w.files.remove(w.path(name))
			}
		}
	}
}

// discard removes what was written for a backup that failed, as far as that is possible.
func (w *Writer) discard() {
	for _, name := range w.added {
		_ = w.files.remove(w.path(name) + temporary)
		if w.old == nil || !slices.ContainsFunc(w.old.files(), func(f namedFile) bool { return f.name == name }) {
			_ = w.files.remove(w.path(name))
		}
	}
	_ = w.files.remove(w.path(manifestFile + temporary))
	w.added = nil
}
