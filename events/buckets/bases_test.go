package buckets_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/buckets"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// base describes a base up to an event.
func base(seq uint64, digest byte) buckets.Snapshot {
	return buckets.Snapshot{Base: true, Seq: seq, Digest: fanfold.Digest{digest}}
}

// TestBases: what is put is found by its horizon and comes back, what is damaged or not there is said to be, and older ones go.
func TestBases(t *testing.T) {
	url := natsserver.Start(t, 1)[0]
	l := open(t, url, 1)
	bases := buckets.NewSnapshots(l)
	if _, err := bases.FindBase(t.Context(), 5, fanfold.Digest{5}, ""); fanfold.CodeOf(err) != fanfold.LogDamaged {
		t.Fatalf("a base that is not there: %v", err)
	}
	content := bytes.Repeat([]byte("0123456789"), 70_000) // three messages
	if _, err := bases.Put(t.Context(), base(4, 4), iotest.ErrReader(errors.New("cut"))); err == nil {
		t.Fatal("a base that could not be read was stored")
	}
	var put []buckets.Snapshot
	for _, seq := range []uint64{3, 5, 9} {
		got, err := bases.Put(t.Context(), base(seq, byte(seq)), bytes.NewReader(content))
		if err != nil || got.Bytes != int64(len(content)) || got.Sum != sha256.Sum256(content) || got.Seq != seq {
			t.Fatalf("%+v, %v", got.BaseFile, err)
		}
		put = append(put, got)
	}
	found, err := bases.FindBase(t.Context(), 5, fanfold.Digest{5}, put[1].Name)
	var out bytes.Buffer
	if err != nil || found.BaseFile != put[1].BaseFile || bases.Get(t.Context(), found, &out) != nil || !bytes.Equal(out.Bytes(), content) {
		t.Fatalf("%+v of %d bytes, %v", found, out.Len(), err)
	}
	if _, err := bases.FindBase(t.Context(), 5, fanfold.Digest{6}, put[1].Name); fanfold.CodeOf(err) != fanfold.LogDamaged {
		t.Fatalf("a base of another log: %v", err)
	}
	if err := bases.Remove(t.Context(), put[1].BaseFile, 5); err != nil {
		t.Fatal(err)
	}
	list, err := bases.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Seq != 9 || list[1].Seq != 5 { // one of a compaction that is under way stays
		t.Fatalf("%+v, %v", list, err)
	}
	damageBase(t, url)
	if err := bases.Get(t.Context(), found, io.Discard); fanfold.CodeOf(err) != fanfold.Unavailable || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("a damaged base: %v", err)
	}
}

// damageBase removes the first message with bytes, which is of the earliest base.
func damageBase(t *testing.T, url string) {
	t.Helper()
	stream := streamNamed(t, natsserver.Connect(t, url), "OBJ_fanfold_fanfold_base")
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		if m, err := stream.GetMsg(t.Context(), seq); err == nil && strings.Contains(m.Subject, ".C.") {
			if err := stream.DeleteMsg(t.Context(), seq); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("there is no message with bytes")
}

// TestBasesAreDurable: with the embedded server a base is synced before Put returns, and a failed sync fails it.
func TestBasesAreDurable(t *testing.T) {
	var synced atomic.Int64
	var failing, named atomic.Bool
	l, _ := openIn(t, embedded.Options{Dir: t.TempDir(), Durability: embedded.Always, Fsync: func(f *os.File) error {
		if strings.Contains(f.Name(), "OBJ_fanfold_fanfold_base") {
			if failing.Load() {
				return errors.New("the disk is broken")
			}
			if strings.HasSuffix(f.Name(), ".blk") {
				info, err := f.Stat()
				if err != nil {
					return err
				}
				synced.Store(max(synced.Load(), info.Size()))
			}
		}
		if _, err := os.Stat(filepath.Join(f.Name(), "OBJ_fanfold_fanfold_base")); err == nil {
			named.Store(true)
		}
		return f.Sync()
	}})
	bases := buckets.NewSnapshots(l)
	for i := range 2 { // the second one is synced by what the first one opened
		content := bytes.Repeat([]byte{byte('0' + i)}, 100_000)
		before := synced.Load()
		if _, err := bases.Put(t.Context(), base(uint64(i+1), 0), bytes.NewReader(content)); err != nil || synced.Load() < before+100_000 {
			t.Fatalf("%d bytes are synced after %d, %v", synced.Load(), before, err)
		}
	}
	if !named.Load() {
		t.Error("the directory in which the object store was made is not synced")
	}
	failing.Store(true)
	if _, err := bases.Put(t.Context(), base(3, 0), strings.NewReader("x")); fanfold.CodeOf(err) != fanfold.Unavailable {
		t.Fatalf("a base that was not synced: %v", err)
	}
}

// TestRemovedBasesLeaveFilesAlone: an embedded server removes old bases by whole files, and makes none anew, for that would not be durable.
func TestRemovedBasesLeaveFilesAlone(t *testing.T) {
	dir := t.TempDir()
	l, _ := openIn(t, embedded.Options{Dir: dir, Durability: embedded.Always})
	bases := buckets.NewSnapshots(l)
	var last buckets.Snapshot
	var err error
	for seq, size := range []int{10 << 20, 6 << 20, 1 << 20} { // the last one shares a file with most of the second
		if last, err = bases.Put(t.Context(), base(uint64(seq+1), 0), bytes.NewReader(make([]byte, size))); err != nil {
			t.Fatal(err)
		}
	}
	before := baseFiles(t, dir)
	if err := bases.Remove(t.Context(), last.BaseFile, last.Seq); err != nil {
		t.Fatal(err)
	}
	after := baseFiles(t, dir)
	if len(after) == 0 || len(after) >= len(before) {
		t.Errorf("%d files are left of %d", len(after), len(before))
	}
	for path, info := range after {
		if was := before[path]; was == nil || !os.SameFile(was, info) || was.Size() != info.Size() {
			t.Errorf("%s was changed", path)
		}
	}
	if err := bases.Get(t.Context(), last, io.Discard); err != nil {
		t.Error(err)
	}
}

// baseFiles returns the block files of the bases under an embedded server's directory.
func baseFiles(t *testing.T, dir string) map[string]os.FileInfo {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "OBJ_*", "msgs", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]os.FileInfo{}
	for _, path := range paths {
		if files[path], err = os.Stat(path); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
