package main

import (
	"io"
	"log/slog"

	"github.com/fanfold/fanfold"
)

// newLogger returns a logger that writes lines of a format, text or json, from a level on: debug, info, warn or error. The
// error is Invalid.
func newLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	from, known := levels[level]
	if !known {
		return nil, fanfold.Errorf(fanfold.Invalid, "--log-level %q is not one of debug, info, warn and error", level)
	}
	opt := &slog.HandlerOptions{Level: from}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opt)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opt)), nil
	}
	return nil, fanfold.Errorf(fanfold.Invalid, "--log-format %q is not one of text and json", format)
}

// warnings returns a logger of a command that is no server: it writes lines from warn on.
func warnings(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
