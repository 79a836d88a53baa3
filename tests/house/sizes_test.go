package house_test

import (
	"go/ast"
	"testing"
)

// Sizes that the code keeps to, tests apart.
const (
	maxFunctionLines    = 60
	maxInterfaceMethods = 5
)

// TestSizes: no function is longer, and no interface wider, than a reader takes in at once.
func TestSizes(t *testing.T) {
	for _, f := range goFiles(t) {
		ast.Inspect(f.syntax(t), func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := positions.Position(n.End()).Line - positions.Position(n.Pos()).Line + 1; lines > maxFunctionLines {
					t.Errorf("%s: %s has %d lines, at most %d are allowed", positions.Position(n.Pos()), n.Name.Name, lines, maxFunctionLines)
				}
			case *ast.InterfaceType:
				if methods := n.Methods.NumFields(); methods > maxInterfaceMethods {
					t.Errorf("%s: an interface of %d methods, at most %d are allowed", positions.Position(n.Pos()), methods, maxInterfaceMethods)
				}
			}
			return true
		})
	}
}
