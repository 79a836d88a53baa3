package console_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostLines bounds a file of the console.
const mostLines = 300

// rooms lists the directories of the console's modules; each may import itself and earlier ones.
var rooms = []string{"json", "lib", "ui", "pages", "frame", "."}

// forbidden finds what no module may have: markup made of text, code made of text, and what outlasts the tab.
var forbidden = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|document\.write|\beval\b|new Function|dangerouslySetInnerHTML|localStorage|indexedDB|document\.cookie`)

// mayKeep is the file that keeps the theme, the one thing that stays.
const mayKeep = "ui/theme.js"

// imported finds what a module imports.
var imported = regexp.MustCompile(`(?m)(?:^(?:import|export)[^;'"]*?from |^import |\bimport\()['"]([^'"]+)['"]`)

// scripts calls fn with each module of ours.
func scripts(t *testing.T, fn func(name, text string)) {
	t.Helper()
	err := filepath.WalkDir("static", func(file string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(file), "static/")
		if err != nil || d.IsDir() || strings.HasPrefix(name, "vendor/") || path.Ext(name) != ".js" && path.Ext(name) != ".css" {
			return err
		}
		text, err := os.ReadFile(file)
		if err == nil {
			fn(name, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A module is short, makes no markup and no code of text, and keeps nothing.
func TestModules(t *testing.T) {
	scripts(t, func(name, text string) {
		if n := strings.Count(text, "\n"); n > mostLines {
			t.Errorf("%s has %d lines; %d are the most", name, n, mostLines)
		}
		for _, word := range forbidden.FindAllString(text, -1) {
			if word != "localStorage" || name != mayKeep {
				t.Errorf("%s has %s", name, word)
			}
		}
	})
}

// Modules import modules of lower rooms, and no page imports another.
func TestImports(t *testing.T) {
	scripts(t, func(name, text string) {
		for _, found := range imported.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(found[1], ".") {
				continue // it is one of the import map
			}
			of := path.Join(path.Dir(name), found[1])
			if _, err := os.Stat(filepath.Join("static", filepath.FromSlash(of))); err != nil {
				t.Errorf("%s imports %s, which is not there", name, found[1])
			}
			own, other := slices.Index(rooms, roomOf(name)), slices.Index(rooms, roomOf(of))
			if own < 0 || other < 0 || other > own {
				t.Errorf("%s imports %s, and may import the rooms %v", name, of, rooms[:own+1])
			}
			if roomOf(name) == "pages" && roomOf(of) == "pages" && pageOf(name) != pageOf(of) {
				t.Errorf("%s imports %s of another page: what both need belongs into ui or lib", name, of)
			}
		}
	})
}

// roomOf returns the directory of a module, the first of its name.
func roomOf(name string) string {
	room, _, below := strings.Cut(name, "/")
	if !below {
		return "."
	}
	return room
}

// pageOf returns the page that a module below pages belongs to.
func pageOf(name string) string { return strings.Split(name, "/")[1] }

// The types with which the modules are checked come from the packages that are served.
func TestTypesAreOfTheServedVersions(t *testing.T) {
	var served []struct{ Name, Version string }
	var checked struct{ DevDependencies map[string]string }
	for file, v := range map[string]any{"vendor.json": &served, "../tests/console/package.json": &checked} {
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range served {
		if got := checked.DevDependencies[p.Name]; got != p.Version {
			t.Errorf("%s is served in version %s, and checked in %q", p.Name, p.Version, got)
		}
	}
}
