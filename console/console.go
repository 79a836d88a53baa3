// Package console serves the web console: a page, and the modules, the styles and the icon that it loads. All its data comes from
// the public API.
package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold"
)

// Console serves the files of the console. It may be used from many goroutines.
type Console struct {
	tree func() (*tree, error)
	live bool // the files are read for each request
}

// ofProgram is the tree of the files in the program, made at the first request of the process.
var ofProgram = sync.OnceValues(func() (*tree, error) {
	dist, err := fs.Sub(embedded, "dist")
	if err != nil {
		return nil, err
	}
	return newTree(dist)
})

// New returns a console. With dir it serves the files of that directory, as they are at each request; otherwise those in the
// program. The error is Invalid for a directory that does not have them.
func New(dir string) (*Console, error) {
	if dir == "" {
		return &Console{tree: ofProgram}, nil
	}
	c := &Console{live: true, tree: func() (*tree, error) { return newTree(os.DirFS(dir)) }}
	if _, err := os.Stat(dir); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "--console-dir: %v", err)
	}
	t, err := c.tree()
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Invalid, "--console-dir: %v", err)
	}
	if _, found := t.files["main.js"]; !found {
		return nil, fanfold.Errorf(fanfold.Invalid, "--console-dir: %s has no main.js: name the directory console/dist of the source", dir)
	}
	return c, nil
}

// ServeFile answers a GET or HEAD for a name below /_console/; the name of the page is empty. Errors are NotFound for a name that
// is none, and Internal for files that cannot be read; nothing is sent then.
func (c *Console) ServeFile(w http.ResponseWriter, r *http.Request, name string) error {
	t, err := c.tree()
	if err != nil {
		return fanfold.Wrap(err, fanfold.Internal, "the files of the console: %v", err)
	}
	h := w.Header()
	if name == "" {
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		c.send(w, r, t.page, "no-cache")
		return nil
	}
	below, found := strings.CutPrefix(name, "s/"+t.hash+"/")
	of, known := t.files[below]
	if !found || !known {
		return fanfold.Errorf(fanfold.NotFound, "the console has no file %s: open /_console/", strconv.Quote(name))
	}
	c.send(w, r, of, "public, max-age=31536000, immutable")
	return nil
}

// send answers with a file, by gzip to whoever takes that, or with 304.
func (c *Console) send(w http.ResponseWriter, r *http.Request, f file, caching string) {
	if c.live {
		caching = "no-store"
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", caching)
	sum := sha256.Sum256(f.plain)
	h.Set("ETag", `W/"`+hex.EncodeToString(sum[:16])+`"`) // the same for both codings
	text := f.plain
	if takesGzip(r) {
		text = f.small()
		h.Set("Content-Encoding", "gzip")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// takesGzip tells whether the client of a request takes gzip (RFC 9110, 12.5.3). One that gives it any weight but 0 does.
func takesGzip(r *http.Request) bool {
	for _, line := range r.Header["Accept-Encoding"] {
		for part := range strings.SplitSeq(line, ",") {
			coding, weight, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				q, given := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
				value, err := strconv.ParseFloat(q, 64)
				return !given || err == nil && value > 0
			}
		}
	}
	return false
}
