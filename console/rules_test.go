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

// Bounds of the console's files, of their number and of what stands in them, in lines; a line has so many characters.
const (
	mostFiles    = 69
	mostLines    = 400
	mostOfOne    = 60
	mostLineLong = 140
)

// rooms lists the directories of the console's modules. A module may import its own room and those that stand in lower lines.
var rooms = [][]string{{"lib"}, {"ui"}, {"grid", "document", "editor", "time", "model", "changes", "operations", "import"}, {"shell"}, {"."}}

// forbidden finds what no module may have: markup made of text, code made of text, and what outlasts the tab.
var forbidden = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|document\.write|\beval\b|new Function|dangerouslySetInnerHTML|localStorage|indexedDB|document\.cookie`)

// mayKeep is the file that keeps queries which somebody saved, the one thing that outlasts the tab.
const mayKeep = "grid/saved.js"

// imported finds what a module imports.
var imported = regexp.MustCompile(`(?m)(?:^(?:import|export)[^;'"]*?from |^import |\bimport\()['"]([^'"]+)['"]`)

// scripts calls fn with each module of ours.
func scripts(t *testing.T, fn func(name, text string)) {
	t.Helper()
	err := filepath.WalkDir("src", func(file string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(file), "src/")
		if err != nil || d.IsDir() || path.Ext(name) != ".js" && path.Ext(name) != ".css" {
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

// A module is short, as are its lines and functions. It makes no markup and no code of text, and keeps nothing.
func TestModules(t *testing.T) {
	files := 0
	scripts(t, func(name, text string) {
		files++
		lines := strings.Split(text, "\n")
		if len(lines) > mostLines && path.Ext(name) == ".js" {
			t.Errorf("%s has %d lines; %d are the most", name, len(lines), mostLines)
		}
		for i, line := range lines {
			if n := len([]rune(line)); n > mostLineLong {
				t.Errorf("%s:%d has %d characters; %d are the most", name, i+1, n, mostLineLong)
			}
		}
		for _, word := range forbidden.FindAllString(text, -1) {
			if word != "localStorage" || name != mayKeep {
				t.Errorf("%s has %s", name, word)
			}
		}
		longFunctions(t, name, lines)
	})
	if files > mostFiles {
		t.Errorf("the console has %d files; %d are the most", files, mostFiles)
	}
}

// longFunctions tells of functions of a module that are too long. One begins in a line of its own, and ends before the next
// line that begins something else, as the formatter lays them out.
func longFunctions(t *testing.T, name string, lines []string) {
	t.Helper()
	began := -1
	for i, line := range append(lines, "/") {
		if line == "" || line[0] == ' ' || began >= 0 && strings.ContainsRune("})]`<", rune(line[0])) {
			continue
		}
		end := i
		for end > 0 && lines[end-1] == "" {
			end--
		}
		if began >= 0 && end-began > mostOfOne {
			t.Errorf("%s:%d: a function has %d lines; %d are the most", name, began+1, end-began, mostOfOne)
		}
		if began = -1; function.MatchString(line) {
			began = i
		}
	}
}

// function finds the first line of a function.
var function = regexp.MustCompile(`^(export )?(default )?((async )?function\b|const \w+ = (async )?\()`)

// Modules import modules of their own room and of lower ones.
func TestImports(t *testing.T) {
	level := func(room string) int {
		return slices.IndexFunc(rooms, func(at []string) bool { return slices.Contains(at, room) })
	}
	scripts(t, func(name, text string) {
		for _, found := range imported.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(found[1], ".") {
				continue // it is one of a library
			}
			of := path.Join(path.Dir(name), found[1])
			if _, err := os.Stat(filepath.Join("src", filepath.FromSlash(of))); err != nil {
				t.Errorf("%s imports %s, which is not there", name, found[1])
			}
			from, to := roomOf(name), roomOf(of)
			if from != to && (level(from) < 0 || level(to) < 0 || level(to) >= level(from)) {
				t.Errorf("%s imports %s: what both rooms need belongs into ui or lib", name, of)
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
