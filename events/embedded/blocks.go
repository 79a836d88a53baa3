package embedded

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events"
)

// Bounds of looking at block files.
const (
	maxSequenceJump = 1_000_000 // more than a block of 8 MiB has records
	maxWholeBlocks  = 1 << 30   // bytes of a stream's blocks up to which all of them are read
	blockBuffer     = 256 << 10
)

// badRecord is a record at which the server would go on for ever, for it notes every sequence that a block lacks between
// two records as deleted.
type badRecord struct {
	file   string
	offset int64
	before uint64 // the sequence of the record before it, or the first of the block before
	found  uint64
}

// damaged returns the record as LogDamaged.
func (b *badRecord) damaged() error {
	return fanfold.Errorf(fanfold.LogDamaged, "%s is damaged at byte %d: a record has sequence %d, and the one before it %d; %s",
		b.file, b.offset, b.found, b.before, events.Repair)
}

// checkBlocks reads the block files of the streams under an embedded server's directory, and returns LogDamaged where the
// server would not come to an end with one. It looks at every record if the stream's blocks have at most maxWholeBlocks
// bytes, or if its index is gone. Otherwise it looks at the last block's records and the first of every block. Any other
// damage is left to the server, which finds it by checksums. Errors are LogDamaged, Unavailable and ctx's.
func checkBlocks(ctx context.Context, dir string) error {
	bad, err := walkStreams(ctx, dir)
	if bad != nil {
		return bad.damaged()
	}
	return err
}

// CutBlocks cuts the block files under an embedded server's directory, in which no server runs, before every record with
// which Start refuses to start. The rest of the file is lost: dir is a copy. Errors are Unavailable and ctx's.
func CutBlocks(ctx context.Context, dir string) error {
	for {
		bad, err := walkStreams(ctx, dir)
		if bad == nil {
			return err
		}
		if err := os.Truncate(bad.file, bad.offset); err != nil {
			return fanfold.Wrap(err, fanfold.Unavailable, "cannot cut %s: %v", bad.file, err)
		}
		// The index has the block as it was; without it the server reads the blocks.
		if err := os.Remove(filepath.Join(filepath.Dir(bad.file), "index.db")); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fanfold.Wrap(err, fanfold.Unavailable, "cannot remove the index beside %s: %v", bad.file, err)
		}
	}
}

// walkStreams returns the first bad record of the streams under dir, nil for none.
func walkStreams(ctx context.Context, dir string) (*badRecord, error) {
	streams, err := blockDirs(dir, "*")
	if err != nil {
		return nil, err
	}
	for _, msgs := range streams {
		blocks, size, err := listBlocks(msgs)
		if err != nil {
			return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot read %s: %v", msgs, err)
		}
		_, err = os.Stat(filepath.Join(msgs, "index.db"))
		if bad, err := walkBlocks(ctx, blocks, beginsBehind(msgs), size <= maxWholeBlocks || err != nil); bad != nil || err != nil {
			return bad, err
		}
	}
	return nil, nil
}

// blockDirs returns the directories of the block files of the streams that a pattern names, under an embedded server's
// directory.
func blockDirs(dir, streams string) ([]string, error) {
	return filepath.Glob(filepath.Join(escapeGlob(dir), "jetstream", "*", "streams", streams, "msgs"))
}

// escapeGlob returns a pattern that matches the path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// block is a block file.
type block struct {
	path   string
	number uint64
	size   int64
}

// listBlocks returns the block files in a directory in their order, and how many bytes they have.
func listBlocks(dir string) (blocks []block, size int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		name, isBlock := strings.CutSuffix(e.Name(), ".blk")
		number, err := strconv.ParseUint(name, 10, 32)
		if !isBlock || err != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, 0, err
		}
		blocks = append(blocks, block{filepath.Join(dir, e.Name()), number, info.Size()})
		size += info.Size()
	}
	slices.SortFunc(blocks, func(a, b block) int { return int(int64(a.number) - int64(b.number)) })
	return blocks, size, nil
}

// beginsBehind returns the last sequence before the first that a stream can have, as the server's settings of it say: one that was restored
// begins later than with 1. It returns 0 where they cannot be read, which is left to the server.
func beginsBehind(msgs string) uint64 {
	var settings struct {
		FirstSeq uint64 `json:"first_seq"`
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(msgs), "meta.inf"))
	if err != nil || json.Unmarshal(text, &settings) != nil {
		return 0
	}
	return max(settings.FirstSeq, 1) - 1
}

// walkBlocks returns the first bad record of a stream's blocks. It reads all records or only some. Its first sequence comes after last.
// Blocks that are missing between two may have had as many records as blocks can have.
func walkBlocks(ctx context.Context, blocks []block, last uint64, whole bool) (*badRecord, error) {
	var number uint64
	for i, b := range blocks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := os.Open(b.path)
		if err != nil {
			return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot read %s: %v", b.path, err)
		}
		w := walk{block: b, last: last, jump: (b.number - number + 1) * maxSequenceJump, whole: whole || i == len(blocks)-1}
		bad, err := w.read(f)
		_ = f.Close() // it was only read
		if bad != nil || err != nil {
			return bad, err
		}
		last, number = w.last, b.number
	}
	return nil, nil
}

// walk is the state of reading a block's records.
type walk struct {
	block block
	last  uint64 // the highest sequence before
	jump  uint64 // by how much the next may be higher
	whole bool   // read all records, or only the first
}

// read reads the block's records up to the end, or up to one whose length is impossible. There a kill has ended the
// file, or damage stops the server, too. It returns the first bad one, nil for none.
func (w *walk) read(f io.Reader) (*badRecord, error) {
	r := bufio.NewReaderSize(f, blockBuffer)
	if magic, err := r.Peek(len(compressedBlock)); err == nil && bytes.Equal(magic, []byte(compressedBlock)) {
		return nil, nil
	}
	for offset := int64(0); offset+recordHeader <= w.block.size; {
		header, err := r.Peek(recordHeader)
		if err != nil {
			return nil, w.unreadable(err)
		}
		word := binary.LittleEndian.Uint32(header)
		length, shortest := int64(word&^headersFlag), int64(recordHeader+recordChecksum)+int64(binary.LittleEndian.Uint16(header[20:]))
		if word&headersFlag != 0 {
			shortest += 4
		}
		if length < shortest || length > maxRecord || length > w.block.size-offset {
			return nil, nil
		}
		// The server takes no notice of the sequences of tombstones, and of those that are not higher.
		if seq := binary.LittleEndian.Uint64(header[4:]); seq&tombstoneFlag == 0 && seq&^erasedFlag > w.last {
			seq &^= erasedFlag
			if seq-w.last > w.jump {
				return &badRecord{w.block.path, offset, w.last, seq}, nil
			}
			w.last, w.jump = seq, maxSequenceJump
			if !w.whole {
				return nil, nil
			}
		}
		if _, err := r.Discard(int(length)); err != nil {
			return nil, w.unreadable(err)
		}
		offset += length
	}
	return nil, nil
}

// unreadable returns the error for a block that cannot be read.
func (w *walk) unreadable(err error) error {
	return fanfold.Wrap(err, fanfold.Unavailable, "cannot read %s: %v", w.block.path, err)
}
