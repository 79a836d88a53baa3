package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// Bounds of what a browser loads, in bytes.
const (
	mostFirst        = 400 << 10
	mostFirstZipped  = 120 << 10
	mostEditorZipped = 200 << 10
)

// static finds what a module loads before it runs.
var static = regexp.MustCompile(`(?:from|import)"\./([^"]+)"`)

// The first page loads little, and the editor of code is a file of its own.
func TestSizes(t *testing.T) {
	files, err := bundle("..")
	if err != nil {
		t.Fatal(err)
	}
	seen, open := map[string]bool{"console.css": true}, []string{"main.js"}
	for len(open) > 0 {
		name := open[0]
		open = open[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, found := range static.FindAllSubmatch(files[name], -1) {
			open = append(open, string(found[1]))
		}
	}
	first, firstZipped, editor := 0, 0, 0
	for name, text := range files {
		switch {
		case seen[name]:
			first += len(text)
			firstZipped += zipped(t, text)
		case strings.HasPrefix(name, "codemirror-"):
			editor = zipped(t, text)
		}
	}
	t.Logf("%d files of %d bytes, %d compressed; the editor has %d compressed", len(seen), first, firstZipped, editor)
	if len(seen) < 3 || first > mostFirst || firstZipped > mostFirstZipped {
		t.Errorf("the first page loads %d files of %d bytes, %d compressed", len(seen), first, firstZipped)
	}
	if editor == 0 || editor > mostEditorZipped {
		t.Errorf("the editor has %d bytes compressed, in a file of its own", editor)
	}
}

// zipped returns how long a text is once it is compressed.
func zipped(t *testing.T, text []byte) int {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}
