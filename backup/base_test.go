package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold"
)

// testBase returns the base of the test's log at an event, and its file.
func testBase(seq uint64) (*Base, []byte) {
	file := bytes.Repeat(fmt.Appendf(nil, "the state after event %d\n", seq), 200)
	h := fanfold.Horizon{Seq: seq, Event: fanfold.Digest{9}, Digest: digestUpTo(seq), Position: fanfold.At(seq-1, 3), Changes: int64(2 * seq), Time: event(seq).Time}
	return NewBase(h, fanfold.BaseFile{Name: fmt.Sprintf("base-%d", seq), Bytes: int64(len(file)), Sum: sha256.Sum256(file)}), file
}

// writes returns a function that writes a file.
func writes(file []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(file)
		return err
	}
}

// receive writes a stream of a log that begins with a base, up to an event, into a directory, as a server sends it.
func receive(t testing.TB, dir string, at, last uint64) (*Manifest, error) {
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
	base, file := testBase(at)
	if w.HasBase() == at {
		file = nil
	}
	return w.Receive(context.Background(), bytes.NewReader(streamOf(t, max(at, w.After().Seq), last, made, base, file)), nil)
}

// requireBase requires that a backup begins with a base, whose file is whole.
func requireBase(t testing.TB, dir string, seq uint64) {
	t.Helper()
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want, file := testBase(seq)
	if b.Base == nil || *b.Base != *want || b.Format != b.version() || b.Format < 2 || !b.Complete() || b.Base.Horizon().Position != want.Position {
		t.Fatalf("the base is %+v, want %+v", b.Base, want)
	}
	r, err := b.OpenBase()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, file) {
		t.Errorf("the base's file has %d bytes, want %d: %v", len(got), len(file), err)
	}
}

// TestBaseInAStream: a stream of a log that begins with a base has the base's file, and so has the directory.
func TestBaseInAStream(t *testing.T) {
	base, file := testBase(120)
	for _, last := range []uint64{120, 121, 500} {
		dir := unpack(t, bytes.NewReader(streamOf(t, 120, last, made, base, file)))
		requireEvents(t, dir, 120, last)
		requireBase(t, dir, 120)
	}
	dir := unpack(t, bytes.NewReader(streamOf(t, 300, 500, made, base, nil)))
	if b, err := Open(dir); err != nil || b.Complete() || b.Format != 1 {
		t.Errorf("a stream that continues another one is %+v, %v", b, err)
	}
	s, err := NewStream(io.Discard, base.Point, made)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range [][]byte{file[1:], append(file[:len(file):len(file)], 'x'), bytes.ToUpper(file)} {
		if err := s.WriteBase(base, writes(other)); fanfold.CodeOf(err) != fanfold.LogDamaged {
			t.Errorf("another file of a base: %v, want %s", err, fanfold.LogDamaged)
		}
		if s, err = NewStream(io.Discard, base.Point, made); err != nil {
			t.Fatal(err)
		}
	}
}

// TestContinueAfterABase: once the log begins later, so does the backup in the same directory. The events up to there go, and other segments stay.
func TestContinueAfterABase(t *testing.T) {
	for _, first := range []uint64{10, 99, 100, 101, 150, 199, 200, 201, 249, 250, 300} {
		dir := filepath.Join(t.TempDir(), "backup")
		if _, err := write(t, dir, 250); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct{ base, last uint64 }{{first, 450}, {first, 450}, {first, 460}, {first + 1, 460}, {455, 700}, {700, 700}, {700, 701}} {
			m, err := receive(t, dir, step.base, step.last)
			if err != nil {
				t.Fatalf("base %d: %+v: %v", first, step, err)
			}
			requireBase(t, dir, step.base)
			requireEvents(t, dir, step.base, step.last)
			requireOnlyFiles(t, dir, m)
		}
	}
	dir := filepath.Join(t.TempDir(), "backup")
	before, err := write(t, dir, 450)
	if err != nil {
		t.Fatal(err)
	}
	m, err := receive(t, dir, 150, 451)
	if err != nil || m.Segments[0].First != 151 || m.Segments[1] != before.Segments[2] {
		t.Errorf("the segments are %+v, %v", m.Segments, err)
	}
}

// TestRefusedBases: a stream whose base does not follow from the backup that is there is refused, and leaves that.
func TestRefusedBases(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "backup")
	if _, err := write(t, dir, 250); err != nil {
		t.Fatal(err)
	}
	base, file := testBase(120)
	forged := *base
	forged.Digest[0] ^= 1
	otherLog, otherFile := testBase(220)
	otherBase := *otherLog
	otherBase.Digest[0] ^= 1
	for _, c := range []struct {
		name string
		in   func() ([]byte, error)
		code fanfold.Code
	}{
		{"a base that is not here", func() ([]byte, error) { return streamOf(t, 200, 300, made, base, nil), nil }, fanfold.Invalid},
		{"a base with another digest", func() ([]byte, error) { return streamOf(t, 200, 300, made, &forged, file), nil }, fanfold.LogDamaged},
		{"a log that went another way", func() ([]byte, error) {
			var out bytes.Buffer
			s, err := NewStream(&out, otherBase.Point, made)
			err = errors.Join(err, s.WriteBase(&otherBase, writes(otherFile)))
			for seq := uint64(221); seq <= 300; seq++ {
				err = errors.Join(err, s.Add(event(seq)))
			}
			err = errors.Join(err, s.Finish(Manifest{Store: testStore}))
			return out.Bytes(), err
		}, fanfold.LogDamaged},
		{"from before what is needed", func() ([]byte, error) { return streamOf(t, 120, 300, made, base, file), nil }, fanfold.Invalid},
	} {
		in, err := c.in()
		if err != nil {
			t.Fatal(err)
		}
		w, err := OpenWriter(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = w.Receive(context.Background(), bytes.NewReader(in), nil); fanfold.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
		requireOnlyFiles(t, dir, w.Old())
		closed(t, w)
		requireEvents(t, dir, 0, 250)
	}
}

// TestRandomDamagesToBases: whatever is damaged in a backup with a base, Check refuses it and names a file, or the backup is one that was made.
func TestRandomDamagesToBases(t *testing.T) {
	base, file := testBase(120)
	whole := streamOf(t, 120, 550, made, base, file)
	older := unpack(t, bytes.NewReader(stream(t, 0, 550, made)))
	olderBase, olderFile := testBase(119)
	other := unpack(t, bytes.NewReader(streamOf(t, 119, 550, made, olderBase, olderFile)))
	kinds := append(damages(other, older),
		damage{"another base", func(t *testing.T, _ *rand.Rand, dir string, _ []string) {
			copyFile(t, filepath.Join(other, olderBase.File), filepath.Join(dir, base.File))
		}},
		damage{"a missing base", func(t *testing.T, _ *rand.Rand, dir string, _ []string) {
			if err := os.Remove(filepath.Join(dir, base.File)); err != nil {
				t.Fatal(err)
			}
		}},
		damage{"a bit of the base", func(t *testing.T, r *rand.Rand, dir string, _ []string) {
			edit(t, filepath.Join(dir, base.File), func(b []byte) []byte { b[r.Intn(len(b))] ^= 1 << r.Intn(8); return b })
		}},
		damage{"a cut base", func(t *testing.T, r *rand.Rand, dir string, _ []string) {
			edit(t, filepath.Join(dir, base.File), func(b []byte) []byte { return b[:r.Intn(len(b))] })
		}},
		damage{"a longer base", func(t *testing.T, _ *rand.Rand, dir string, _ []string) {
			edit(t, filepath.Join(dir, base.File), func(b []byte) []byte { return append(b, b...) })
		}},
		damage{"a manifest of another base", func(t *testing.T, r *rand.Rand, dir string, _ []string) {
			forge(t, dir, func(m *Manifest) {
				switch r.Intn(6) {
				case 0:
					m.Base.Seq--
				case 1:
					m.Base.Digest[r.Intn(32)] ^= 1
				case 2:
					m.Base.Bytes++
				case 3:
					m.Base.SHA256[31] ^= 1
				case 4:
					m.Base = nil
				default:
					m.Base.File = "base/../manifest.json"
				}
			})
		}})
	for n := range 30 * len(kinds) {
		r := rand.New(rand.NewSource(int64(n)))
		kind := kinds[n%len(kinds)]
		t.Run(fmt.Sprintf("%d %s", n, kind.name), func(t *testing.T) {
			dir := unpack(t, bytes.NewReader(whole))
			kind.do(t, r, dir, segmentsIn(t, dir))
			b, err := Open(dir)
			if err == nil {
				err = b.Check(context.Background(), nil)
			}
			if err == nil {
				requireEvents(t, dir, 120, b.Position)
				requireBase(t, dir, 120)
				return
			}
			if fanfold.CodeOf(err) != fanfold.NotFound { // the manifest is gone
				requireDamage(t, err, "")
			}
		})
	}
}
