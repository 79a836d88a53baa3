package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// console/dist is what its sources give.
func TestDistIsCurrent(t *testing.T) {
	files, err := bundle("..")
	if err != nil {
		t.Fatal(err)
	}
	const mend = "go generate ./console writes it anew"
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join("../dist", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("console/dist/%s is not that of console/src: %s (%v)", name, mend, err)
		}
	}
	found, err := os.ReadDir("../dist")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if _, made := files[f.Name()]; !made {
			t.Errorf("console/dist/%s has no source: %s", f.Name(), mend)
		}
	}
}

// An error of a module says where it is.
func TestBundleFails(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"vendor.json": "[]", "src/console.css": "", "src/main.js": "import './other.js';\n"} {
		if err := os.MkdirAll(filepath.Join(dir, "src"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bundle(dir); err == nil || !bytes.Contains([]byte(err.Error()), []byte("src/main.js:1:7")) {
		t.Errorf("%v", err)
	}
}
