package tests

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/fanfold/fanfold"

// mayImport says which packages of this module each may import; data flows
// api -> events -> projector -> sqlite -> changefeed and reads.
var mayImport = map[string][]string{
	"":                           {"internal/decimal", "internal/jsondoc"},
	"internal/jsondoc":           {},
	"internal/decimal":           {},
	"internal/schema":            {"", "internal/decimal", "internal/jsondoc"},
	"internal/expr":              {"internal/jsondoc"},
	"internal/modelfile":         {"", "internal/expr", "internal/jsondoc", "internal/schema"},
	"migrations":                 {},
	"events":                     {"", "internal/jsondoc"},
	"sqlite":                     {"", "migrations"},
	"projector/fold":             {"", "internal/decimal", "internal/expr", "internal/jsondoc", "internal/modelfile", "migrations", "sqlite"},
	"projector/inspect":          {"", "internal/decimal", "internal/jsondoc", "internal/schema", "projector/fold", "sqlite"},
	"projector":                  {"", "internal/jsondoc", "internal/modelfile", "projector/fold", "sqlite"},
	"changefeed":                 {"", "internal/jsondoc"},
	"api":                        {"", "internal/jsondoc", "internal/schema"},
	"node":                       {"", "api", "changefeed", "events", "internal/modelfile", "projector", "projector/fold", "projector/inspect", "sqlite"},
	"cmd/fanfold/internal/bench": {"sqlite"},
	"cmd/fanfold":                {"", "events", "cmd/fanfold/internal/bench", "internal/expr", "internal/jsondoc", "internal/modelfile", "node", "projector", "projector/fold", "projector/inspect", "sqlite"},
	"tests/natsserver":           {},
	"tests/harness":              {"api", "node", "projector/inspect", "sqlite"},
}

func TestLayers(t *testing.T) {
	root := ".."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if rel == "." {
			rel = ""
		}
		allowed, known := mayImport[filepath.ToSlash(rel)]
		if !known {
			t.Errorf("%s: package %q is not in the table", path, rel)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range file.Imports {
			name, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			own, ok := strings.CutPrefix(name, module)
			if ok && !slices.Contains(allowed, strings.TrimPrefix(own, "/")) {
				t.Errorf("%s imports %s", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
