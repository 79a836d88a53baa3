// Package smallfile reads files that flags name: whole, and within a bound.
package smallfile

import (
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/fanfold/fanfold"
)

// Demand is something that a file must be.
type Demand int

// The demands.
const (
	Regular Demand = 1 << iota // no directory, pipe or device
	Secret                     // not for everybody on the machine to read
)

// Read returns what a file has after a byte order mark, at most so many bytes, and what the system said of it when it was opened. The error is Invalid: its
// message begins with the path, or says who may read it.
func Read(path string, most int64, demands Demand) (text []byte, info os.FileInfo, err error) {
	if info, err = os.Stat(path); err == nil && demands&Regular != 0 && !info.Mode().IsRegular() { // to open a pipe may block
		return nil, nil, fanfold.Errorf(fanfold.Invalid, "%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, unreadable(path, err)
	}
	if info, err = f.Stat(); err == nil && demands&Secret != 0 && info.Mode().Perm()&0o004 != 0 {
		_ = f.Close()
		return nil, nil, fanfold.Errorf(fanfold.Invalid, "everybody on this machine may read %s: change that with chmod 600", path)
	}
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, most+1))
	}
	switch err = errors.Join(err, f.Close()); {
	case err != nil:
		return nil, nil, unreadable(path, err)
	case int64(len(text)) > most:
		return nil, nil, fanfold.Errorf(fanfold.Invalid, "%s has more than %d bytes", path, most)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), info, nil
}

func unreadable(path string, err error) error {
	return fanfold.Wrap(err, fanfold.Invalid, "%s cannot be read: %v", path, err)
}
