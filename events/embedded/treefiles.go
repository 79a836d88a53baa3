package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fanfold/fanfold/events"
)

// treeFiles are the files of a stream from which messages are deleted, as from a bucket's: the server deletes full blocks
// and replaces them by smaller ones. So it looks at all blocks every time, and syncs those that are not as they were. A
// bucket is small.
type treeFiles struct {
	dir    string // the stream's
	fsync  func(*os.File) error
	synced map[string]fs.FileInfo // the blocks as they were when they were synced, by their paths; nil before the first sync
}

// openTree returns the files of a stream under an embedded server's directory. The error is events.ErrLayout where there is not
// one directory of that name.
func openTree(dir, stream string, fsync func(*os.File) error) (*treeFiles, error) {
	found, err := blockDirs(dir, escapeGlob(stream))
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%w: %s has %d directories for stream %s", events.ErrLayout, dir, len(found), stream)
	}
	return &treeFiles{dir: filepath.Dir(found[0]), fsync: fsync}, nil
}

// maxTreePasses bounds how often the files are gone through again because the server has replaced one meanwhile.
const maxTreePasses = 10

// sync makes durable whatever the server has written before the call: at first all files, then what has changed. It goes
// through the blocks again where one was replaced meanwhile: what it had opened was the old one.
func (t *treeFiles) sync() error {
	if t.synced == nil {
		if err := syncTree(t.dir, t.fsync); err != nil {
			return err
		}
	}
	for range maxTreePasses {
		before, err := t.blocks()
		if err != nil {
			return err
		}
		if err := t.syncBlocks(before); err != nil {
			return err
		}
		after, err := t.blocks()
		if err != nil {
			return err
		}
		if sameFiles(before, after) {
			t.synced = before
			return nil
		}
	}
	return fmt.Errorf("%w: the files in %s are replaced again and again", events.ErrLayout, t.dir)
}

// syncBlocks syncs the blocks that are not as they were when they were synced, and their directory where it has others. The
// server appends to a block or replaces it, so that its size or its identity tells.
func (t *treeFiles) syncBlocks(blocks map[string]fs.FileInfo) error {
	for path, info := range blocks {
		old, known := t.synced[path]
		if known && os.SameFile(old, info) && old.Size() == info.Size() && old.ModTime().Equal(info.ModTime()) {
			continue
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) { // the server has deleted it
			continue
		}
		if err == nil {
			err = errors.Join(t.fsync(f), f.Close())
		}
		if err != nil {
			return err
		}
	}
	if t.synced != nil && sameFiles(t.synced, blocks) {
		return nil
	}
	return syncDir(filepath.Join(t.dir, "msgs"), t.fsync)
}

// blocks returns what the block files are now, by their names.
func (t *treeFiles) blocks() (map[string]fs.FileInfo, error) {
	msgs := filepath.Join(t.dir, "msgs")
	blocks, _, err := listBlocks(msgs)
	if errors.Is(err, fs.ErrNotExist) { // one was deleted between its name and its size
		blocks, _, err = listBlocks(msgs)
	}
	if err != nil {
		return nil, err
	}
	out := make(map[string]fs.FileInfo, len(blocks))
	for _, b := range blocks {
		info, err := os.Stat(b.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[b.path] = info
	}
	return out, nil
}

// sameFiles reports whether every file after is one of those before. A file that is gone needs no fsync.
func sameFiles(before, after map[string]fs.FileInfo) bool {
	for path, info := range after {
		if old, ok := before[path]; !ok || !os.SameFile(old, info) {
			return false
		}
	}
	return true
}

// check returns nil: openTree has found the one directory that the stream can be in.
func (t *treeFiles) check(uint64) error { return nil }

// close does nothing: no file stays open.
func (t *treeFiles) close() error { return nil }
