package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Sizes that the code keeps to, tests apart.
const (
	maxFunctionLines    = 60
	maxInterfaceMethods = 5
)

// TestSizes: no function is longer, and no interface wider, than a reader takes in at once.
func TestSizes(t *testing.T) {
	set := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := set.Position(n.End()).Line - set.Position(n.Pos()).Line + 1; lines > maxFunctionLines {
					t.Errorf("%s: %s has %d lines, at most %d are allowed", set.Position(n.Pos()), n.Name.Name, lines, maxFunctionLines)
				}
			case *ast.InterfaceType:
				if methods := n.Methods.NumFields(); methods > maxInterfaceMethods {
					t.Errorf("%s: an interface of %d methods, at most %d are allowed", set.Position(n.Pos()), methods, maxInterfaceMethods)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
