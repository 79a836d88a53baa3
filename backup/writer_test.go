package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// failing are files of which one operation fails, and, where the process crashes with it, all that follow.
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

func (f *failing) write(path string, content []byte) error {
	return f.do(func() error { return f.files.write(path, content[:len(content)/2]) }, func() error { return f.files.write(path, content) })
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

// TestCrashAtEveryWriteOfABackup: whichever operation on files fails, the directory holds the backup from before or the new one, whole. The
// next run succeeds and leaves no other file. So it does where the process goes on and cleans up, as on a full disk.
func TestCrashAtEveryWriteOfABackup(t *testing.T) {
	const before, after = 250, 450
	base := t.TempDir()
	next := stream(t, 200, after, made)
	first := stream(t, 0, before, made)
	whole := stream(t, 0, after, made)
	for _, had := range []bool{false, true} {
		for mode := range 6 {
			for k, failed := 1, true; failed; k++ {
				dir := filepath.Join(base, fmt.Sprintf("%v-%d-%d", had, mode, k))
				in := whole
				if had {
					if err := Unpack(bytes.NewReader(first), dir); err != nil {
						t.Fatal(err)
					}
					in = next
				}
				f := &failing{files: disk{}, left: k, part: mode % 3, crashes: mode < 3, err: syscall.ENOSPC}
				failed = failAt(t, dir, f, in, had)
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// failAt writes a backup with files that fail, and checks what is there afterwards. It returns whether an operation failed.
func failAt(t *testing.T, dir string, f *failing, in []byte, had bool) bool {
	t.Helper()
	w, err := OpenWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	w.files = f
	_, err = w.Receive(context.Background(), bytes.NewReader(in), nil)
	if err != nil && (!errors.Is(err, syscall.ENOSPC) || fanfold.CodeOf(err) != fanfold.Unavailable) {
		t.Errorf("%v, want that the disk is full", err)
	}
	_ = w.Close()
	b, opened := Open(dir)
	switch {
	case opened == nil:
		if err := b.Check(context.Background(), nil); err != nil {
			t.Error(err)
		}
		if err == nil && b.Position != 450 || b.Position != 450 && b.Position != 250 {
			t.Errorf("the backup ends with %d, and the run with %v", b.Position, err)
		}
	case had || err == nil || fanfold.CodeOf(opened) != fanfold.NotFound:
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
	again := in
	if at := w.After().Seq; at != 0 && !had || at > 200 {
		again = stream(t, at, 450, made)
	}
	m, err := w.Receive(context.Background(), bytes.NewReader(again), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Join(dir, segmentsDir))
	if err != nil || len(files) != len(m.Segments) {
		t.Errorf("%d files of %d segments: %v", len(files), len(m.Segments), err)
	}
	if b, err = Open(dir); err != nil || b.Position != 450 {
		t.Fatalf("the next run: %v", err)
	}
	if err := b.Check(context.Background(), nil); err != nil {
		t.Error(err)
	}
	return true
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
