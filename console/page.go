package console

import (
	"bytes"
	_ "embed"
	"html/template"
	"path"
	"regexp"
	"slices"
)

// policy is the Content-Security-Policy of the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// page returns the page that loads the files below a directory.
func page(dir string, files map[string]file) ([]byte, error) {
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, map[string]any{"Dir": dir, "Early": early(files)})
	return out.Bytes(), err
}

// imported matches the import of a module that is loaded together with the one it stands in.
var imported = regexp.MustCompile(`\b(?:from|import)"(\./[^"]+)"`)

// early returns the modules that main.js imports, and those that these import, so that none waits for the import of another.
func early(files map[string]file) (modules []string) {
	seen := map[string]bool{}
	open := []string{"main.js"}
	for len(open) > 0 {
		name := open[len(open)-1]
		open = open[:len(open)-1]
		of, found := files[name]
		if !found || seen[name] {
			continue
		}
		seen[name] = true
		modules = append(modules, name)
		for _, m := range imported.FindAllSubmatch(of.plain, -1) {
			open = append(open, path.Join(path.Dir(name), string(m[1])))
		}
	}
	slices.Sort(modules)
	return modules
}
