package sameboot_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/fanfold/fanfold/internal/sameboot"
)

// TestTrace: the trace stays while files grow, and is another one once a file was copied, replaced or touched that stays the same.
func TestTrace(t *testing.T) {
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trace := func(dir string) string {
		return sameboot.Trace(filepath.Join(dir, "still"), filepath.Join(dir, "grows"))
	}
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write(filepath.Join(dir, "still"), "")
	write(filepath.Join(dir, "grows"), "1")
	before := trace(dir)
	if before == "" {
		if runtime.GOOS == "linux" {
			t.Logf("nothing is known of the file system of %s", dir) // such as one of FUSE
		}
		return
	}
	write(filepath.Join(dir, "grows"), "12")
	if after := trace(dir); after != before {
		t.Errorf("another trace of a file that has grown: %s, before %s", after, before)
	}
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if trace(other) == before {
		t.Error("a copy has the trace")
	}
	if trace(filepath.Join(dir, "none")) != "" {
		t.Error("there is a trace of nothing")
	}
	for name, change := range map[string]func() error{
		"touched":  func() error { return os.Chmod(filepath.Join(dir, "still"), 0o640) },
		"replaced": func() error { return os.Rename(filepath.Join(other, "grows"), filepath.Join(dir, "grows")) },
	} {
		before := trace(dir)
		if err := change(); err != nil {
			t.Fatal(err)
		}
		for begun := time.Now(); name == "touched" && trace(dir) == before && time.Since(begun) < 10*time.Second; { // the system's clock for files goes in steps
			if err := change(); err != nil {
				t.Fatal(err)
			}
		}
		if trace(dir) == before {
			t.Errorf("the trace stays where a file was %s", name)
		}
	}
}

// TestStill: the text stays while nobody touches the files, and is another one once any of them was written, replaced or touched.
func TestStill(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for _, path := range paths {
		if err := os.WriteFile(path, []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := sameboot.Still(paths...)
	if before == "" {
		if runtime.GOOS == "linux" {
			t.Logf("nothing is known of the file system of %s", dir) // such as one of FUSE
		}
		return
	}
	if text, err := os.ReadFile(paths[1]); err != nil || string(text) != "1" || sameboot.Still(paths...) != before {
		t.Errorf("another text of files that were read: %v", err)
	}
	if sameboot.Still(paths[0]) == before || sameboot.Still(paths[1], paths[0]) == before || sameboot.Still(filepath.Join(dir, "none")) != "" {
		t.Error("other files have the text, or one that is not there")
	}
	old, err := os.Stat(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"written, with its old time": func() error {
			return errors.Join(os.WriteFile(paths[1], []byte("2"), 0o600), os.Chtimes(paths[1], time.Time{}, old.ModTime()))
		},
		"touched": func() error { return os.Chmod(paths[0], 0o640) },
		"replaced": func() error {
			return errors.Join(os.WriteFile(paths[0]+".new", []byte("1"), 0o600), os.Rename(paths[0]+".new", paths[0]))
		},
	} {
		before := sameboot.Still(paths...)
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if sameboot.Still(paths...) == before {
			t.Errorf("the text stays where a file was %s", name)
		}
	}
}
