package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"sync"

	"github.com/fanfold/fanfold"
)

// types are the media types of the files, by their endings. A file of no other kind is served.
var types = map[string]string{
	".js":  "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// file is one file as it is sent.
type file struct {
	kind  string // its media type
	plain []byte
	small func() []byte // by gzip, made at the first call
}

// tree holds the files of the console and the page that loads them.
type tree struct {
	files map[string]file // by their names below dist
	hash  string          // of all names and contents
	page  file
}

// newTree reads the files and makes the page. It returns the errors of the files, and Invalid for a file of an unknown kind.
func newTree(dist fs.FS) (*tree, error) {
	t := &tree{files: map[string]file{}}
	sum := sha256.New() // the files in the order of WalkDir, by their names
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		kind, known := types[path.Ext(name)]
		if !known {
			return fanfold.Errorf(fanfold.Invalid, "%s: a file of the console ends in .js, .css, .svg or .txt", name)
		}
		text, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		of := sha256.Sum256(text)
		_, _ = sum.Write(append([]byte(name+"\x00"), of[:]...)) // a hash takes all
		t.files[name] = newFile(kind, text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	text, err := page("s/"+t.hash, t.files)
	if err != nil {
		return nil, err
	}
	t.page = newFile("text/html; charset=utf-8", text)
	return t, nil
}

// newFile returns a file of a kind.
func newFile(kind string, text []byte) file {
	return file{kind: kind, plain: text, small: sync.OnceValue(func() []byte {
		var small bytes.Buffer
		w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(text)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			panic(err) // the level is one, and a buffer takes all
		}
		return small.Bytes()
	})}
}
