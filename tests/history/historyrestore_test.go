package history_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/tests/harness"
)

// checkRestored restores a backup of the store. The rows of every table are the store's, before a replay and after it, and what
// was there and is there is read alike.
func (h *history) checkRestored() {
	dir, err := os.MkdirTemp("", "restored")
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			h.t.Fatal(err)
		}
	}()
	rows, before := h.s.Digest(), h.s
	var stream bytes.Buffer
	data := filepath.Join(dir, "data")
	err = before.Node.Backups.Backup(context.Background(), 0, 0, func(fanfold.Position) io.Writer { return &stream })
	if err == nil {
		err = backup.Unpack(&stream, filepath.Join(dir, "backup"))
	}
	if err != nil {
		h.t.Fatal(err)
	}
	b, err := backup.Open(filepath.Join(dir, "backup"))
	if err == nil {
		_, err = transfer.Restore(context.Background(), b, transfer.RestoreConfig{Data: data, Logger: slog.New(slog.DiscardHandler)})
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.s = harness.Open(h.t, harness.Options{KeepFold: true, Dir: data})
	defer func() {
		h.s.Close()
		h.s = before
	}()
	h.s.AllErased()
	if h.s.Digest() != rows {
		h.t.Fatal("the restored store has other rows")
	}
	h.s.Replay()
	if h.s.Digest() != rows {
		h.t.Fatal("the restored store has other rows after a replay")
	}
	h.s.Verify()
	h.check()
	h.checkPast()
}
