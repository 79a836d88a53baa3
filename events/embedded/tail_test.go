package embedded_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
	"github.com/fanfold/fanfold/events/embedded"
)

// openIn opens the log under dir on an embedded server, and calls fn with it.
func openIn(t *testing.T, dir string, opt events.Options, fn func(l *events.Log)) error {
	t.Helper()
	return connectIn(t, dir, opt, func(l *events.Log, _ *nats.Conn) { fn(l) })
}

// connectIn does what openIn does, and gives fn the connection to the server, too.
func connectIn(t *testing.T, dir string, opt events.Options, fn func(l *events.Log, nc *nats.Conn)) error {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, Durability: embedded.Always, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	nc, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	opt.Embedded, opt.Exists = server, embedded.HasStream(dir)
	l, err := events.Open(t.Context(), nc, opt)
	if err == nil {
		fn(l, nc)
	}
	return err
}

// put returns a put of a document.
func put(id, body string) *fanfold.Event {
	return &fanfold.Event{Kind: fanfold.KindPut, Key: fanfold.Key{Collection: "c", ID: id}, Body: []byte(body)}
}

// tenEvents makes a log of ten events, the last three as a transaction. It returns its directory, its block and the sizes
// of the block after one event, two and so on.
func tenEvents(t *testing.T) (dir, path string, sizes []int) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "jetstream", "$G", "streams", "fanfold", "msgs", "1.blk")
	err := openIn(t, dir, events.Options{}, func(l *events.Log) {
		size := func() {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, int(info.Size()))
		}
		for i := range 7 {
			if _, err := l.Append(t.Context(), put(fmt.Sprint(i), `{"n":1}`), fanfold.Exactly(0)); err != nil {
				t.Fatal(err)
			}
			size()
		}
		var writes []fanfold.Write
		for i := range 3 {
			writes = append(writes, fanfold.Write{Event: put(fmt.Sprint("tx", i), `{"n":1}`), Expect: fanfold.Exactly(0)})
		}
		if _, err := l.AppendAll(t.Context(), "a", writes); err != nil {
			t.Fatal(err)
		}
		size()
	})
	if err != nil {
		t.Fatal(err)
	}
	step := (sizes[7] - sizes[6]) / 3 // its events are of one length
	sizes = append(sizes[:7], sizes[6]+step, sizes[6]+2*step, sizes[7])
	return dir, path, sizes
}

// twelveEvents makes a log of twelve events with texts of a size in bytes, and returns its directory.
func twelveEvents(t *testing.T, size int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	err := openIn(t, dir, events.Options{}, func(l *events.Log) {
		body := `{"text":"` + strings.Repeat("x", size) + `"}`
		for i := range 12 {
			if _, err := l.Append(t.Context(), put(fmt.Sprint(i), body), fanfold.Expect{}); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCutTail: of the end of a log what is not whole is cut, and kept elsewhere; nothing else is, nor anything up to an
// event that is known. The log then takes events from there on.
func TestCutTail(t *testing.T) {
	zeros := func(b []byte, at int) []byte { return append(b[:at:at], make([]byte, len(b)-at)...) }
	for name, c := range map[string]struct {
		change func(b []byte, sizes []int) []byte
		known  uint64
		last   uint64 // with which the log ends then
		cut    bool
		index  bool // the server's index is there, which a killed process leaves at most
	}{
		"whole":                         {change: func(b []byte, _ []int) []byte { return b }, last: 10},
		"cut in a record":               {change: func(b []byte, s []int) []byte { return b[:s[4]+50] }, last: 5, cut: true},
		"cut in a header":               {change: func(b []byte, s []int) []byte { return b[:s[4]+5] }, last: 5, cut: true},
		"cut in the first record":       {change: func(b []byte, _ []int) []byte { return b[:5] }, last: 0, cut: true},
		"zeros":                         {change: func(b []byte, s []int) []byte { return zeros(b, s[4]) }, last: 5, cut: true},
		"a page of zeros":               {change: func(b []byte, s []int) []byte { clear(b[s[4]+60 : s[4]+90]); return b }, last: 5, cut: true},
		"a transaction's first event":   {change: func(b []byte, s []int) []byte { return b[:s[7]] }, last: 7, cut: true},
		"a transaction's first two":     {change: func(b []byte, s []int) []byte { return b[:s[8]] }, last: 7, cut: true},
		"cut in a transaction":          {change: func(b []byte, s []int) []byte { return b[:s[8]+9] }, last: 7, cut: true},
		"a flipped bit":                 {change: func(b []byte, s []int) []byte { b[s[3]+40] ^= 1; return b }, last: 4, cut: true},
		"a flipped bit of what's known": {change: func(b []byte, s []int) []byte { b[s[3]+40] ^= 1; return b }, known: 5},
		"all that is known":             {change: func(b []byte, s []int) []byte { return b[:s[4]+50] }, known: 5, last: 5, cut: true},
		"with an index":                 {change: func(b []byte, s []int) []byte { return b[:s[4]+50] }, known: 5, last: 5, cut: true, index: true},
		"an index and nothing known":    {change: func(b []byte, s []int) []byte { return b[:s[4]+50] }, index: true},
		"a record that is not the next": {change: func(b []byte, s []int) []byte { return append(b[:s[3]:s[3]], b[s[4]:]...) }, last: 4, cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, path, sizes := tenEvents(t)
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := c.change(bytes.Clone(whole), sizes)
			if err := os.WriteFile(path, changed, 0o644); err != nil {
				t.Fatal(err)
			}
			if !c.index {
				if err := os.Remove(filepath.Join(filepath.Dir(path), "index.db")); err != nil {
					t.Fatal(err)
				}
			}
			tails, err := embedded.CutTail(t.Context(), dir, c.known)
			if err != nil || (len(tails) == 1) != c.cut || c.cut && tails[0].Last != c.last {
				t.Fatalf("cut %+v, %v", tails, err)
			}
			left, _ := os.ReadFile(path) // a block without records is removed
			if c.cut {
				kept, err := os.ReadFile(filepath.Join(tails[0].SavedIn, fmt.Sprintf("1-%d.blk", len(left))))
				if err != nil || !bytes.Equal(append(left, kept...), changed) || int64(len(kept)) != tails[0].Bytes {
					t.Errorf("%d bytes are left and %d kept of %d; %v", len(left), len(kept), len(changed), err)
				}
			}
			if !c.cut && c.last == 0 {
				return // damage, which is not for CutTail
			}
			err = openIn(t, dir, events.Options{KnownSeq: c.known}, func(l *events.Log) {
				seq, err := l.Append(t.Context(), put("next", `{}`), fanfold.Exactly(0))
				if err != nil || seq != c.last+1 {
					t.Errorf("the next event is %d, %v", seq, err)
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCutTailOverBlocks: a block reached the disk although the one before it did not whole. It is cut with what is missing before it, the
// rest is written again, and nothing else changes.
func TestCutTailOverBlocks(t *testing.T) {
	dir := twelveEvents(t, 1<<20)
	msgs := filepath.Join(dir, "jetstream", "$G", "streams", "fanfold", "msgs")
	first, second := filepath.Join(msgs, "1.blk"), filepath.Join(msgs, "2.blk")
	b, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	size := len(b) / 7
	if err := os.Truncate(first, int64(6*size)); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1, 0)
	if err := os.Chtimes(first, old, old); err != nil {
		t.Fatal(err)
	}
	tails, err := embedded.CutTail(t.Context(), dir, 5)
	if err != nil || len(tails) != 1 || tails[0].Last != 6 {
		t.Fatalf("cut %+v, %v", tails, err)
	}
	if _, err := os.Stat(second); err == nil {
		t.Error("the second block is still there")
	}
	left, err := os.ReadFile(first)
	if info, _ := os.Stat(first); err != nil || !bytes.Equal(left, b[:6*size]) || info.ModTime().Equal(old) {
		t.Errorf("of the first block %d bytes are left, written at %v", len(left), info.ModTime())
	}
	err = openIn(t, dir, events.Options{KnownSeq: 5}, func(l *events.Log) {
		if seq, err := l.Append(t.Context(), put("next", `{}`), fanfold.Exactly(0)); err != nil || seq != 7 {
			t.Errorf("the next event is %d, %v", seq, err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCutTailLeavesDamage: more than a tail is not cut.
func TestCutTailLeavesDamage(t *testing.T) {
	dir := twelveEvents(t, 7<<20)
	path := filepath.Join(dir, "jetstream", "$G", "streams", "fanfold", "msgs", "1.blk")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[100] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if tails, err := embedded.CutTail(t.Context(), dir, 0); err != nil || len(tails) > 0 {
		t.Errorf("with an index and nothing known: cut %+v, %v", tails, err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(path), "index.db")); err != nil {
		t.Fatal(err)
	}
	if tails, err := embedded.CutTail(t.Context(), dir, 0); err != nil || len(tails) != 1 || !tails[0].TooBig {
		t.Errorf("found %+v, %v", tails, err)
	}
	if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, b) {
		t.Errorf("%d of %d bytes are left, %v", len(left), len(b), err)
	}
}

// TestIndexAhead: where the server's index has events that the blocks have lost, and nobody was told of them, the index is
// removed before a server reads it.
func TestIndexAhead(t *testing.T) {
	for known, removed := range map[uint64]bool{0: false, 4: true, 6: true, 7: false} {
		dir, path, sizes := tenEvents(t)
		if err := os.Truncate(path, int64(sizes[5])); err != nil {
			t.Fatal(err)
		}
		tails, err := embedded.CutTail(t.Context(), dir, known)
		if err != nil || (len(tails) == 1) != removed {
			t.Fatalf("with event %d known: cut %+v, %v", known, tails, err)
		}
		err = openIn(t, dir, events.Options{KnownSeq: known}, func(l *events.Log) {
			if seq, err := l.Append(t.Context(), put("next", `{}`), fanfold.Exactly(0)); err != nil || seq != 7 {
				t.Errorf("the next event is %d, %v", seq, err)
			}
		})
		if removed && err != nil || !removed && fanfold.CodeOf(err) != fanfold.LogDamaged {
			t.Errorf("with event %d known, the log opens with %v", known, err)
		}
	}
}
