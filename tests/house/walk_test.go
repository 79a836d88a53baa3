package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// houseFile is a file of the project that people write: Go, a document, or a file of the console or the JavaScript client.
type houseFile struct {
	path  string // from the project's root, with slashes
	text  string
	parse func() (*ast.File, error)
}

// positions has the positions in all Go files of the house.
var positions = token.NewFileSet()

// made are files that a program writes.
var made = []string{"clients/js/dist", "console/dist", "clients/js/src/wire.d.ts", "tests/openapi/goclient/made.gen.go", "tests/openapi/goclient/typed/made.gen.go", "tests/openapi/made"}

// readHouse reads the files of the project once, without data of tests and what is made, installed or hidden.
var readHouse = sync.OnceValues(func() (files []*houseFile, err error) {
	root, kinds := "../..", []string{".go", ".md", ".js", ".ts", ".css", ".html", ".sql"}
	err = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, _ := filepath.Rel(root, at) // WalkDir's paths begin with root
		inside = filepath.ToSlash(inside)
		if d.IsDir() {
			if slices.Contains(made, inside) || d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && at != root {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains(kinds, filepath.Ext(at)) || slices.Contains(made, inside) {
			return nil
		}
		text, err := os.ReadFile(at)
		f := &houseFile{path: inside, text: string(text)}
		f.parse = sync.OnceValues(func() (*ast.File, error) {
			return parser.ParseFile(positions, f.path, f.text, parser.ParseComments|parser.SkipObjectResolution)
		})
		files = append(files, f)
		return err
	})
	return files, err
})

// house returns the files of the project.
func house(t *testing.T) []*houseFile {
	t.Helper()
	files, err := readHouse()
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// goFiles returns the Go files of the project that are no tests.
func goFiles(t *testing.T) (out []*houseFile) {
	t.Helper()
	for _, f := range house(t) {
		if strings.HasSuffix(f.path, ".go") && !strings.HasSuffix(f.path, "_test.go") {
			out = append(out, f)
		}
	}
	return out
}

// dir returns the path of the file's directory; the root's is ".".
func (f *houseFile) dir() string { return path.Dir(f.path) }

// syntax returns what a Go file has, with its comments.
func (f *houseFile) syntax(t *testing.T) *ast.File {
	t.Helper()
	file, err := f.parse()
	if err != nil {
		t.Fatal(err)
	}
	return file
}
