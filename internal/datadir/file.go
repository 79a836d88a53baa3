package datadir

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteFile gives the file at a path a content, all at once. It returns when that is durable. beforeRename, which may be nil, is asked
// when the content is durable under another name; its error leaves the file as it was.
func WriteFile(path string, content []byte, mode os.FileMode, beforeRename func() error) error {
	f, err := os.OpenFile(path+NewFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil && beforeRename != nil {
		err = beforeRename()
	}
	if err == nil {
		err = os.Rename(path+NewFile, path)
	}
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path), (*os.File).Sync)
}

// NewFile ends the name of a file that is being written.
const NewFile = ".new"

// SyncDir makes the names in a directory durable.
func SyncDir(path string, fsync func(*os.File) error) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(fsync(d), d.Close())
}

// Exists tells whether there is something at a path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
