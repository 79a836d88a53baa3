package restore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/backup/transfer"
	"github.com/fanfold/fanfold/tests/harness"
	"github.com/fanfold/fanfold/tests/natsserver"
)

// TestDamageIsRefused damages a backup. Nothing is made then.
func TestDamageIsRefused(t *testing.T) {
	s := scripted(t, harness.Options{Dir: t.TempDir()})
	dir := harness.BackUp(t, s)
	urls := strings.Join(natsserver.Start(t, 1), ",")
	files, err := filepath.Glob(filepath.Join(dir, "segments", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	files = append(files, filepath.Join(dir, "manifest.json"))
	for _, file := range files {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(whole); i += 1 + len(whole)/40 {
			damaged := append([]byte(nil), whole...)
			damaged[i] ^= 1
			for _, content := range [][]byte{damaged, whole[:i]} {
				if err := os.WriteFile(file, content, 0o600); err != nil {
					t.Fatal(err)
				}
				data := filepath.Join(t.TempDir(), "data")
				for _, cfg := range []transfer.RestoreConfig{{Data: data}, {NATS: urls}} {
					_, err := harness.Restore(t.Context(), dir, cfg)
					var damage *backup.Damage
					if !errors.As(err, &damage) {
						t.Fatalf("damage of %s at %d: %v", file, i, err)
					}
				}
				if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
					t.Fatalf("a damaged backup makes %s: %v", data, err)
				}
			}
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := harness.Restore(t.Context(), dir, transfer.RestoreConfig{NATS: urls}); err != nil {
		t.Fatal(err)
	}
}

// TestRestoreRefuses tries places where something is. Nothing in them changes.
func TestRestoreRefuses(t *testing.T) {
	s := scripted(t, harness.Options{Dir: t.TempDir()})
	dir, full := harness.BackUp(t, s), t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		ctx  context.Context
		cfg  transfer.RestoreConfig
		want fanfold.Code
	}{
		{t.Context(), transfer.RestoreConfig{Data: full}, fanfold.Conflict},
		{t.Context(), transfer.RestoreConfig{}, fanfold.Invalid},
		{t.Context(), transfer.RestoreConfig{Data: full, NATS: "nats://127.0.0.1:1"}, fanfold.Invalid},
		{t.Context(), transfer.RestoreConfig{Data: filepath.Join(full, "mine")}, fanfold.Invalid},
		{t.Context(), transfer.RestoreConfig{Data: t.TempDir(), To: "100000-0"}, fanfold.Invalid},
		{t.Context(), transfer.RestoreConfig{Data: t.TempDir(), To: "yesterday"}, fanfold.Invalid},
		{t.Context(), transfer.RestoreConfig{Data: t.TempDir(), To: "2-0-aaaaaaaa"}, fanfold.Invalid},
		{t.Context(), transfer.RestoreConfig{Data: t.TempDir(), To: "1999-01-01T00:00:00Z"}, fanfold.Invalid},
		{ended, transfer.RestoreConfig{Data: t.TempDir()}, ""},
	} {
		if _, err := harness.Restore(c.ctx, dir, c.cfg); err == nil || c.want != "" && fanfold.CodeOf(err) != c.want {
			t.Errorf("%+v: %v, want %s", c.cfg, err, c.want)
		}
	}
	found, err := os.ReadDir(full)
	if err != nil || len(found) != 1 {
		t.Fatalf("the directory has %v, %v", found, err)
	}
}
