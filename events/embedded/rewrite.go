package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// maxRewrite bounds the bytes of the blocks that are written anew before they take the places of the old ones.
const maxRewrite = 1 << 30

// rewriting are blocks that are to be without some records, from the next start of the server on. Its methods are for one goroutine at a time.
type rewriting struct {
	drops map[string]events.Drop // by stream
	ready map[string]fs.FileInfo // full blocks that are written anew beside the old ones, which had this information, by their paths
	step  func(what, path string) error
}

// Rewrite has the next Restart write the blocks of streams anew, without the messages that are to be dropped: see events.Blocks. It also removes
// what was cut from the end of logs.
func (e *Server) Rewrite(ctx context.Context, drops map[string]events.Drop) (more bool, err error) {
	r := &rewriting{drops: drops, ready: map[string]fs.FileInfo{}, step: e.opt.rewriteStep}
	if err := r.do("cut", filepath.Join(e.opt.Dir, "cut"), func(path string) error {
		return errors.Join(os.RemoveAll(path), syncDir(e.opt.Dir, e.opt.Fsync))
	}); err != nil {
		return false, unwritten(err)
	}
	for stream, drop := range drops {
		if drop.Changing { // the server may replace any of its blocks
			continue
		}
		some, err := r.prepare(ctx, e.opt, stream, drop)
		if err != nil {
			return false, unwritten(err)
		}
		more = more || some
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rewriting = r
	return more, nil
}

// unwritten returns the error for blocks that cannot be written anew.
func unwritten(err error) error {
	return fanfold.Wrap(err, fanfold.Unavailable, "files of the log cannot be written anew: %v", err)
}

// do does something to a file, or returns the error of the test's step.
func (r *rewriting) do(what, path string, fn func(path string) error) error {
	if r.step != nil {
		if err := r.step(what, path); err != nil {
			return err
		}
	}
	return fn(path)
}

// prepare writes the full blocks of a stream anew beside the old ones, maxRewrite bytes at most. It tells whether there are more.
func (r *rewriting) prepare(ctx context.Context, opt Options, stream string, drop events.Drop) (more bool, err error) {
	msgs, err := streamDir(opt.Dir, stream)
	if err != nil {
		return false, err
	}
	blocks, _, err := listBlocks(msgs)
	if err != nil || len(blocks) == 0 {
		return false, err
	}
	var size int64
	for _, b := range blocks[:len(blocks)-1] {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if size > maxRewrite {
			return true, nil
		}
		info, err := os.Stat(b.path)
		if errors.Is(err, fs.ErrNotExist) { // purged meanwhile
			continue
		}
		changed := false
		if err == nil {
			changed, err = r.write(b, stream, drop, opt.Fsync)
		}
		if err != nil {
			return false, err
		}
		if changed {
			r.ready[b.path] = info
			size += info.Size()
		}
	}
	return false, nil
}

// write writes a block anew beside the old one, where it has a record that is to be dropped, and tells whether it has.
func (r *rewriting) write(b block, stream string, drop events.Drop, fsync func(*os.File) error) (changed bool, err error) {
	old, err := os.ReadFile(b.path)
	if err != nil {
		return false, err
	}
	next, changed, err := withoutRecords(old, stream, b.number, drop)
	if err != nil || !changed {
		return false, err
	}
	return true, r.do("write", temporary(b.path), func(path string) error {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
		if err != nil {
			return err
		}
		_, err = f.Write(next)
		if err == nil {
			err = fsync(f)
		}
		if err = errors.Join(err, f.Close()); err != nil { // on a full disk nothing of it is to stay
			err = errors.Join(err, os.Remove(path))
		}
		return err
	})
}

// temporary returns the path of a block that is written anew. The server ignores it, and the next start removes it.
func temporary(path string) string { return path + ".tmp" }

// apply has new blocks take the places of the old ones. The server does not run. It is safe to do it again after a kill anywhere in it.
func (r *rewriting) apply(ctx context.Context, opt Options) error {
	for stream, drop := range r.drops {
		msgs, err := streamDir(opt.Dir, stream)
		if errors.Is(err, events.ErrLayout) && drop.Changing { // the bucket is gone
			continue
		}
		if err != nil {
			return err
		}
		blocks, _, err := listBlocks(msgs)
		if err != nil {
			return err
		}
		// The index has the blocks as they were. Without it the server reads the blocks.
		if err := r.do("index", filepath.Join(msgs, "index.db"), os.Remove); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := syncDir(msgs, opt.Fsync); err != nil {
			return err
		}
		for i, b := range blocks {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := r.replace(b, stream, drop, drop.Changing || i == len(blocks)-1, opt.Fsync); err != nil {
				return err
			}
		}
		if err := r.do("directory", msgs, func(path string) error { return syncDir(path, opt.Fsync) }); err != nil {
			return err
		}
	}
	return nil
}

// replace replaces a block by one without the records that are to be dropped. again says that it is to be looked at now.
func (r *rewriting) replace(b block, stream string, drop events.Drop, again bool, fsync func(*os.File) error) error {
	old, ready := r.ready[b.path]
	if ready {
		now, err := os.Stat(b.path)
		if err != nil {
			return err
		}
		again = again || !os.SameFile(old, now) || old.Size() != now.Size()
	}
	if again {
		var err error
		if ready, err = r.write(b, stream, drop, fsync); err != nil {
			return err
		}
	}
	if !ready {
		return nil
	}
	delete(r.ready, b.path)
	return r.do("rename", b.path, func(path string) error {
		if info, err := os.Stat(temporary(path)); err == nil && info.Size() == 0 { // all of it is from before the log's base
			return errors.Join(os.Remove(path), os.Remove(temporary(path)))
		}
		return os.Rename(temporary(path), path)
	})
}

// withoutRecords returns a block's bytes without the contents of records that are to be dropped, and whether there are any. The error is
// events.ErrLayout.
func withoutRecords(old []byte, stream string, number uint64, drop events.Drop) (next []byte, changed bool, err error) {
	if bytes.HasPrefix(old, []byte(compressedBlock)) {
		return nil, false, fmt.Errorf("%w: block %d is compressed", events.ErrLayout, number)
	}
	sums := newChecksums(stream, number)
	next = make([]byte, 0, len(old))
	for rest := old; len(rest) > 0; {
		size := sums.whole(rest)
		if size == 0 {
			return nil, false, fmt.Errorf("%w: a record of block %d is not whole", events.ErrLayout, number)
		}
		record := rest[:size]
		rest = rest[size:]
		seq := binary.LittleEndian.Uint64(record[4:])
		switch {
		case seq&tombstoneFlag == 0 && seq&^erasedFlag <= drop.UpTo:
			changed = true
		case seq&tombstoneFlag == 0 && seq&erasedFlag == 0 && drop.Has(seq), seq&erasedFlag != 0 && seq&tombstoneFlag == 0 && size > recordHeader+recordChecksum:
			next = sums.appendErased(next, record)
			changed = true
		default:
			next = append(next, record...)
		}
	}
	return next, changed, nil
}

// appendErased appends what stands in the place of a record whose content is gone: its sequence, as erased, and its time.
func (c *checksums) appendErased(dst, record []byte) []byte {
	var header [recordHeader]byte
	binary.LittleEndian.PutUint32(header[:], recordHeader+recordChecksum)
	binary.LittleEndian.PutUint64(header[4:], binary.LittleEndian.Uint64(record[4:])|erasedFlag)
	copy(header[12:20], record[12:20])
	c.hash.Reset()
	_, _ = c.hash.Write(header[4:20])
	return append(append(dst, header[:]...), c.hash.Sum(c.sum[:0])...)
}
