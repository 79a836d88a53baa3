package node

import (
	"errors"
	"os"
	"path/filepath"
)

// writeDurably gives the file at a path a content, all at once. It returns when that is durable. beforeRename, which may be nil, is asked
// when the content is durable under another name; its error leaves the file as it was.
func writeDurably(path string, content []byte, mode os.FileMode, beforeRename func() error) error {
	f, err := os.OpenFile(path+newFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil && beforeRename != nil {
		err = beforeRename()
	}
	if err == nil {
		err = os.Rename(path+newFile, path)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path), (*os.File).Sync)
}

// newFile ends the name of a file that is being written.
const newFile = ".new"

// syncDir makes the names in a directory durable.
func syncDir(path string, fsync func(*os.File) error) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(fsync(d), d.Close())
}
