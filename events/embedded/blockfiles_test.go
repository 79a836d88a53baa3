package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold/events"
)

// TestLayoutIsChecked: an event that is in none of the last blocks is not said to be durable, at the start nor at the
// first sync.
func TestLayoutIsChecked(t *testing.T) {
	fsync := func(*os.File) error { return nil }
	for name, c := range map[string]struct {
		blocks map[string][][]byte
		last   uint64
		ok     bool
	}{
		"sound":             {map[string][][]byte{"1.blk": {record(1, 100)}, "2.blk": {record(2, 100)}}, 2, true},
		"an empty block":    {map[string][][]byte{"1.blk": {record(1, 100)}, "2.blk": {}}, 1, true},
		"behind":            {map[string][][]byte{"1.blk": {record(1, 100)}}, 2, false},
		"nothing":           {map[string][][]byte{}, 1, false},
		"something else":    {map[string][][]byte{"1.blk": {make([]byte, 500)}}, 1, false},
		"compressed blocks": {map[string][][]byte{"1.blk": {[]byte("cmp"), record(1, 100)}}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeBlocks(t, dir, c.blocks)
			b, err := openBlockFiles(dir, "s", c.last, fsync)
			if (err == nil) != c.ok || err != nil && !errors.Is(err, events.ErrLayout) {
				t.Errorf("at the start: %v", err)
			}
			if err == nil {
				_ = b.close()
			}
			if b, err = openBlockFiles(dir, "s", 0, fsync); err != nil {
				t.Fatal(err)
			}
			s := &syncer{files: b, stored: func() uint64 { return 0 }}
			if err := s.Wait(t.Context(), c.last); (err == nil) != c.ok {
				t.Errorf("at the first sync: %v", err)
			}
			if err := s.Failure(); (err == nil) != c.ok {
				t.Errorf("afterwards: %v", err)
			}
			_ = b.close()
		})
	}
	if _, err := openBlockFiles(t.TempDir(), "fanfold", 0, fsync); !errors.Is(err, events.ErrLayout) {
		t.Errorf("without a directory: %v", err)
	}
}

// TestFailedSyncOfAFullBlock: what is open is closed once after it, whichever block's fsync failed.
func TestFailedSyncOfAFullBlock(t *testing.T) {
	failure := errors.New("the disk is gone")
	dir := t.TempDir()
	writeBlocks(t, dir, map[string][][]byte{"1.blk": {record(1, 100)}})
	b, err := openBlockFiles(dir, "s", 1, func(f *os.File) error {
		if filepath.Base(f.Name()) == "1.blk" {
			return failure
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	writeBlocks(t, dir, map[string][][]byte{"2.blk": {record(2, 100)}})
	if err := b.sync(); !errors.Is(err, failure) {
		t.Errorf("the sync says %v", err)
	}
	if err := b.close(); err != nil {
		t.Errorf("the end says %v", err)
	}
}
