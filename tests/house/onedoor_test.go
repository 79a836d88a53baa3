package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// documentSources are the types of what views read, by which package node gives it. Package api cannot read documents from values
// of other types.
var documentSources = []string{"ViewDependencies", "Reader", "Snapshot", "Scan", "Outcomes", "Tracer", "Keys"}

// TestDocumentsLeaveByOneDoor: package api names what documents are read from twice: among what it is given, and where it makes
// views of it. Handlers have the views alone, and do not touch what the writer reads. Each error passes a view before it is told.
func TestDocumentsLeaveByOneDoor(t *testing.T) {
	files, err := filepath.Glob("../../api/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	set, given, opened := token.NewFileSet(), 0, 0
	wrong := func(n ast.Node, name string) {
		t.Errorf("%s: documents are read by the view alone, not by %s", set.Position(n.Pos()), name)
	}
	inspect := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			return !n.Assign.IsValid() // an alias for package node
		case *ast.Field: // of a struct, or a parameter
			of, _ := n.Type.(*ast.Ident)
			if of != nil && of.Name == "ViewDependencies" {
				given++
			} else if of != nil && slices.Contains(documentSources, of.Name) {
				wrong(n, of.Name)
			}
		case *ast.CallExpr:
			if isIdent(n.Fun, "problemFor") && !isCallOf(n.Args[0], "Refusal") {
				t.Errorf("%s: an error is told that did not pass a view", set.Position(n.Pos()))
			}
			if fn, ok := n.Fun.(*ast.SelectorExpr); ok && isIdent(fn.X, "view") && fn.Sel.Name == "New" {
				opened++
				return false
			}
		case *ast.SelectorExpr:
			if name := n.Sel.Name; name == "ViewDependencies" || name == "ReadModel" || name == "Leader" || isIdent(n.X, "view") && (name == "Dependencies" || slices.Contains(documentSources, name)) {
				wrong(n, name)
			}
		}
		return true
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, inspect)
	}
	if given != 1 || opened != 1 {
		t.Errorf("the sources of documents are given in %d fields, and views are made of them %d times; want one each", given, opened)
	}
}

// isIdent tells whether an expression is a name.
func isIdent(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// isCallOf tells whether an expression calls a method with a name.
func isCallOf(x ast.Expr, name string) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	fn, ok := call.Fun.(*ast.SelectorExpr)
	return ok && fn.Sel.Name == name
}
