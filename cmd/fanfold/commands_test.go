package main

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentsHaveTheCommands: every command stands in docs/use/commands.md.
func TestDocumentsHaveTheCommands(t *testing.T) {
	text, err := os.ReadFile("../../docs/use/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, found := strings.Cut(string(text), "\n## Exit codes\n")
	if !found {
		t.Fatal("docs/use/commands.md has no list of commands")
	}
	for _, c := range command().Commands() {
		if !strings.Contains(table, "`"+c.Name()+"`") {
			t.Errorf("docs/use/commands.md does not have the command %s", c.Name())
		}
	}
}
