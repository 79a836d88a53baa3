package harness

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
)

// BackUp returns the directory of a backup of all that a store has.
func BackUp(t *testing.T, s *Store) string {
	t.Helper()
	s.CatchUp()
	var stream bytes.Buffer
	err := s.Node.Backups.Backup(t.Context(), 0, 0, func(fanfold.Position) io.Writer { return &stream })
	dir := filepath.Join(t.TempDir(), "backup")
	if err == nil {
		err = backup.Unpack(&stream, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Restore restores the backup in a directory.
func Restore(ctx context.Context, dir string, cfg transfer.RestoreConfig) (*transfer.Restored, error) {
	b, err := backup.Open(dir)
	if err != nil {
		return nil, err
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	return transfer.Restore(ctx, b, cfg)
}

// RequireRows opens a restored store, and compares its rows.
func RequireRows(t *testing.T, opt Options, rows string) {
	t.Helper()
	s := Open(t, opt)
	defer s.Close()
	if s.Digest() != rows {
		t.Fatal("the rows are not those of the store before")
	}
}
