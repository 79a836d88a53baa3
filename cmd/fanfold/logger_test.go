package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestLogger: the log is text or JSON, from a level on.
func TestLogger(t *testing.T) {
	var text strings.Builder
	for _, format := range []string{"text", "json"} {
		log, err := newLogger(&text, format, "warn")
		if err != nil {
			t.Fatal(err)
		}
		log.Info("unseen")
		log.Warn("seen", "n", 1)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	var line struct {
		Level, Msg string
		N          int
	}
	if len(lines) != 2 || !strings.Contains(lines[0], "level=WARN msg=seen n=1") || json.Unmarshal([]byte(lines[1]), &line) != nil || line.Msg != "seen" || line.N != 1 {
		t.Errorf("the log has %q", lines)
	}
	for _, wrong := range [][2]string{{"xml", "info"}, {"text", "loud"}} {
		if _, err := newLogger(&text, wrong[0], wrong[1]); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
}
