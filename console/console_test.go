package console_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/console"
)

// get asks a console for a file, and returns its answer.
func get(t *testing.T, c *console.Console, name string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/_console/"+name, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	if err := c.ServeFile(w, r, name); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return w.Result()
}

// textOf returns the body of an answer.
func textOf(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// open returns the console in the program.
func open(t *testing.T) *console.Console {
	t.Helper()
	c, err := console.New("")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The page names files that are there, for ever as they are, and its policy allows scripts of its own origin alone.
func TestPage(t *testing.T) {
	c := open(t)
	page := get(t, c, "")
	text := textOf(t, page)
	if page.Header.Get("Cache-Control") != "no-cache" || page.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the page has the headers %v", page.Header)
	}
	if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self';") || !strings.Contains(policy, "require-trusted-types-for 'script'") {
		t.Errorf("the page has the policy %q", policy)
	}
	names := regexp.MustCompile(`(?:href|src)="([^"]+)"`).FindAllStringSubmatch(text, -1)
	for _, name := range names {
		r := get(t, c, name[1])
		if caching := r.Header.Get("Cache-Control"); caching != "public, max-age=31536000, immutable" {
			t.Errorf("%s may be kept: %q", name[1], caching)
		}
	}
	if again := get(t, c, "", "If-None-Match", page.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("the same page again is a %d", again.StatusCode)
	}
	if small := get(t, c, "", "Accept-Encoding", "br, gzip;q=0.5"); small.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("the page is not sent by gzip: %v", small.Header)
	}
	if plain := get(t, c, "", "Accept-Encoding", "gzip;q=0"); plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("the page is sent by gzip to whoever refuses it: %v", plain.Header)
	}
}

// A name that is none is not found, also a file's name by another hash.
func TestNoFile(t *testing.T) {
	c := open(t)
	for _, name := range []string{"x", "main.js", "s/0000000000000000/main.js", "s/", "../console.go", "s/../main.js"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/_console/", http.NoBody)
		if err := c.ServeFile(httptest.NewRecorder(), r, name); fanfold.CodeOf(err) != fanfold.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Files of a directory are read at each request, and no browser keeps them.
func TestDir(t *testing.T) {
	dir := t.TempDir()
	if _, err := console.New(dir); fanfold.CodeOf(err) != fanfold.Invalid {
		t.Errorf("an empty directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.js"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := console.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := get(t, c, "")
	if err := os.WriteFile(filepath.Join(dir, "main.js"), []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := get(t, c, "")
	if a, b := textOf(t, first), textOf(t, second); a == b || second.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the page after a change of a file: %s, %v", b, second.Header)
	}
}

// The files of others are, byte for byte, those that vendor.json names, and there are no others.
func TestVendor(t *testing.T) {
	var packages []struct {
		Name, Version, Licence, Integrity string
		Files                             []struct{ File, From, SHA256 string }
	}
	text, err := os.ReadFile("vendor.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &packages); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, p := range packages {
		if p.Version == "" || p.Licence == "" || !strings.HasPrefix(p.Integrity, "sha512-") {
			t.Errorf("%s has no version, licence or integrity", p.Name)
		}
		for _, f := range p.Files {
			want[f.File] = f.SHA256
		}
	}
	entries, err := os.ReadDir("vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join("vendor", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != want[e.Name()] {
			t.Errorf("%s is another file than vendor.json says", e.Name())
		}
		delete(want, e.Name())
	}
	for name := range want {
		t.Errorf("%s of vendor.json is not there", name)
	}
}
