package history_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats-server/v2/server"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/node"
	"github.com/fanfold/fanfold/projector/fold"
	"github.com/fanfold/fanfold/projector/rebuild"
	"github.com/fanfold/fanfold/sqlite"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
	"github.com/fanfold/fanfold/tests/suite"
	"github.com/fanfold/fanfold/writer"
)

// freeze writes the frozen histories anew. Nothing compares them with those before: do it only where the read model's tables change on purpose.
var freeze = flag.Int("freeze", 0, "write so many frozen histories anew to testdata/frozen.tar.zst")

// frozenFile has the frozen histories.
const frozenFile = "testdata/frozen.tar.zst"

// frozen is a log as a program once left it, with what its read model was.
type frozen struct {
	Outside      bool              `json:"outside"`      // an outside server has the log
	Last         uint64            `json:"last"`         // the log's last event
	Digest       string            `json:"digest"`       // of what the read model's rows tell
	Middle       uint64            `json:"middle"`       // an event before
	MiddleDigest string            `json:"middleDigest"` // of the rows up to there
	files        map[string][]byte // of the directory of the node or of the server
}

// TestFrozenHistories opens logs that an earlier program left after random histories with compactions and erasures. They are embedded and outside
// ones. A read model of each has the rows that it had then, and so has one that a replay makes.
func TestFrozenHistories(t *testing.T) {
	suite.Parallel(t)
	if *freeze > 0 {
		writeFrozen(t, *freeze)
	}
	all := readFrozen(t)
	few := suite.Amount(24, len(all))
	for i := range lanes {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for n := i; n < few; n += lanes {
				t.Run(fmt.Sprint(n), func(t *testing.T) { all[n*len(all)/few].requireSame(t) })
			}
		})
	}
}

// requireSame builds read models of a frozen log.
func (f *frozen) requireSame(t *testing.T) {
	s := f.open(t)
	defer s.Close()
	if err := f.differs(t, s); err != nil {
		t.Fatal(err)
	}
	if f.Outside {
		return
	}
	s.Verify()
	s.Replay()
	if got := s.ToldDigest(); got != f.Digest {
		t.Fatalf("after a replay the rows' digest is %s, want %s", got, f.Digest)
	}
}

// differs returns what differs from the frozen history in read models of its log: the node's, and two that end at known events. A node of an outside
// log may append a fence as it starts, and then has later rows.
func (f *frozen) differs(t *testing.T, s *harness.Store) error {
	s.Rebuilt()
	from, err := s.Node.EventSource(t.Context())
	if err != nil {
		return err
	}
	if !f.Outside {
		if got := s.ToldDigest(); from.Last != f.Last || got != f.Digest {
			return fmt.Errorf("the log ends with event %d and the rows' digest is %s, want %d and %s", from.Last, got, f.Last, f.Digest)
		}
	}
	for seq, want := range map[uint64]string{f.Last: f.Digest, f.Middle: f.MiddleDigest} {
		if got, err := digestAt(t, from, seq); err != nil || got != want {
			return fmt.Errorf("up to event %d the rows' digest is %s, %w, want %s", seq, got, err, want)
		}
	}
	return nil
}

// digestAt builds the read model of a prefix of the log, and returns the digest of its rows.
func digestAt(t *testing.T, from node.EventSource, seq uint64) (string, error) {
	dir := t.TempDir()
	b, err := node.PrepareBuild(node.Build{Dir: dir, Command: "fanfold replay", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", err
	}
	run, err := b.Begin(from, rebuild.Past{To: fanfold.Moment{Position: fanfold.At(seq, 0)}})
	if err == nil {
		err = run(t.Context())
	}
	if err == nil {
		_, err = b.Finish()
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return "", err
	}
	made, err := filepath.Glob(filepath.Join(dir, "readmodel", "*.db"))
	if err != nil || len(made) != 1 {
		return "", fmt.Errorf("%w: the read models are %v", err, made)
	}
	store, err := sqlite.OpenReadOnly(filepath.Dir(made[0]), sqlite.Options{Fingerprint: fold.Fingerprint()})
	if err != nil {
		return "", err
	}
	sum, err := harness.ToldDigest(store)
	return sum, errors.Join(err, store.Close())
}

// open starts a node on the log, without a read model.
func (f *frozen) open(t *testing.T) *harness.Store {
	t.Helper()
	dir, opt := t.TempDir(), harness.Options{KeepFold: true, Dir: t.TempDir(), Configure: purgingSoon}
	for name, content := range f.files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if opt.Dir = dir; f.Outside {
		opt.Dir, opt.NATS = t.TempDir(), natsserver.StartWith(t, func(o *server.Options) { o.StoreDir = dir })
	}
	return harness.Open(t, opt)
}

// writeFrozen runs random histories and writes them down.
func writeFrozen(t *testing.T, n int) {
	t.Cleanup(suite.SetFlag("rapid.checks", fmt.Sprint(n/lanes+1)))
	var mu sync.Mutex
	var all []*frozen
	t.Run("write", func(t *testing.T) {
		for lane := range lanes {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(r *rapid.T) {
					if f := runFrozen(t, r, lane%2 == 1); f != nil {
						mu.Lock()
						defer mu.Unlock()
						all = append(all, f)
					}
				})
			})
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(z)
	for i, f := range all {
		told, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		addFile(t, archive, fmt.Sprintf("%03d/frozen.json", i), told)
		for name, content := range f.files {
			addFile(t, archive, fmt.Sprintf("%03d/files/%s", i, name), content)
		}
	}
	if err := errors.Join(archive.Close(), z.Close(), os.MkdirAll(filepath.Dir(frozenFile), 0o755), os.WriteFile(frozenFile, out.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// addFile writes a file to an archive.
func addFile(t *testing.T, to *tar.Writer, name string, content []byte) {
	t.Helper()
	err := to.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(content))})
	if err == nil {
		_, err = to.Write(content)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readFrozen returns the frozen histories.
func readFrozen(t *testing.T) (all []*frozen) {
	t.Helper()
	file, err := os.Open(frozenFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := zstd.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		var content []byte
		if err == nil {
			content, err = io.ReadAll(archive)
		}
		if err != nil {
			t.Fatal(err)
		}
		if path.Base(h.Name) == "frozen.json" && strings.Count(h.Name, "/") == 1 {
			all = append(all, &frozen{files: map[string][]byte{}})
			if err := json.Unmarshal(content, all[len(all)-1]); err != nil {
				t.Fatal(err)
			}
			continue
		}
		_, name, _ := strings.Cut(h.Name, "/files/")
		all[len(all)-1].files[name] = content
	}
}

// runFrozen runs a random history, and returns it if a read model of its log has the same rows. It returns nil for a log that a node goes on with
// when it starts.
func runFrozen(t *testing.T, r *rapid.T, outside bool) *frozen {
	f := &frozen{Outside: outside, files: map[string][]byte{}}
	dir := t.TempDir()
	h := &history{t: r, o: newOracle(), views: map[okey]string{}, hold: harness.NewActivationHold()}
	opt := harness.Options{KeepFold: true, Dir: dir, SetOrientedFrom: draw(r, -1, 1), Writer: writer.Options{BeforeActivate: h.hold.Wait}, Configure: purgingSoon}
	files, stop := dir, func() {}
	if outside {
		cluster := natsserver.StartCluster(t, 1, false)
		opt.NATS, files, stop = cluster.URLs()[0], cluster.Dirs()[0], func() { cluster.Stop(0) }
	}
	h.s = harness.Open(r, opt)
	h.runForgetful(12 + upTo(r, 20))
	h.s.Rebuilt()
	first, _, err := h.s.Node.Projector.Horizon()
	if err != nil {
		t.Fatal(err)
	}
	from, err := h.s.Node.EventSource(context.Background())
	f.Last, f.Middle = from.Last, first.Seq+uint64(upTo(r, int(from.Last-first.Seq)))
	if err == nil {
		f.Digest, err = digestAt(t, from, f.Last)
	}
	if err == nil {
		f.MiddleDigest, err = digestAt(t, from, f.Middle)
	}
	if !outside && err == nil && h.s.ToldDigest() != f.Digest {
		err = errors.New("the node's rows are others")
	}
	h.s.Close()
	stop()
	if err != nil {
		t.Logf("left out: %v", err)
		return nil
	}
	f.read(t, files)
	again := f.open(t)
	defer again.Close()
	if err := f.differs(t, again); err != nil {
		t.Logf("left out: %v", err)
		return nil
	}
	return f
}

// read reads the files of a log, without the read model.
func (f *frozen) read(t *testing.T, dir string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		short, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if short == "readmodel" {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || short == "lock" {
			return nil
		}
		f.files[filepath.ToSlash(short)], err = os.ReadFile(name)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// runForgetful applies a model and does random operations. Many of them compact and erase.
func (h *history) runForgetful(length int) {
	h.run(rapid.Custom(func(t *rapid.T) operation {
		return operation{kind: "model", model: h.nextModel(t)}
	}).Draw(h.t, "0"))
	for i := range length {
		h.run(rapid.Custom(func(t *rapid.T) operation {
			op := h.operation(t)
			switch n := upTo(t, 99); {
			case h.o.events < 7 || h.proposed != 0 || op.kind == "replay":
			case n < 8:
				op = operation{kind: "compact", share: upTo(t, 100)}
			case n < 20:
				if op = (operation{kind: "erase", key: h.known(t)}); chance(t, 40) {
					op.members = []string{draw(t, plainMembers...)}
				}
			}
			return op
		}).Draw(h.t, fmt.Sprint(i+1)))
	}
	if h.proposed != 0 {
		h.activate()
	}
}
