package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
