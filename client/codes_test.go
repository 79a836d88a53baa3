package client_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// codesIn returns the constants of type Code in a file, by their values.
func codesIn(t *testing.T, path string) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
			codes[spec.Values[0].(*ast.BasicLit).Value] = spec.Names[0].Name
		}
		return true
	})
	return codes
}

// TestCodes: every code that the store has is one of the package's, by the same name.
func TestCodes(t *testing.T) {
	ours, store := codesIn(t, "errors.go"), codesIn(t, "../error.go")
	if len(store) < 15 {
		t.Fatalf("the store has the codes %v", store)
	}
	for value, name := range store {
		if ours[value] != name {
			t.Errorf("the store has %s = %s, the package %q", name, value, ours[value])
		}
	}
}
