package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold"
)

// record returns a record with a sequence, of a size in bytes.
func record(seq uint64, size int) []byte {
	b := make([]byte, size)
	binary.LittleEndian.PutUint32(b, uint32(size))
	binary.LittleEndian.PutUint64(b[4:], seq)
	return b
}

// TestCheckBlocks: only a jump of the sequences is refused: within a block, and between two by more than those that are
// missing between them can have had.
func TestCheckBlocks(t *testing.T) {
	const far = 1 << 36
	one, two := record(1, 100), record(2, 100)
	for name, c := range map[string]struct {
		blocks  map[string][][]byte
		refused bool
	}{
		"sound":             {blocks: map[string][][]byte{"1.blk": {one, two}, "2.blk": {record(3, 100)}}},
		"empty":             {blocks: map[string][][]byte{"1.blk": {}}},
		"cut":               {blocks: map[string][][]byte{"1.blk": {one, two[:50]}}},
		"cut in the header": {blocks: map[string][][]byte{"1.blk": {one, two[:9]}}},
		"zeros":             {blocks: map[string][][]byte{"1.blk": {one, make([]byte, 100), record(far, 100)}}},
		"tombstone":         {blocks: map[string][][]byte{"1.blk": {one, record(far|tombstoneFlag, 100), two}}},
		"erased":            {blocks: map[string][][]byte{"1.blk": {one, record(2|erasedFlag, 100), record(3, 100)}}},
		"lower":             {blocks: map[string][][]byte{"1.blk": {two, one, record(3, 100)}}},
		"compressed":        {blocks: map[string][][]byte{"1.blk": {[]byte("cmp"), record(far, 100)}}},
		"other files":       {blocks: map[string][][]byte{"1.blk.tmp": {record(far, 100)}, "x.blk": {record(far, 100)}}},
		"blocks missing":    {blocks: map[string][][]byte{"1.blk": {one}, "10.blk": {record(5_000_000, 100)}}},
		"jump":              {blocks: map[string][][]byte{"1.blk": {one, record(far, 100)}}, refused: true},
		"erased jump":       {blocks: map[string][][]byte{"1.blk": {one, record(far|erasedFlag, 100)}}, refused: true},
		"first":             {blocks: map[string][][]byte{"1.blk": {record(far, 100)}}, refused: true},
		"next block":        {blocks: map[string][][]byte{"9.blk": {one}, "10.blk": {record(3_000_000, 100)}}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			msgs := writeBlocks(t, dir, c.blocks)
			err := checkBlocks(t.Context(), dir)
			if c.refused != (fanfold.CodeOf(err) == fanfold.LogDamaged) || !c.refused && err != nil {
				t.Errorf("refused with %v", err)
			}
			if err := CutBlocks(t.Context(), dir); err != nil {
				t.Error(err)
			}
			if err := checkBlocks(t.Context(), dir); err != nil {
				t.Errorf("refused after the cut with %v", err)
			}
			if _, err := os.Stat(filepath.Join(msgs, "index.db")); (err != nil) != c.refused {
				t.Errorf("the index: %v", err)
			}
		})
	}
}

// TestCheckBlocksOfRestoredLog: a restored log begins where its settings say, however far that is.
func TestCheckBlocksOfRestoredLog(t *testing.T) {
	const far = 1 << 36
	for first, refused := range map[uint64]bool{far: false, far - 1000: false, 1: true, 0: true} {
		dir := t.TempDir()
		msgs := writeBlocks(t, dir, map[string][][]byte{"1.blk": {record(far, 100), record(far+1, 100)}})
		if err := os.WriteFile(filepath.Join(filepath.Dir(msgs), "meta.inf"), fmt.Appendf(nil, `{"name":"s","first_seq":%d}`, first), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := checkBlocks(t.Context(), dir); refused != (fanfold.CodeOf(err) == fanfold.LogDamaged) || !refused && err != nil {
			t.Errorf("a log from %d on: %v", first, err)
		}
	}
}

// TestCheckBlocksEnds: the check of blocks ends with its context.
func TestCheckBlocksEnds(t *testing.T) {
	dir := t.TempDir()
	writeBlocks(t, dir, map[string][][]byte{"1.blk": {record(1, 100)}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := checkBlocks(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("the check ends with %v", err)
	}
}

// TestLargeStreamsAreSampled: a large stream is not read whole at the start, but the first record of each block and all of the last block.
// Without its index all of it is read.
func TestLargeStreamsAreSampled(t *testing.T) {
	dir := t.TempDir()
	msgs := writeBlocks(t, dir, map[string][][]byte{"1.blk": {record(1, 100), record(1<<36, 100)}, "2.blk": {record(3, 100)}})
	if err := os.Truncate(filepath.Join(msgs, "1.blk"), maxWholeBlocks); err != nil { // sparse
		t.Fatal(err)
	}
	if err := checkBlocks(t.Context(), dir); err != nil {
		t.Errorf("refused with %v", err)
	}
	if err := os.Remove(filepath.Join(msgs, "index.db")); err != nil {
		t.Fatal(err)
	}
	if err := checkBlocks(t.Context(), dir); fanfold.CodeOf(err) != fanfold.LogDamaged {
		t.Errorf("refused with %v", err)
	}
}

// writeBlocks makes a stream of blocks with an index under dir, and returns their directory.
func writeBlocks(t testing.TB, dir string, blocks map[string][][]byte) string {
	t.Helper()
	msgs := filepath.Join(dir, "jetstream", "$G", "streams", "s", "msgs")
	if err := os.MkdirAll(msgs, 0o755); err != nil {
		t.Fatal(err)
	}
	blocks["index.db"] = nil
	for name, records := range blocks {
		var all []byte
		for _, r := range records {
			all = append(all, r...)
		}
		if err := os.WriteFile(filepath.Join(msgs, name), all, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return msgs
}

// BenchmarkCheckBlocks measures reading 64 MiB of block files with records of 300 bytes.
func BenchmarkCheckBlocks(b *testing.B) {
	dir := b.TempDir()
	var records [][]byte
	for seq := range uint64(64 << 20 / 300) {
		records = append(records, record(seq+1, 300))
	}
	writeBlocks(b, dir, map[string][][]byte{"1.blk": records})
	b.SetBytes(64 << 20)
	for b.Loop() {
		if err := checkBlocks(b.Context(), dir); err != nil {
			b.Fatal(err)
		}
	}
}
