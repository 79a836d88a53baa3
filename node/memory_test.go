package node

import (
	"bytes"
	"log/slog"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/api"
)

// TestBoundsFollowTheMemory: the bounds of bodies and answers follow the memory that there is, the log says which, and what was asked for stays.
func TestBoundsFollowTheMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20))
	var log bytes.Buffer
	cfg := Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	fitMemory(&cfg)
	if cfg.API.MaxInFlight != 8<<20 || cfg.API.MaxSending != 32<<20 {
		t.Errorf("the bounds are %d and %d", cfg.API.MaxInFlight, cfg.API.MaxSending)
	}
	if !strings.Contains(log.String(), "bytes=268435456 by=GOMEMLIMIT bodies=8388608 answers=33554432") {
		t.Errorf("the log says %s", &log)
	}
	cfg.API = api.Options{MaxInFlight: 1 << 30, MaxSending: 1 << 31}
	if fitMemory(&cfg); cfg.API.MaxInFlight != 1<<30 || cfg.API.MaxSending != 1<<31 {
		t.Errorf("what was asked for becomes %d and %d", cfg.API.MaxInFlight, cfg.API.MaxSending)
	}
}
