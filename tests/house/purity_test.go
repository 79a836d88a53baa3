package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pureImports are the packages of the standard library that the fold may import: none of them knows the time of
// day, another goroutine, the machine or chance. Of time it may use only what pureTime lists.
var pureImports = []string{"bytes", "cmp", "crypto/sha256", "encoding/binary", "encoding/json", "errors", "fmt", "maps", "slices", "strconv", "strings", "time"}

// pureTime is what the fold may use of package time.
var pureTime = []string{"Duration", "Hour", "Time"}

// TestFoldIsPure: the fold starts no goroutine, has no channel, and imports nothing that could make its result
// depend on anything but the events and the rows.
func TestFoldIsPure(t *testing.T) {
	files, err := filepath.Glob("../../projector/fold/*.go")
	over, err2 := filepath.Glob("../../internal/elements/*.go")
	if err != nil || err2 != nil || len(files) == 0 || len(over) == 0 {
		t.Fatalf("%d and %d files, %v, %v", len(files), len(over), err, err2)
	}
	files = append(files, over...)
	set := token.NewFileSet()
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range file.Imports {
			name, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(name, module) && !slices.Contains(pureImports, name) {
				t.Errorf("%s imports %s", path, name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				t.Errorf("%s: a goroutine or channel", set.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && !slices.Contains(pureTime, n.Sel.Name) {
					t.Errorf("%s uses time.%s", set.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}
