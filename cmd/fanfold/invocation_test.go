package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"/usr/bin/fanfold": "/usr/bin/fanfold",
		"/my dir/fanfold":  "'/my dir/fanfold'",
		"it's":             `'it'\''s'`,
		"":                 "''",
		"a$b":              "'a$b'",
		"a\nb":             "'a\nb'",
	} {
		if got := shellWord(text); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
}

func TestGoRun(t *testing.T) {
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := goRun(filepath.Join(checkout, "cmd", "fanfold", "main.go")), "go run -C "+shellWord(checkout)+" ./cmd/fanfold"; got != want {
		t.Errorf("in a checkout: %q, want %q", got, want)
	}
	cached := filepath.Join(t.TempDir(), "fanfold@v1.2.3", "cmd", "fanfold")
	if err := os.MkdirAll(cached, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cached, "main.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{filepath.Join(cached, "main.go"), "/nowhere/cmd/fanfold/main.go", "github.com/fanfold/fanfold/cmd/fanfold/main.go"} {
		if got := goRun(source); got != "" { // a test is of no version
			t.Errorf("of %s: %q", source, got)
		}
	}
}

// TestBuiltByGoRun: what go run has built is known by where it stands, whatever GOCACHE and GOTMPDIR name.
func TestBuiltByGoRun(t *testing.T) {
	const output = "d2d211920e49132bef06a00c470222a589b121b10773029109aa40d40a3d2266-d"
	for path, want := range map[string]bool{
		"/tmp/go-build3525182526/b001/exe/fanfold":           true,
		`C:\Temp\go-build3525182526\b001\exe\fanfold.exe`:    true,
		"/home/me/.cache/go-build/d2/" + output + "/fanfold": true,
		"/my cache/d2/" + output + "/fanfold":                true,
		`D:\cache\d2\` + output + `\fanfold.exe`:             true,
		"/my cache/d3/" + output + "/fanfold":                false,
		"/my cache/d2/" + output + "/bin/fanfold":            false,
		"/home/me/go-build/fanfold":                          false,
		"/home/me/go/bin/fanfold":                            false,
		"/home/me/go-build35/fanfold":                        false,
		"/home/me/go-builder/fanfold":                        false,
	} {
		if got := builtByGoRun(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
