package console

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"path"
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

// first is the directory of the one page that is loaded ahead; others are loaded with what leads to them.
const first = "pages/collections/"

// policy is the Content-Security-Policy of the page, with the hash of its import map in place of MAP: an import map can stand
// in the page alone.
const policy = "default-src 'none'; script-src 'self' 'sha256-MAP'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// page returns the page that loads the files below a directory, and the policy that allows its import map.
func page(dir string, names []string) (text []byte, csp string, err error) {
	urls := map[string]string{}
	for name, file := range imports {
		urls[name] = "./" + dir + "/" + file
	}
	importMap, err := json.Marshal(map[string]any{"imports": urls})
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	err = pageTemplate.Execute(&out, map[string]any{"Dir": dir, "Map": template.HTML(importMap), "Early": early(names)}) //nolint:gosec // the map is ours
	sum := sha256.Sum256(importMap)
	return out.Bytes(), strings.Replace(policy, "MAP", base64.StdEncoding.EncodeToString(sum[:]), 1), err
}

// early returns the modules that the page loads ahead, so that none waits for the import of another.
func early(names []string) (modules []string) {
	for _, name := range names {
		isLate := strings.HasPrefix(name, "pages/") && !strings.HasPrefix(name, first) || name == imports["@dagrejs/dagre"]
		if ext := path.Ext(name); (ext == ".js" || ext == ".mjs") && !isLate {
			modules = append(modules, name)
		}
	}
	return modules
}
