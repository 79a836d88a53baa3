// Command bundle writes console/dist: the modules of console/src and the libraries of console/vendor, in the few files that a
// browser loads. go generate ./console runs it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// write replaces the directory dist of the console in dir.
func write(dir string) error {
	files, err := bundle(dir)
	if err != nil {
		return err
	}
	dist := filepath.Join(dir, "dist")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(dist, name), files[name], 0o644); err != nil { //nolint:gosec // they are to be read by all, as any source
			return err
		}
	}
	return nil
}

// bundle returns the files of dist by their names. They depend on src, vendor and vendor.json in dir alone. An error has the
// messages of esbuild, with their places.
func bundle(dir string) (map[string][]byte, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	libraries, licences, err := vendored(root)
	if err != nil {
		return nil, err
	}
	made := api.Build(api.BuildOptions{
		AbsWorkingDir: root,
		EntryPoints:   []string{"src/main.js", "src/console.css"},
		Outdir:        "dist",
		Alias:         libraries,
		Bundle:        true,
		Splitting:     true, // each import() begins a file that is loaded when it is needed
		Format:        api.FormatESModule,
		Target:        api.ES2023,
		ChunkNames:    "[name]-[hash]",
		LegalComments: api.LegalCommentsNone, // licences.txt has them
		Charset:       api.CharsetUTF8,

		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
	})
	if len(made.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(made.Errors, api.FormatMessagesOptions{}), ""))
	}
	files := map[string][]byte{"licences.txt": licences}
	for _, f := range made.OutputFiles {
		_, name := filepath.Split(f.Path)
		files[name] = f.Contents
	}
	files["icon.svg"], err = os.ReadFile(filepath.Join(root, "src", "icon.svg"))
	return files, err
}

// vendored returns the file of each name that modules import, from vendor.json, and the licences of them all.
func vendored(root string) (imports map[string]string, licences []byte, err error) {
	text, err := os.ReadFile(filepath.Join(root, "vendor.json"))
	if err != nil {
		return nil, nil, err
	}
	var packages []struct {
		Name, Version string
		Files         []struct{ File, Import string }
	}
	if err := json.Unmarshal(text, &packages); err != nil {
		return nil, nil, fmt.Errorf("vendor.json: %w", err)
	}
	imports = map[string]string{}
	for _, p := range packages {
		for _, f := range p.Files {
			if f.Import != "" {
				imports[f.Import] = "./vendor/" + f.File
			}
			if strings.HasSuffix(f.File, ".licence.txt") {
				of, err := os.ReadFile(filepath.Join(root, "vendor", f.File))
				if err != nil {
					return nil, nil, err
				}
				licences = fmt.Appendf(licences, "%s %s\n\n%s\n", p.Name, p.Version, of)
			}
		}
	}
	return imports, licences, nil
}
