package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold"
)

// write makes a backup up to a sequence in a directory, or continues the one in it.
func write(t testing.TB, dir string, last uint64) (*Manifest, error) {
	t.Helper()
	w, err := OpenWriter(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	return w.Receive(context.Background(), bytes.NewReader(stream(t, w.After().Seq, last, made)), nil)
}

// TestContinue: a backup into the same directory keeps whole segments, makes the last one anew, and leaves no other file.
func TestContinue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "backup")
	var before *Manifest
	for _, last := range []uint64{0, 0, 10, 10, 250, 253, 410, 500, 600} {
		m, err := write(t, dir, last)
		if err != nil {
			t.Fatal(err)
		}
		requireEvents(t, dir, 0, last)
		if before != nil {
			for i := range max(len(before.Segments)-1, 0) {
				if m.Segments[i] != before.Segments[i] {
					t.Errorf("segment %d was made anew", i)
				}
			}
		}
		files, err := os.ReadDir(filepath.Join(dir, segmentsDir))
		if err != nil || len(files) != len(m.Segments) {
			t.Errorf("%d files of %d segments: %v", len(files), len(m.Segments), err)
		}
		before = m
	}
}

// TestRefused: a directory of something else is left as it is.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := write(t, dir, 250); err != nil {
		t.Fatal(err)
	}
	receive := func(after, last uint64, change func(*Manifest), first uint64) error {
		w, err := OpenWriter(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer closed(t, w)
		begin := Point{after, digestUpTo(after)}
		var out bytes.Buffer
		s, err := NewStream(&out, begin, made)
		s.b.most = testSegment
		for seq := after + 1; err == nil && seq <= last; seq++ {
			ev := event(seq)
			if seq == first {
				ev.Payload = []byte("{}")
			}
			err = s.Add(ev)
		}
		m := Manifest{Store: testStore, After: &begin}
		change(&m)
		if err = errors.Join(err, s.Finish(m)); err != nil {
			t.Fatal(err)
		}
		_, err = w.Receive(context.Background(), &out, nil)
		return err
	}
	same := func(*Manifest) {}
	for _, c := range []struct {
		name string
		err  error
		code fanfold.Code
	}{
		{"another store", receive(200, 300, func(m *Manifest) { m.Store = "aaaaaaaa" }, 0), fanfold.StoreChanged},
		{"another event before the end", receive(200, 300, same, 249), fanfold.LogDamaged},
		{"a shorter log", receive(200, 240, same, 0), fanfold.LogDamaged},
		{"from elsewhere", receive(100, 300, same, 0), fanfold.Invalid},
	} {
		if c.err == nil || fanfold.CodeOf(c.err) != c.code {
			t.Errorf("%s: %v, want %s", c.name, c.err, c.code)
		}
		requireEvents(t, dir, 0, 250)
	}
	w, err := OpenWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, w)
	if _, err := OpenWriter(dir); fanfold.CodeOf(err) != fanfold.Conflict {
		t.Errorf("a second writer: %v, want %s", err, fanfold.Conflict)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenWriter(other); fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("a directory with other files: %v, want %s", err, fanfold.Invalid)
	}
}

// failing are files with one operation that fails, and, if the process crashes with it, all that follow.
type failing struct {
	files
	left    int // operations until it fails
	part    int // of an operation that is done before it fails: 0 none of it, 1 half of it, 2 all of it
	crashes bool
	err     error
	failed  bool
}

func (f *failing) do(half, whole func() error) error {
	f.left--
	switch {
	case f.left > 0 || f.failed && !f.crashes:
		return whole()
	case f.failed || f.part == 0:
	case f.part == 1:
		_ = half()
	default:
		_ = whole()
	}
	f.failed = true
	return f.err
}

func (f *failing) write(path string, content io.Reader) error {
	all, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return f.do(func() error { return f.files.write(path, bytes.NewReader(all[:len(all)/2])) }, func() error { return f.files.write(path, bytes.NewReader(all)) })
}

func (f *failing) rename(from, to string) error {
	return f.do(func() error { return nil }, func() error { return f.files.rename(from, to) })
}

func (f *failing) sync(dir string) error {
	return f.do(func() error { return nil }, func() error { return f.files.sync(dir) })
}

func (f *failing) remove(path string) error {
	return f.do(func() error { return nil }, func() error { return f.files.remove(path) })
}

// crashed is a backup that is written, in a directory that holds another one or none.
type crashed struct {
	name     string
	had      []byte // the stream of the backup that is there, nil for none
	position uint64 // of that
	again    func(w *Writer) []byte
}

// TestCrashAtEveryWriteOfABackup: whichever operation on files fails, the directory holds the backup from before or the new one, whole. The
// next run succeeds and leaves no other file. So it does where the process goes on and cleans up, as on a full disk.
func TestCrashAtEveryWriteOfABackup(t *testing.T) {
	const before, after = 250, 450
	digestUpTo(after) // before several go on
	plain := func(w *Writer) []byte { return stream(t, w.After().Seq, after, made) }
	newer := func(seq uint64) func(w *Writer) []byte {
		base, file := testBase(seq)
		sent := map[Point][]byte{} // by what the directory needs
		return func(w *Writer) []byte {
			needs := Point{Seq: max(seq, w.After().Seq)}
			file := file
			if w.HasBase() == seq {
				file, needs.Digest[0] = nil, 1
			}
			if sent[needs] == nil {
				sent[needs] = streamOf(t, needs.Seq, after, made, base, file)
			}
			return sent[needs]
		}
	}
	older, olderFile := testBase(30)
	based := streamOf(t, 30, before, made, older, olderFile)
	for _, c := range []crashed{
		{"the first backup", nil, 0, plain},
		{"another backup", stream(t, 0, before, made), before, plain},
		{"the first backup with a base", nil, 0, newer(120)},
		{"a base within a segment", stream(t, 0, before, made), before, newer(120)},
		{"a base between segments", stream(t, 0, before, made), before, newer(200)},
		{"a base after the end", stream(t, 0, before, made), before, newer(300)},
		{"a newer base", based, before, newer(150)},
		{"the same base", based, before, newer(30)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for mode := range 6 {
				for k, failed := 1, true; failed; k++ {
					dir := t.TempDir()
					if c.had != nil {
						if err := Unpack(bytes.NewReader(c.had), dir); err != nil {
							t.Fatal(err)
						}
					}
					f := &failing{files: disk{}, left: k, part: mode % 3, crashes: mode < 3, err: syscall.ENOSPC}
					failed = c.failAt(t, dir, f, after)
				}
			}
		})
	}
}

// failAt writes a backup with files that fail, and checks what is there afterwards. It returns whether an operation failed.
func (c *crashed) failAt(t *testing.T, dir string, f *failing, last uint64) bool {
	t.Helper()
	w, err := OpenWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	w.files = f
	_, err = w.Receive(context.Background(), bytes.NewReader(c.again(w)), nil)
	if err != nil && (!errors.Is(err, syscall.ENOSPC) || fanfold.CodeOf(err) != fanfold.Unavailable) {
		t.Errorf("%v, want that the disk is full", err)
	}
	_ = w.Close()
	b, opened := Open(dir)
	switch {
	case opened == nil:
		requireEvents(t, dir, b.begins().Seq, b.Position)
		if err == nil && b.Position != last || b.Position != last && b.Position != c.position {
			t.Errorf("the backup ends with %d, and the run with %v", b.Position, err)
		}
	case c.had != nil || err == nil || fanfold.CodeOf(opened) != fanfold.NotFound:
		t.Errorf("after %v: %v", err, opened)
	}
	if !f.failed {
		return false
	}
	w, err = OpenWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, w)
	m, err := w.Receive(context.Background(), bytes.NewReader(c.again(w)), nil)
	if err != nil {
		t.Fatal(err)
	}
	requireOnlyFiles(t, dir, m)
	requireEvents(t, dir, m.begins().Seq, last)
	return true
}

// requireOnlyFiles requires that a directory has the files of a manifest, and no others.
func requireOnlyFiles(t *testing.T, dir string, m *Manifest) {
	t.Helper()
	var names []string
	for _, sub := range []string{segmentsDir, baseDir} {
		found, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, f := range found {
			names = append(names, sub+"/"+f.Name())
		}
	}
	for _, f := range m.files() {
		if !slices.Contains(names, f.name) {
			t.Errorf("%s is missing", f.name)
		}
	}
	if len(names) != len(m.files()) {
		t.Errorf("the directory has %q", names)
	}
}

// TestCancelled: a run that is cancelled leaves the backup from before.
func TestCancelled(t *testing.T) {
	dir := t.TempDir()
	w, err := OpenWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, w)
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := w.Receive(ctx, bytes.NewReader(stream(t, 0, 350, made)), func(uint64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if files, err := os.ReadDir(filepath.Join(dir, segmentsDir)); err != nil || len(files) > 0 {
		t.Errorf("%d files stay: %v", len(files), err)
	}
}

// closed closes a writer, and fails the test where that fails.
func closed(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
