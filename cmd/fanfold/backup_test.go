package main

import (
	"path/filepath"
	"testing"
)

// TestBackupFlags: a command line that cannot be meant is refused before anything is done.
func TestBackupFlags(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{
		{"backup"}, {"backup", "--out", dir, "--check", dir}, {"backup", "--out", dir, "--rate", "1"}, {"backup", "--out", dir, "--rate", "-1"}, {"backup", "--out", dir, "--data", dir}, {"backup", dir},
	} {
		runCommand(t, "", args...).want(t, exitUsage)
	}
	runCommand(t, "", "backup", "--check", dir).want(t, exitFailed)
}
