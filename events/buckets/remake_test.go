package buckets_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/events/embedded"
)

// requireNowhere requires that no file below a directory has a text.
func requireNowhere(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // the server renames files
			return nil
		}
		if bytes.Contains(b, []byte(text)) {
			t.Errorf("%s has %s", path, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// openIn opens a log on an embedded server, and returns its connection, too. They end with the test.
func openIn(t *testing.T, opt embedded.Options) (*events.Log, *nats.Conn) {
	t.Helper()
	e, err := embedded.Start(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	nc, err := e.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	l, err := events.Open(t.Context(), nc, events.Options{Embedded: e})
	if err != nil {
		t.Fatal(err)
	}
	return l, nc
}

// TestRemake: the object stores are made anew with nothing but the base to keep, and no file has anything of the others. It may be repeated from
// where a part was done.
func TestRemake(t *testing.T) {
	dir := t.TempDir()
	l, _ := openIn(t, embedded.Options{Dir: dir, Durability: embedded.Always})
	s := buckets.NewSnapshots(l)
	if err := s.Remake(t.Context(), fanfold.BaseFile{Name: "none"}, 5); fanfold.CodeOf(err) != fanfold.LogDamaged {
		t.Errorf("without a base: %v", err)
	}
	for round := range 3 {
		if _, err := s.Put(t.Context(), base(3, 3), strings.NewReader("old "+"marker")); err != nil {
			t.Fatal(err)
		}
		keep, err := s.Put(t.Context(), base(3, 4), strings.NewReader("new"))
		if err != nil {
			t.Fatal(err)
		}
		if erased, err := s.Erased(t.Context(), 5); err != nil || erased {
			t.Errorf("before it is made anew: %v, %v", erased, err)
		}
		if _, err := s.Put(t.Context(), buckets.Snapshot{Store: l.Store(), Seq: 3}, strings.NewReader("snapshot "+"marker")); err != nil {
			t.Fatal(err)
		}
		if err := s.Remake(t.Context(), keep.BaseFile, 5); err != nil {
			t.Fatal(err)
		}
		list, err := s.List(t.Context())
		var out bytes.Buffer
		if err != nil || len(list) != 1 || list[0].BaseFile != keep.BaseFile || s.Get(t.Context(), list[0], &out) != nil || out.String() != "new" {
			t.Fatalf("round %d: %+v, %q, %v", round, list, out.String(), err)
		}
		requireNowhere(t, dir, "mark"+"er")
	}
	if err := s.Remake(t.Context(), fanfold.BaseFile{}, 5); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("there are %+v, %v", list, err)
	}
}

// TestGetAfterRemake: a base that was found before Remake moved it is read at its new place, and reading makes no object store.
func TestGetAfterRemake(t *testing.T) {
	l, nc := openIn(t, embedded.Options{Dir: t.TempDir(), Durability: embedded.Always})
	s := buckets.NewSnapshots(l)
	found, err := s.Put(t.Context(), base(3, 4), strings.NewReader("new"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Remake(t.Context(), found.BaseFile, 5); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Get(t.Context(), found, &out); err != nil || out.String() != "new" {
		t.Errorf("the base is %q, %v", &out, err)
	}
	if err := s.Remake(t.Context(), fanfold.BaseFile{}, 6); err != nil {
		t.Fatal(err)
	}
	if err := s.Get(t.Context(), found, &out); fanfold.CodeOf(err) != fanfold.Unavailable {
		t.Errorf("a base that is gone: %v", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for name := range js.StreamNames(t.Context()).Name() {
		if strings.HasPrefix(name, events.ObjectsPrefix) {
			t.Errorf("%s is there again", name)
		}
	}
}

// TestFlippedPiece: a snapshot with a piece that the server cannot read is damaged, which is found without waiting until the server counts as too slow.
func TestFlippedPiece(t *testing.T) {
	dir := t.TempDir()
	opt := embedded.Options{Dir: dir, Durability: embedded.Always}
	s, stop := startedSnapshots(t, opt)
	found, err := s.Put(t.Context(), base(3, 4), strings.NewReader(strings.Repeat("0123456789", 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	stop()
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", events.ObjectsPrefix+"*", "msgs", "*.blk"))
	if err != nil || len(blocks) != 1 {
		t.Fatal(blocks, err)
	}
	b, err := os.ReadFile(blocks[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(blocks[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	s, stop = startedSnapshots(t, opt)
	defer stop()
	if found, err = s.FindBase(t.Context(), found.Seq, found.Digest, found.Name); err != nil {
		t.Fatal(err)
	}
	if err := s.Get(t.Context(), found, io.Discard); err == nil || !strings.Contains(err.Error(), "can be read") {
		t.Error(err)
	}
}

// startedSnapshots returns the object store beside a log of an embedded server, and what stops that.
func startedSnapshots(t *testing.T, opt embedded.Options) (s *buckets.Snapshots, stop func()) {
	t.Helper()
	e, err := embedded.Start(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := e.Connect()
	if err != nil {
		t.Fatal(err)
	}
	l, err := events.Open(t.Context(), nc, events.Options{Embedded: e, Exists: embedded.HasStream(opt.Dir)})
	if err != nil {
		t.Fatal(err)
	}
	return buckets.NewSnapshots(l), func() {
		nc.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDead: a bucket tells which of its sequences have no message any more.
func TestDead(t *testing.T) {
	dir := t.TempDir()
	e, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, Durability: embedded.Always})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	nc, err := e.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l, err := events.Open(t.Context(), nc, events.Options{Embedded: e})
	if err != nil {
		t.Fatal(err)
	}
	kv := buckets.NewKeyValue(l, "groups")
	if _, _, has, err := kv.Dead(t.Context()); err != nil || has {
		t.Errorf("before there is one: %v, %v", has, err)
	}
	last := map[string]uint64{}
	for _, key := range []string{"a", "b", "a", "c", "b", "d"} {
		if last[key], err = kv.Set(t.Context(), key, []byte(key), last[key]); err != nil {
			t.Fatal(err)
		}
	}
	if err := kv.Drop(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	stream, dead, has, err := kv.Dead(t.Context())
	if err != nil || !has || stream != "KV_fanfold_fanfold_groups" {
		t.Fatal(stream, has, err)
	}
	for seq, want := range []bool{true, true, true, false, true, false, false, false} {
		if dead(uint64(seq)) != want {
			t.Errorf("message %d: %v", seq, !want)
		}
	}
}

// reading is a reader that does something before it reads.
type reading struct {
	io.Reader
	before func()
}

// Read implements io.Reader.
func (r *reading) Read(b []byte) (int, error) {
	r.before()
	return r.Reader.Read(b)
}

// TestRemakeDuringPut: whenever the object store is made anew while a snapshot is sent, the rest of that is not stored, also where another snapshot was
// put there meanwhile.
func TestRemakeDuringPut(t *testing.T) {
	dir := t.TempDir()
	e, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, Durability: embedded.Always})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	nc, err := e.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	l, err := events.Open(t.Context(), nc, events.Options{Embedded: e})
	if err != nil {
		t.Fatal(err)
	}
	s := buckets.NewSnapshots(l)
	part := strings.Repeat("mark"+"er ", 60_000)
	for _, at := range []int{1, 2, 3} {
		n := 0
		remake := func() {
			if n++; n != at {
				return
			}
			if err := s.Remake(t.Context(), fanfold.BaseFile{}, 0); err != nil {
				t.Error(err)
			}
			if _, err := s.Put(t.Context(), buckets.Snapshot{Store: l.Store(), Seq: 7}, strings.NewReader("new")); err != nil {
				t.Error(err)
			}
		}
		var parts []io.Reader
		for range 3 {
			parts = append(parts, &reading{strings.NewReader(part[:256<<10]), func() {}})
		}
		whole := &reading{io.MultiReader(parts...), func() {}}
		whole.before = remake
		_, err := s.Put(t.Context(), buckets.Snapshot{Store: l.Store(), Seq: 3}, whole)
		if fanfold.CodeOf(err) != fanfold.Conflict {
			t.Errorf("made anew at piece %d: %v", at, err)
		}
		requireNowhere(t, dir, "mark"+"er")
		if list, err := s.List(t.Context()); err != nil || len(list) != 1 || list[0].Seq != 7 {
			t.Errorf("there are %+v, %v", list, err)
		}
	}
}
