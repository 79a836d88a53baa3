package main

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/internal/jsondoc"
)

// Bounds of what commands read into memory, in bytes. A server may take less of it.
const (
	maxInput  = 64 << 20 // a document, a patch or a model
	maxConfig = 1 << 20
)

// readFile returns a file of at most limit bytes; what says what is in it. The error is Invalid.
func readFile(path, what string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err, what)
	}
	defer f.Close()
	return readInput(f, what, limit)
}

// readInput returns what in has, up to limit bytes, without a byte order mark before it; what says what that is. The error is Invalid.
func readInput(in io.Reader, what string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, unreadable(err, what)
	}
	if int64(len(text)) > limit {
		return nil, fanfold.Errorf(fanfold.Invalid, "the %s has more than %d bytes, which is the most that is read", what, limit)
	}
	return jsondoc.WithoutMark(text), nil
}

// unreadable returns the Invalid for something that cannot be read.
func unreadable(err error, what string) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fanfold.Wrap(err, fanfold.Invalid, "cannot read the %s: %s: %v", what, at.Path, at.Err)
	}
	return fanfold.Wrap(err, fanfold.Invalid, "cannot read the %s: %v", what, err)
}
