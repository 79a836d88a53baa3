package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRaceDetectorSeesGoroutines: each package that starts goroutines has a test that runs under the race detector. It stands in the
// package's folder, or names the package (suite.Concurrent).
func TestRaceDetectorSeesGoroutines(t *testing.T) {
	starts, raced := map[string]bool{}, map[string]bool{}
	set := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, _ := filepath.Rel("../..", filepath.Dir(path)) // WalkDir's paths begin with the root
		folder = filepath.ToSlash(folder)
		switch {
		case strings.HasSuffix(path, "_test.go"):
			findConcurrent(t, set, file, folder, raced)
		case !strings.HasPrefix(folder, "tests") && !strings.HasPrefix(folder, "examples") && startsGoroutines(file):
			starts[folder] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder := range starts {
		if !raced[folder] {
			t.Errorf("%s starts goroutines, and no test runs it under the race detector: begin one with suite.Concurrent(t)", folder)
		}
	}
}

// findConcurrent notes which packages the tests of a file run under the race detector. It fails the test for a mark that is not the
// first statement of a test: make race would not find it.
func findConcurrent(t *testing.T, set *token.FileSet, file *ast.File, folder string, raced map[string]bool) {
	t.Helper()
	first := map[*ast.CallExpr]bool{}
	for _, decl := range file.Decls {
		if f, isFunc := decl.(*ast.FuncDecl); isFunc && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && len(f.Body.List) > 0 {
			if statement, isExpr := f.Body.List[0].(*ast.ExprStmt); isExpr {
				if call, isCall := statement.X.(*ast.CallExpr); isCall {
					first[call] = true
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall || !calls(call, "suite", "Concurrent") {
			return true
		}
		if !first[call] {
			t.Errorf("%s: suite.Concurrent is not the first statement of a test", set.Position(call.Pos()))
		}
		raced[folder] = true
		for _, arg := range call.Args[1:] {
			if lit, isLit := arg.(*ast.BasicLit); isLit {
				name, _ := strconv.Unquote(lit.Value) // the parser has read it
				raced[name] = true
			}
		}
		return true
	})
}

// calls tells whether a call is of a function of a package, or of one of several methods of that name.
func calls(call *ast.CallExpr, pkg string, names ...string) bool {
	f, isSelector := call.Fun.(*ast.SelectorExpr)
	if !isSelector || !slices.Contains(names, f.Sel.Name) {
		return false
	}
	x, isName := f.X.(*ast.Ident)
	return pkg == "" || isName && x.Name == pkg
}

// startsGoroutines tells whether a file has a go statement, or calls the Go of a wait group or error group.
func startsGoroutines(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			found = found || calls(n, "", "Go")
		}
		return !found
	})
	return found
}
