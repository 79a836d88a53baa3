package faults_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/tests/harness"
)

// blockStore makes a store of 240 documents, and returns its directory, its export, and where the records of its only
// block file begin.
func blockStore(t *testing.T) (dir, export string, records []int) {
	t.Helper()
	dir = t.TempDir()
	s := harness.Open(t, harness.Options{Dir: dir})
	for i := range 240 {
		s.Put("c", fmt.Sprint(i), fmt.Sprintf(`{"n":%d}`, i))
	}
	s.CatchUp()
	export = harness.Body(s, "/v1/_export")
	s.Close()
	b, err := os.ReadFile(logBlocks(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(b); at += int(binary.LittleEndian.Uint32(b[at:]) &^ (1 << 31)) {
		records = append(records, at)
	}
	if len(records) != 240 {
		t.Fatalf("%d records", len(records))
	}
	return dir, export, records
}

// flip flips a bit of the first block file of a data directory.
func flip(t *testing.T, dir string, at, bit int) {
	t.Helper()
	path := logBlocks(t, dir)[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at+bit/8] ^= 1 << (bit % 8)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFlippedRecordHeaders: one bit in the sequence or the length of a record in a block file is flipped. A node either refuses the file
// as damaged, soon, or shows what was there.
func TestFlippedRecordHeaders(t *testing.T) {
	dir, export, records := blockStore(t)
	for _, record := range []int{0, 120, 239} {
		for field, bits := range map[int][]int{4: {1, 7, 20, 29, 36, 50, 61, 62, 63}, 0: {1, 6, 12, 20, 24, 30, 31}} {
			for _, bit := range bits {
				t.Run(fmt.Sprintf("record %d field %d bit %d", record, field, bit), func(t *testing.T) {
					copied := t.TempDir()
					copyTree(t, dir, copied)
					flip(t, copied, records[record]+field, bit)
					type result struct {
						s   *harness.Store
						err error
					}
					started := make(chan result, 1)
					go func() {
						s, err := harness.Start(t, harness.Options{Dir: copied})
						started <- result{s, err}
					}()
					var r result
					select {
					case r = <-started:
					case <-time.After(30 * time.Second):
						panic("the node neither starts nor refuses to") // it takes all memory where it may go on
					}
					if r.err != nil {
						if fanfold.CodeOf(r.err) != fanfold.LogDamaged {
							t.Errorf("refused with %v", r.err)
						}
						return
					}
					defer r.s.Close()
					if reason := readiness(t, r.s); reason == "" && harness.Body(r.s, "/v1/_export") != export {
						t.Error("the node is ready, and its documents are not those that were there")
					}
				})
			}
		}
	}
}

// TestRefusedRecord: the error for a sequence with which the server would not start says where it is, and nothing in the directory
// changes. A rescue has every document and names the events after it.
func TestRefusedRecord(t *testing.T) {
	dir, export, records := blockStore(t)
	flip(t, dir, records[120]+4, 36)
	before := treeOf(t, filepath.Join(dir, "nats"))
	_, err := harness.Start(t, harness.Options{Dir: dir})
	want := fmt.Sprintf("1.blk is damaged at byte %d: a record has sequence %d, and the one before it 120;", records[120], 121+1<<36)
	if fanfold.CodeOf(err) != fanfold.LogDamaged || !strings.Contains(err.Error(), want) {
		t.Fatalf("refused with %v, want %s", err, want)
	}
	file := filepath.Join(t.TempDir(), "rescued.ndjson")
	out, err := harness.RunProgram(t, "log", "rescue", "--data", dir, "--out", file)
	if err != nil || !strings.Contains(out, "missing or unreadable: 121-240") {
		t.Errorf("rescue: %v %s", err, out)
	}
	if rescued, err := os.ReadFile(file); err != nil || string(rescued) != export {
		t.Errorf("%v: the rescue wrote\n%s\nwant\n%s", err, rescued, export)
	}
	if after := treeOf(t, filepath.Join(dir, "nats")); after != before {
		t.Errorf("the directory changed:\n%s\n%s", before, after)
	}
}

// TestStartEnds: a start whose context has ended returns, and has started nothing that still writes.
func TestStartEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if s, err := embedded.Start(ctx, embedded.Options{Dir: dir, Durability: embedded.Interval, Logger: slog.New(slog.DiscardHandler)}); err == nil {
		_ = s.Close()
		t.Error("the server starts")
	}
	if _, err := os.Stat(filepath.Join(dir, "jetstream")); err == nil {
		t.Error("the server has made its directory")
	}
}
