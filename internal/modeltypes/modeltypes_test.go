package modeltypes_test

import (
	"flag"
	"os"
	"testing"

	"github.com/fanfold/fanfold/internal/modelfile"
	"github.com/fanfold/fanfold/internal/modeltypes"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

// TestTypeScript: the types of a model with each kind of rule stand in the golden file, which make js compiles.
func TestTypeScript(t *testing.T) {
	src, err := os.ReadFile("testdata/model.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/model.ts"
	got := modeltypes.TypeScript(m)
	if *rewrite {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(got) != string(want) {
		t.Errorf("the types are\n%s\nwant\n%s%v", got, want, err)
	}
}

// TestEmpty: a model without collections has types without members.
func TestEmpty(t *testing.T) {
	m, err := modelfile.Parse([]byte("collections: {}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(modeltypes.TypeScript(m)); got != modeltypes.Header+"\nexport interface Models {\n}\n" {
		t.Errorf("the types are\n%s", got)
	}
}
