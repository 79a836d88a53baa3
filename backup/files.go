package backup

import (
	"errors"
	"io"
	"os"
)

// files are what a Writer does to files. Tests let any of it fail.
type files interface {
	// write makes a file that holds all that content has, and returns once that is durable.
	write(path string, content io.Reader) error
	// rename gives a file another name, in place of one that has it.
	rename(from, to string) error
	// sync makes the names in a directory durable.
	sync(dir string) error
	// remove removes a file.
	remove(path string) error
}

// disk is files on a disk.
type disk struct{}

func (disk) write(path string, content io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(f, content); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (disk) rename(from, to string) error { return os.Rename(from, to) }

func (disk) sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (disk) remove(path string) error { return os.Remove(path) }
