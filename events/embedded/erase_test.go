package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/tests/suite"
)

// erasing is a log with erased documents on an embedded server that a test kills.
type erasing struct {
	t      *testing.T
	dir    string
	step   func(what, path string) error
	e      *Server
	nc     *nats.Conn
	l      *events.Log
	random *rand.Rand
	secret []fanfold.Key
}

// start starts the server as a node does, and opens the log.
func (x *erasing) start() {
	x.t.Helper()
	tails, err := CutTail(x.t.Context(), x.dir, 0)
	if err != nil || len(tails) > 0 {
		x.t.Fatalf("cut %+v, %v", tails, err)
	}
	quiet := slog.New(slog.DiscardHandler)
	if x.e, err = Start(x.t.Context(), Options{Dir: x.dir, Durability: Always, Logger: quiet, rewriteStep: func(what, path string) error {
		if x.step == nil {
			return nil
		}
		return x.step(what, path)
	}}); err != nil {
		x.t.Fatal(err)
	}
	if x.nc, err = x.e.Connect(); err != nil {
		x.t.Fatal(err)
	}
	if x.l, err = events.Open(x.t.Context(), x.nc, events.Options{Embedded: x.e, Logger: quiet}); err != nil {
		x.t.Fatal(err)
	}
}

// stop stops the server.
func (x *erasing) stop() {
	x.nc.Close()
	if err := x.e.Close(); err != nil {
		x.t.Error(err)
	}
}

// again starts the server again.
func (x *erasing) again() {
	x.stop()
	x.start()
}

// fill appends random events of documents with large texts. The messages of every third document hold a marker that is to go.
func (x *erasing) fill(count int) {
	rev := map[fanfold.Key]fanfold.Revision{}
	for i := range count {
		n := x.random.IntN(12)
		key := fanfold.Key{Collection: "c", ID: fmt.Sprintf("d%d", n)}
		marker := "KEPT"
		if n%3 == 0 {
			marker = "SECRET"
		}
		body := fmt.Sprintf(`{"id":%q,"author":"a%d","text":"%s-%d. %s"}`, key.ID, n, marker, i, strings.Repeat("x", x.random.IntN(120_000)))
		ev := &fanfold.Event{Kind: fanfold.KindPut, Key: key, Body: []byte(body), IdempotencyKey: fanfold.IdempotencyKey{Hash: fmt.Sprint("h", i), Digest: "SECRET-DIGEST"}, Actor: "a b"}
		if marker == "KEPT" {
			ev.IdempotencyKey.Digest = "KEPT-DIGEST"
		}
		writes := []fanfold.Write{{Event: ev, Expect: fanfold.Exactly(rev[key])}}
		if rev[key] != 0 && x.random.IntN(3) == 0 {
			ev.Kind, ev.Patch, ev.Base, ev.Body = fanfold.KindPatch, fanfold.MergePatch, rev[key], []byte(fmt.Sprintf(`{"text":"%s-%d."}`, marker, i))
		}
		tx := ""
		if x.random.IntN(3) == 0 {
			tx = fmt.Sprint("tx", i)
			writes = append(writes, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindClaim, Key: key, Path: "text", Value: fmt.Sprintf("s%s-%d", marker, i), Held: true}})
			other := &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "o", ID: fmt.Sprint(i)}, Body: []byte(fmt.Sprintf(`{"id":"x","text":"KEPT-o%d."}`, i))}
			writes = append(writes, fanfold.Write{Event: other})
			if x.random.IntN(2) == 0 { // the key is of the first event
				other.IdempotencyKey, ev.IdempotencyKey = ev.IdempotencyKey, fanfold.IdempotencyKey{}
				writes[0], writes[2] = writes[2], writes[0]
			}
		}
		first, err := x.l.AppendAll(x.t.Context(), tx, writes)
		if err != nil {
			x.t.Fatal(err)
		}
		for j, w := range writes {
			if w.Event == ev {
				rev[key] = fanfold.Revision(first) + fanfold.Revision(j)
			}
		}
	}
	for n := 0; n < 12; n += 3 {
		key := fanfold.Key{Collection: "c", ID: fmt.Sprintf("d%d", n)}
		x.secret = append(x.secret, key)
		if _, err := x.l.Append(x.t.Context(), &fanfold.Event{Kind: fanfold.KindDelete, Key: key}, fanfold.Exactly(rev[key])); err != nil {
			x.t.Fatal(err)
		}
	}
}

// erase appends what lists the documents with markers, and what says that it is in force.
func (x *erasing) erase() {
	x.t.Helper()
	c := events.Collecting{Keep: map[string][]string{"c": {"author"}}}
	for _, k := range x.secret {
		c.Documents = append(c.Documents, fanfold.ErasedDocument{Key: k})
	}
	found, err := x.l.Prefix().Collect(x.t.Context(), c)
	if err != nil || len(found.Erasures) == 0 {
		x.t.Fatalf("%+v, %v", found, err)
	}
	var last uint64
	for _, e := range found.Erasures {
		var writes []fanfold.Write
		for _, d := range e.Documents {
			rev := found.Revisions[d.Key]
			writes = append(writes, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindCheck, Key: d.Key, Base: rev}, Expect: fanfold.Exactly(rev)})
		}
		writes = append(writes, fanfold.Write{Event: &fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{List: e}}, Expect: fanfold.Exactly(fanfold.Revision(last))})
		first, err := x.l.AppendAll(x.t.Context(), "erase", writes)
		if err != nil {
			x.t.Fatal(err)
		}
		last = first + uint64(len(writes)) - 1
	}
	if again, err := x.l.Prefix().Collect(x.t.Context(), c); err != nil || len(again.Erasures) > 0 {
		x.t.Fatalf("is to be erased again: %+v, %v", again, err)
	}
	erased := &fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{UpTo: fanfold.AsOf(last), List: &fanfold.Erasure{Documents: []fanfold.ErasedDocument{{Key: x.secret[0]}}}}}
	if _, err := x.l.Append(x.t.Context(), erased, fanfold.Exactly(0)); err != nil {
		x.t.Fatal(err)
	}
}

// messages returns the log as readers see it.
func (x *erasing) messages() (out []string) {
	x.t.Helper()
	last, err := x.l.LastSeq(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	err = x.l.Messages(x.t.Context(), 1, last, func(m *events.Message) error {
		out = append(out, fmt.Sprintf("%d %s %s %.300s", m.Seq, m.Subject, m.Digest(), m.Data))
		return nil
	})
	if err != nil || len(out) != int(last) {
		x.t.Fatalf("%d of %d messages, %v", len(out), last, err)
	}
	return out
}

// count returns how often a text stands in the server's files.
func (x *erasing) count(text string) (n int) {
	err := filepath.WalkDir(x.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		n += bytes.Count(b, []byte(text))
		return err
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return n
}

// kept returns the markers of what is to stay that stand in the server's files.
func (x *erasing) kept() map[string]bool {
	out := map[string]bool{}
	blocks, err := filepath.Glob(filepath.Join(x.dir, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil {
		x.t.Fatal(err)
	}
	for _, path := range blocks {
		b, err := os.ReadFile(path)
		if err != nil {
			x.t.Fatal(err)
		}
		for _, found := range keptMarker.FindAll(b, -1) {
			out[string(found)] = true
		}
	}
	return out
}

var keptMarker = regexp.MustCompile(`KEPT-[o0-9]+\.`)

// same compares the log's beginning with what it was.
func (x *erasing) same(want []string) {
	x.t.Helper()
	have := x.messages()
	for i := range want {
		if have[i] != want[i] {
			x.t.Fatalf("%s, want %s", have[i], want[i])
		}
	}
}

// TestEraseFromFiles: what is erased is in no file of the server, and everything else is as it was for readers, wherever the process was killed
// meanwhile.
func TestEraseFromFiles(t *testing.T) {
	x := &erasing{t: t, dir: filepath.Join(t.TempDir(), "nats"), random: rand.New(rand.NewPCG(1, 2))}
	x.start()
	defer func() { x.stop() }()
	x.fill(420)
	x.erase()
	want, kept := x.messages(), x.kept()
	if n, residue, err := x.l.Prefix().Unerased(t.Context()); err != nil || n == 0 || residue {
		t.Fatalf("%d messages are to be erased, %t, %v", n, residue, err)
	}
	cut := filepath.Join(x.dir, "cut", "fanfold-1")
	if err := errors.Join(os.MkdirAll(cut, 0o700), os.WriteFile(filepath.Join(cut, "1-0.blk"), []byte("SECRET"), 0o600)); err != nil {
		t.Fatal(err)
	}
	kills := 0
	for killed := true; killed; kills++ {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		killed = false
		x.step = func(string, string) error {
			if steps++; steps > kills {
				killed = true
				cancel()
				return ctx.Err()
			}
			return nil
		}
		err := x.l.Prefix().EraseMessages(ctx, nil, nil)
		cancel()
		if (err == nil) == killed {
			t.Fatalf("killed %t in step %d: %v", killed, steps, err)
		}
		x.again()
		x.same(want)
		if err := x.l.Check(t.Context(), events.Known{}); err != nil {
			t.Fatal(err)
		}
	}
	if n, residue, err := x.l.Prefix().Unerased(t.Context()); err != nil || n != 0 || residue {
		t.Errorf("%d messages are left, %t, %v", n, residue, err)
	}
	if n := x.count("SECRET"); n != 0 {
		t.Errorf("what is erased stands %d times in files", n)
	}
	if now := x.kept(); len(kept) == 0 || !maps.Equal(now, kept) {
		t.Errorf("%d texts of %d are still there", len(now), len(kept))
	}
	if _, err := x.l.Append(t.Context(), largePut("new"), fanfold.Exactly(0)); err != nil {
		t.Error(err)
	}
	t.Logf("killed %d times", kills-1)
}

// TestEraseWhileWriting: an erasure from the files loses nothing that others write and read meanwhile.
func TestEraseWhileWriting(t *testing.T) {
	suite.Concurrent(t)
	x := &erasing{t: t, dir: filepath.Join(t.TempDir(), "nats"), random: rand.New(rand.NewPCG(3, 4))}
	x.start()
	defer func() { x.stop() }()
	x.fill(200)
	x.erase()
	want := x.messages()
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan map[string]bool)
	go func() {
		done := map[string]bool{}
		for i := 0; ctx.Err() == nil; i++ {
			id := fmt.Sprint("w", i)
			if _, err := x.l.Append(ctx, largePut(id), fanfold.Exactly(0)); err == nil {
				done[id] = true
			} else if fanfold.CodeOf(err) != fanfold.Unavailable && fanfold.CodeOf(err) != fanfold.OutcomeUnknown {
				t.Error(err)
			}
		}
		written <- done
	}()
	for range 3 {
		if err := x.l.Prefix().EraseMessages(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	done := <-written
	x.same(want)
	for _, line := range x.messages()[len(want):] {
		delete(done, strings.TrimPrefix(strings.Fields(line)[1], "fanfold.fanfold.doc.c."))
	}
	if len(done) > 0 {
		t.Errorf("writes are lost: %v", done)
	}
	if n := x.count("SECRET"); n != 0 {
		t.Errorf("what is erased stands %d times in files", n)
	}
}

// TestRestartAfterUnknownErasure: the server is started again although the log has an erase event that its node does not know of yet. The answer
// of its write may be on the way when the restart begins.
func TestRestartAfterUnknownErasure(t *testing.T) {
	x := &erasing{t: t, dir: filepath.Join(t.TempDir(), "nats"), random: rand.New(rand.NewPCG(5, 6))}
	x.start()
	defer func() { x.stop() }()
	x.fill(20)
	x.erase()
	list := &fanfold.Erasure{Documents: []fanfold.ErasedDocument{{Key: fanfold.Key{Collection: "c", ID: "nobody"}}}}
	event := events.Encode(&fanfold.Event{Kind: fanfold.KindLoss, Loss: &fanfold.Loss{List: list}})
	known, _ := x.l.Prefix().Erasures()
	x.step = func(what, _ string) error {
		if what != "cut" { // which is before the server stops
			return nil
		}
		stored, err := x.nc.Request("fanfold.fanfold.erase", event, time.Minute)
		if err == nil && !strings.Contains(string(stored.Data), `"seq"`) {
			err = errors.New(string(stored.Data))
		}
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // it would be tried again for ever
	defer cancel()
	if err := x.l.Prefix().EraseMessages(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	if listed, _ := x.l.Prefix().Erasures(); listed == known {
		t.Error("the node does not know of the erase event")
	}
	if _, err := x.l.Append(t.Context(), largePut("new"), fanfold.Exactly(0)); err != nil {
		t.Error(err)
	}
}

// TestRestartOfDamagedLog: the server is started again although a block of the log is gone. The node then says so, and refuses writes.
func TestRestartOfDamagedLog(t *testing.T) {
	x := &erasing{t: t, dir: filepath.Join(t.TempDir(), "nats"), random: rand.New(rand.NewPCG(7, 8))}
	x.start()
	defer func() { x.stop() }()
	x.fill(420)
	x.erase()
	begun := &fanfold.Loss{Base: &fanfold.Compaction{Horizon: fanfold.Horizon{Seq: 1, Position: fanfold.At(1, 0)}, Base: fanfold.BaseFile{Name: "base-1", Bytes: 1}}}
	if _, err := x.l.Append(t.Context(), &fanfold.Event{Kind: fanfold.KindLoss, Loss: begun}, fanfold.Exactly(0)); err != nil {
		t.Fatal(err)
	}
	x.step = func(what, msgs string) error {
		if what != "directory" { // which is while the server does not run
			return nil
		}
		blocks, _, err := listBlocks(msgs)
		if err != nil || len(blocks) < 3 {
			return errors.Join(err, fmt.Errorf("there are %d blocks", len(blocks)))
		}
		return os.Remove(blocks[1].path)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := x.l.Prefix().EraseMessages(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := x.l.Append(t.Context(), largePut("new"), fanfold.Exactly(0)); fanfold.CodeOf(err) != fanfold.LogDamaged {
		t.Error(err)
	}
}

// TestReadsWhileARestartFindsNoSpace: the disk is full once the files are written anew, so that the server cannot be started again. Reads go on, writes
// are refused with the reason, and with space again the erasure goes on by itself.
func TestReadsWhileARestartFindsNoSpace(t *testing.T) {
	x := &erasing{t: t, dir: filepath.Join(t.TempDir(), "nats"), random: rand.New(rand.NewPCG(7, 8))}
	x.start()
	defer func() { x.stop() }()
	x.fill(20)
	x.erase()
	want := x.messages()
	probe := filepath.Join(x.dir, "space-probe") // a directory of this name lets every look for space fail
	x.step = func(string, string) error { return os.MkdirAll(probe, 0o700) }
	erased := make(chan error, 1)
	go func() { erased <- x.l.Prefix().EraseMessages(t.Context(), nil, nil) }()
	for refused := false; !refused; {
		select {
		case err := <-erased:
			t.Fatalf("erased on a full disk: %v", err)
		default:
		}
		_, err := x.l.Append(t.Context(), largePut("new"), fanfold.Expect{})
		refused = err != nil && strings.Contains(err.Error(), "the log's disk is full")
	}
	x.same(want)
	if err := os.Remove(probe); err != nil {
		t.Fatal(err)
	}
	if err := <-erased; err != nil {
		t.Fatal(err)
	}
	x.same(want)
	if _, err := x.l.Append(t.Context(), largePut("newer"), fanfold.Exactly(0)); err != nil {
		t.Error(err)
	}
}
