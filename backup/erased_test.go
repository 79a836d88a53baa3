package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold"
)

// erasing is the erase event of a test's log, which lists two messages.
const erasing = 300

// asOf returns an event of a log in which two messages have a secret, as of an erasure.
func asOf(seq, erasure uint64) *Event {
	ev := event(seq)
	switch seq {
	case 50, 120:
		if ev.Payload = []byte(`{"v":1,"op":"put","body":{"name":"secret"}}`); erasure >= erasing {
			ev.Payload = []byte(`{"v":1,"op":"put","body":{}}`)
		}
	case erasing:
		ev.Subject, ev.Payload = "fanfold.fanfold.erase", []byte(`{"v":3,"op":"erase","messages":[{"seq":50,"payload":0},{"seq":120,"payload":0}]}`)
	}
	return ev
}

// streamAsOf returns a stream of the log as of an erasure. change may change an event.
func streamAsOf(t testing.TB, after, last, erasure uint64, change func(*Event)) []byte {
	t.Helper()
	chain := fanfold.Digest{}
	b, err := newBuilder(Point{})
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= after; seq++ {
		chain = chain.Followed(b.digestOf(asOf(seq, erasure)))
	}
	begin := Point{after, chain}
	var out bytes.Buffer
	s, err := NewStream(&out, begin, made)
	if err != nil {
		t.Fatal(err)
	}
	s.b.most = testSegment
	for seq := after + 1; err == nil && seq <= last; seq++ {
		ev := asOf(seq, erasure)
		if change != nil {
			change(ev)
		}
		err = s.Add(ev)
	}
	m := Manifest{Store: testStore, Fold: 8, Erasure: erasure}
	if after > 0 {
		m.After = &begin
	}
	if err = errors.Join(err, s.Finish(m)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// requireAsOf requires that a directory has the log as of an erasure, and no other files.
func requireAsOf(t *testing.T, dir string, last, erasure uint64) {
	t.Helper()
	b, err := Open(dir)
	if err != nil || b.Position != last || b.Erasure != erasure {
		t.Fatalf("%+v, %v", b, err)
	}
	next := uint64(1)
	if err := b.Events(t.Context(), 0, func(ev *Event) error {
		want := asOf(next, erasure)
		if next++; len(ev.Headers) == 0 {
			ev.Headers = nil
		}
		if !reflect.DeepEqual(ev, want) {
			return fmt.Errorf("event %+v, want %+v", ev, want)
		}
		return nil
	}); err != nil || next != last+1 {
		t.Fatalf("up to %d: %v", next, err)
	}
}

// requireNoSecret requires that no file of a backup has what was erased.
func requireNoSecret(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, segmentsDir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, path := range files {
		file, err := os.ReadFile(path)
		if err == nil {
			file, err = z.DecodeAll(file[len(magic):], nil)
		}
		if err != nil || bytes.Contains(file, []byte("secret")) {
			t.Errorf("%s: %v, or it has what was erased", path, err)
		}
	}
}

// continueAsOf continues the backup in a directory as of an erasure, as the command does.
func continueAsOf(t *testing.T, w *Writer, last, erasure uint64) error {
	t.Helper()
	_, err := w.Receive(t.Context(), bytes.NewReader(streamAsOf(t, w.After().Seq, last, erasure, nil)), nil)
	if errors.Is(err, ErrErased) {
		if w.After().Seq != 0 || w.HasBase() != 0 {
			t.Errorf("the backup goes on after %d", w.After().Seq)
		}
		_, err = w.Receive(t.Context(), bytes.NewReader(streamAsOf(t, 0, last, erasure, nil)), nil)
	}
	return err
}

// TestErased: the next backup into a directory has what an erasure leaves, files that are the same stay, and those with what was erased go.
func TestErased(t *testing.T) {
	dir := t.TempDir()
	w, err := OpenWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, w)
	for _, step := range []struct{ last, erasure uint64 }{{250, 0}, {350, 0}, {350, erasing}, {450, erasing}, {451, erasing}} {
		before := w.Old()
		if err := continueAsOf(t, w, step.last, step.erasure); err != nil {
			t.Fatalf("%+v: %v", step, err)
		}
		requireAsOf(t, dir, step.last, step.erasure)
		requireOnlyFiles(t, dir, w.Old())
		if step.erasure > 0 {
			requireNoSecret(t, dir)
			if w.Old().Segments[2].File != before.Segments[2].File {
				t.Error("a segment without what was erased is another one")
			}
		}
	}
}

// TestRefusedErasures: a stream that differs from the backup by more than what erase events list, and one from before an erasure, leave the backup.
func TestRefusedErasures(t *testing.T) {
	dir := t.TempDir()
	w, err := OpenWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, w)
	if err := continueAsOf(t, w, 350, 0); err != nil {
		t.Fatal(err)
	}
	for _, changed := range []uint64{1, 51, 299, erasing, 301, 350} {
		in := streamAsOf(t, 0, 400, erasing, func(ev *Event) {
			if ev.Seq == changed {
				ev.Headers = append(ev.Headers, Header{Name: "Fanfold-Tx", Value: "other"})
			}
		})
		if _, err := w.Receive(t.Context(), bytes.NewReader(in), nil); fanfold.CodeOf(err) != fanfold.LogDamaged {
			t.Errorf("event %d: %v", changed, err)
		}
		requireAsOf(t, dir, 350, 0)
	}
	for _, in := range [][]byte{streamAsOf(t, 0, 340, erasing, nil), streamAsOf(t, 0, 400, 299, func(ev *Event) {
		if ev.Seq == 50 {
			ev.Payload = []byte("{}")
		}
	})} {
		if _, err := w.Receive(t.Context(), bytes.NewReader(in), nil); fanfold.CodeOf(err) != fanfold.LogDamaged {
			t.Errorf("%v, want %s", err, fanfold.LogDamaged)
		}
	}
	if err := continueAsOf(t, w, 400, erasing); err != nil {
		t.Fatal(err)
	}
	if err := continueAsOf(t, w, 450, 0); fanfold.CodeOf(err) != fanfold.LogDamaged {
		t.Errorf("a log that knows no erasure: %v", err)
	}
	requireAsOf(t, dir, 400, erasing)
}

// TestCrashAtEveryWriteOfAnErasedBackup: whichever operation on files fails while a backup is written anew because of an erasure, the directory holds
// the backup from before or the new one, whole. The next run leaves nothing that was erased.
func TestCrashAtEveryWriteOfAnErasedBackup(t *testing.T) {
	had, now := streamAsOf(t, 0, 250, 0, nil), streamAsOf(t, 0, 450, erasing, nil)
	for mode := range 6 {
		for k, failed := 1, true; failed; k++ {
			dir := t.TempDir()
			if err := Unpack(bytes.NewReader(had), dir); err != nil {
				t.Fatal(err)
			}
			w, err := OpenWriter(dir)
			if err != nil {
				t.Fatal(err)
			}
			f := &failing{files: disk{}, left: k, part: mode % 3, crashes: mode < 3, err: syscall.ENOSPC}
			w.files = f
			_, err = w.Receive(context.Background(), bytes.NewReader(now), nil)
			failed = f.failed
			closed(t, w)
			b, openErr := Open(dir)
			if openErr != nil || err == nil && b.Erasure != erasing {
				t.Fatalf("after %v: %v", err, openErr)
			}
			requireAsOf(t, dir, map[uint64]uint64{0: 250, erasing: 450}[b.Erasure], b.Erasure)
			if w, err = OpenWriter(dir); err != nil {
				t.Fatal(err)
			}
			if err := continueAsOf(t, w, 450, erasing); err != nil {
				t.Fatal(err)
			}
			closed(t, w)
			requireAsOf(t, dir, 450, erasing)
			requireOnlyFiles(t, dir, w.Old())
			requireNoSecret(t, dir)
		}
	}
}
