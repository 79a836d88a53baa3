package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// invocation returns the words with which a shell in any directory starts this program once more. They are its name if
// the PATH leads to it, go run if that has started it, else its path.
func invocation() string {
	executable, err := os.Executable()
	if err != nil {
		return "fanfold"
	}
	if found, err := exec.LookPath("fanfold"); err == nil && sameFile(found, executable) {
		return "fanfold"
	}
	if builtByGoRun(executable) {
		_, source, _, _ := runtime.Caller(0)
		if words := goRun(source); words != "" {
			return words
		}
	}
	return shellWord(executable)
}

// builtByGoRun tells whether go run has built the program at a path. It is in a temporary directory of its own, or in its
// cache, which GOCACHE may have anywhere and whose entries have the first byte of their hash before them.
func builtByGoRun(path string) bool {
	if goRunBuilds.MatchString(path) {
		return true
	}
	entry := goCacheEntry.FindStringSubmatch(path)
	return entry != nil && strings.HasPrefix(entry[2], entry[1])
}

var (
	goRunBuilds  = regexp.MustCompile(`[/\\]go-build\d+[/\\]b\d+[/\\]exe[/\\][^/\\]+$`)
	goCacheEntry = regexp.MustCompile(`[/\\]([0-9a-f]{2})[/\\]([0-9a-f]{64})-d[/\\][^/\\]+$`)
)

// goRun returns the go command that runs the program whose source file is at a path: in its checkout where the path leads to
// one, else by its version. It returns "" where neither is known.
func goRun(source string) string {
	checkout := filepath.Dir(filepath.Dir(filepath.Dir(source)))
	if _, err := os.Stat(source); err == nil && !strings.Contains(filepath.Base(checkout), "@") { // with an @ it is in the module cache
		return "go run -C " + shellWord(checkout) + " ./cmd/fanfold"
	}
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return "go run " + info.Path + "@" + info.Main.Version
	}
	return ""
}

// sameFile tells whether two paths lead to the same file.
func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// plainWord matches what a shell takes as one word as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// shellWord returns text as one word for a shell.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
