package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/tests/harness"
)

// TestDamagedLogIsRefused: a node whose log has lost events while it was stopped does not start, and says why.
func TestDamagedLogIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	text := strings.Repeat("x", 1<<20)
	for i := range 30 { // some four of the server's block files
		s.Put("as", fmt.Sprint(i), `{"text":"`+text+`"}`)
	}
	s.CatchUp()
	s.Close()
	cut := func(t *testing.T, path string) {
		info, err := os.Stat(path)
		if err == nil {
			err = os.Truncate(path, info.Size()/2)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	each := func(do func(*testing.T, string)) func(*testing.T, []string) {
		return func(t *testing.T, blocks []string) {
			for _, b := range blocks {
				do(t, b)
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, blocks []string){
		"the first block cut":  func(t *testing.T, blocks []string) { cut(t, blocks[0]) },
		"a block cut":          func(t *testing.T, blocks []string) { cut(t, blocks[1]) },
		"the last block cut":   func(t *testing.T, blocks []string) { cut(t, blocks[len(blocks)-1]) },
		"the first block gone": func(t *testing.T, blocks []string) { remove(t, blocks[0]) },
		"a block gone":         func(t *testing.T, blocks []string) { remove(t, blocks[1]) },
		"the last block gone":  func(t *testing.T, blocks []string) { remove(t, blocks[len(blocks)-1]) },
		"every block cut":      each(cut),
		"every block gone":     each(remove),
		"everything gone": func(t *testing.T, blocks []string) {
			if err := os.RemoveAll(filepath.Dir(blocks[0])); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			blocks, err := filepath.Glob(filepath.Join(copied, "nats", "jetstream", "*", "streams", "*", "msgs", "*.blk"))
			if err != nil || len(blocks) < 3 {
				t.Fatalf("%d blocks, %v", len(blocks), err)
			}
			slices.Sort(blocks)
			damage(t, blocks)
			n, err := harness.Start(t, harness.Options{Dir: copied})
			if err == nil {
				n.Close()
				t.Fatal("the node starts")
			}
			if !strings.Contains(err.Error(), "event") {
				t.Errorf("the node says %v", err)
			}
		})
	}
}

// TestLogIsKnownWithoutTheReadModel: a log that lost its end, or that is an old copy, is found out although the read model
// was removed, by what the node wrote down of it.
func TestLogIsKnownWithoutTheReadModel(t *testing.T) {
	dir, old := t.TempDir(), t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	s.Put("c", "1", `{}`)
	s.CatchUp()
	s.Close()
	copyTree(t, dir, old)
	other := t.TempDir()
	copyTree(t, dir, other)
	s = harness.Open(t, harness.Options{Dir: dir})
	s.Put("c", "2", `{}`)
	s.CatchUp()
	s.Close()
	s = harness.Open(t, harness.Options{Dir: other}) // the same beginning, and another end
	s.Put("c", "3", `{}`)
	s.Put("c", "4", `{}`)
	s.CatchUp()
	s.Close()
	for name, nats := range map[string]string{"old": old, "other": other, "none": t.TempDir()} {
		copied := t.TempDir()
		copyTree(t, dir, copied)
		for _, sub := range []string{"nats", "readmodel"} {
			if err := os.RemoveAll(filepath.Join(copied, sub)); err != nil {
				t.Fatal(err)
			}
		}
		copyTree(t, nats, filepath.Join(copied, "nats-parent"))
		if err := os.Rename(filepath.Join(copied, "nats-parent", "nats"), filepath.Join(copied, "nats")); err != nil && name != "none" {
			t.Fatal(err)
		}
		n, err := harness.Start(t, harness.Options{Dir: copied})
		if err == nil {
			n.Close()
		}
		if fanfold.CodeOf(err) != fanfold.LogDamaged {
			t.Errorf("%s: the node says %v", name, err)
		}
	}
}

// TestFlippedByte: a byte of an event changes on the disk: of the first, of one in the middle, or of the last, which no later event would
// show to be missing. The node names the unreadable event, and is not ready.
func TestFlippedByte(t *testing.T) {
	dir := t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	for i := range 9 {
		s.Put("c", fmt.Sprint(i), fmt.Sprintf(`{"text":"the %dth"}`, i))
	}
	s.CatchUp()
	s.Close()
	for _, i := range []int{0, 4, 8} {
		copied := t.TempDir()
		copyTree(t, dir, copied)
		path := logBlocks(t, copied)[0]
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[strings.Index(string(b), fmt.Sprintf("the %dth", i))] ^= 1
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		n, err := harness.Start(t, harness.Options{Dir: copied})
		if err != nil {
			if !strings.Contains(err.Error(), fmt.Sprint(i+1)) {
				t.Errorf("event %d: %v", i+1, err)
			}
			continue
		}
		if reason := readiness(t, n); !strings.Contains(reason, fmt.Sprintf(": %d;", i+1)) {
			t.Errorf("event %d: the node says %q", i+1, reason)
		}
		for c := range 9 {
			n.WantDoc("c", fmt.Sprint(c), fmt.Sprintf(`{"id":"%d","text":"the %dth"}`, c, c))
		}
		n.Close()
	}
}
