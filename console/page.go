package console

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"path"
	"regexp"
	"slices"
	"strings"
)

// imports says which file each bare name of an import stands for.
var imports = map[string]string{
	"preact":               "vendor/preact.mjs",
	"preact/hooks":         "vendor/hooks.mjs",
	"@preact/signals":      "vendor/signals.mjs",
	"@preact/signals-core": "vendor/signals-core.mjs",
	"htm":                  "vendor/htm.mjs",
	"@dagrejs/dagre":       "vendor/dagre.mjs",
}

// policy is the Content-Security-Policy of the page, with the hash of its import map in place of MAP: an import map can stand
// in the page alone.
const policy = "default-src 'none'; script-src 'self' 'sha256-MAP'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// page returns the page that loads the files below a directory, and the policy that allows its import map.
func page(dir string, files map[string]file) (text []byte, csp string, err error) {
	urls := map[string]string{}
	for name, file := range imports {
		urls[name] = "./" + dir + "/" + file
	}
	importMap, err := json.Marshal(map[string]any{"imports": urls})
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	err = pageTemplate.Execute(&out, map[string]any{"Dir": dir, "Map": template.HTML(importMap), "Early": early(files)}) //nolint:gosec // the map is ours
	sum := sha256.Sum256(importMap)
	return out.Bytes(), strings.Replace(policy, "MAP", base64.StdEncoding.EncodeToString(sum[:]), 1), err
}

// imported matches the import of a module that is loaded together with the one it stands in.
var imported = regexp.MustCompile(`(?m)^(?:import|export)\b[^'"()]*['"]([^'"]+)['"]|\bfrom ?"([^"]+)"`)

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
			other := string(m[1]) + string(m[2])
			if bare, known := imports[other]; known {
				open = append(open, bare)
			} else {
				open = append(open, path.Join(path.Dir(name), other))
			}
		}
	}
	slices.Sort(modules)
	return modules
}
