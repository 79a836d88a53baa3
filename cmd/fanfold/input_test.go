package main

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
)

// TestFilesAreBounded: what commands read has a bound, and what cannot be read is said.
func TestFilesAreBounded(t *testing.T) {
	path := writeTemp(t, "f", "1234")
	if text, err := readFile(path, "model", 4); err != nil || string(text) != "1234" {
		t.Errorf("a file of just so many bytes is %q, %v", text, err)
	}
	if _, err := readFile(path, "model", 3); fanfold.CodeOf(err) != fanfold.Invalid || !strings.Contains(err.Error(), "the model has more than 3 bytes") {
		t.Errorf("a longer one is %v", err)
	}
	runCommand(t, "", "status", "--config", writeTemp(t, "c.yaml", "#"+strings.Repeat("x", maxConfig))).want(t, exitUsage, "the configuration has more than 1048576 bytes")
	runCommand(t, "", "model", "check", "/nowhere/m.yaml").want(t, exitUsage, "cannot read the model: /nowhere/m.yaml: no such file")
}
