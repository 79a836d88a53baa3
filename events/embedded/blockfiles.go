package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// blockFiles are the block files into which an embedded server writes a stream's messages, one after the other: it
// appends to the last, and never changes another one. This process opens them by itself, for fsync is of the file and
// not of who wrote to it. Its methods are for one goroutine at a time.
type blockFiles struct {
	dir       string
	lastBlock *os.File // nil before the first block
	number    uint64   // of the last, 0 before the first
	checked   bool     // a block was seen to hold an event that was to be synced
	fsync     func(*os.File) error
}

// openBlockFiles returns the block files of a stream under an embedded server's directory. last is the stream's last
// sequence, which the last block must hold. The caller closes what it returns. It returns events.ErrLayout, and the errors
// of the files.
func openBlockFiles(dir, stream string, last uint64, fsync func(*os.File) error) (b *blockFiles, err error) {
	msgs, err := streamDir(dir, stream)
	if err != nil {
		return nil, err
	}
	b = &blockFiles{dir: msgs, fsync: fsync}
	blocks, _, err := listBlocks(b.dir)
	if err != nil {
		return nil, err
	}
	if len(blocks) > 0 {
		b.number = blocks[len(blocks)-1].number
		if b.lastBlock, err = os.Open(blockPath(b.dir, b.number)); err != nil {
			return nil, err
		}
	}
	if last == 0 {
		return b, nil
	}
	if err := b.check(last); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// streamDir returns the directory of a stream's block files under an embedded server's directory. The error is events.ErrLayout.
func streamDir(dir, stream string) (string, error) {
	found, err := blockDirs(dir, escapeGlob(stream))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%w: %s has %d directories for stream %s", events.ErrLayout, dir, len(found), stream)
	}
	return found[0], nil
}

// blockPath returns the path of a block in the directory of a stream's.
func blockPath(dir string, number uint64) string {
	return filepath.Join(dir, strconv.FormatUint(number, 10)+".blk")
}

// sync makes durable whatever the server has written to the blocks before the call. If blocks were begun since the
// last call, it syncs the one that was the last, later ones, and their directory. It blocks for an fsync.
func (b *blockFiles) sync() error {
	begun := false
	for {
		next, err := os.Open(blockPath(b.dir, b.number+1))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return err
		}
		full := b.lastBlock
		b.lastBlock, begun = next, true
		if full != nil {
			if err := errors.Join(b.fsync(full), full.Close()); err != nil {
				return err
			}
		}
		b.number++
	}
	if b.lastBlock == nil {
		return fmt.Errorf("%w: %s has no block", events.ErrLayout, b.dir)
	}
	if err := b.fsync(b.lastBlock); err != nil || !begun {
		return err
	}
	return syncDir(b.dir, b.fsync)
}

// check returns events.ErrLayout where the last blocks do not hold an event that is stored. It looks once, after that it
// returns nil.
func (b *blockFiles) check(seq uint64) error {
	if b.checked {
		return nil
	}
	blocks, _, err := listBlocks(b.dir)
	if err != nil {
		return err
	}
	for i := len(blocks) - 1; i >= 0; i-- {
		w := walk{block: blocks[i], jump: ^uint64(0), whole: true}
		f, err := os.Open(w.block.path)
		if err != nil {
			return err
		}
		_, err = w.read(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if w.last >= seq {
			b.checked = true
			return nil
		}
		if w.last > 0 {
			break
		}
	}
	return fmt.Errorf("%w: event %d is in none of the last blocks in %s", events.ErrLayout, seq, b.dir)
}

// syncDir makes the names in a directory durable, where this process may read it.
func syncDir(path string, fsync func(*os.File) error) error {
	d, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(fsync(d), d.Close())
}

// close closes what is open.
func (b *blockFiles) close() error {
	if b.lastBlock == nil {
		return nil
	}
	return b.lastBlock.Close()
}

// syncTree makes every file under an embedded server's directory durable, and every name: what a killed process left was
// never synced, and nobody knows which.
func syncTree(dir string, fsync func(*os.File) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			return nil
		}
		var f *os.File
		if err == nil {
			f, err = os.Open(path)
		}
		if errors.Is(err, fs.ErrNotExist) { // the server writes its index anew, and renames it
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(fsync(f), f.Close())
	})
}

// SyncFiles makes everything durable that a server has left in its directory, and the names of the directories in it. No server runs
// there. fsync is the one in Options, nil for the default. The error is Unavailable.
func SyncFiles(dir string, fsync func(*os.File) error) error {
	if fsync == nil {
		fsync = (*os.File).Sync
	}
	if err := syncTree(dir, fsync); err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "the log's files cannot be made durable: %v", err)
	}
	return nil
}
