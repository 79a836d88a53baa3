package embedded

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/fanfold/fanfold/events"
)

// OutOfSpace returns what the server says of a write that failed for lack of space, after which it stores nothing more in that stream.
// It returns "" for no such write, and if an fsync has failed. If a lack of space is suspected, it looks.
func (e *Server) OutOfSpace() string {
	suspected := e.suspect.Swap(false)
	if e.syncFailed() {
		return ""
	}
	if suspected {
		if err := probeSpace(e.opt.Dir); err != nil && isOutOfSpace(err.Error()) {
			return err.Error()
		}
	}
	e.mu.Lock()
	s := e.server
	e.mu.Unlock()
	if s == nil {
		return ""
	}
	for _, found := range s.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if found.Type == server.HealthzErrorStream && isOutOfSpace(found.Error) {
			return found.Error
		}
	}
	return ""
}

// SuspectSpace says that the server has dropped a transaction that was sent whole. For lack of space it does so without a word:
// it keeps transactions in files of their own before it stores them, and leaves these files open then.
func (e *Server) SuspectSpace() {
	e.suspect.Store(true)
	e.signalTrouble()
}

// signalTrouble wakes who looks for lack of space.
func (e *Server) signalTrouble() {
	select {
	case e.trouble <- struct{}{}:
	default:
	}
}

// isOutOfSpace reports whether the server's text tells of a write that found no space, or more than a quota allows. The server
// keeps the operating system's error as text alone.
func isOutOfSpace(text string) bool {
	if strings.Contains(text, "write error: sync ") {
		return false
	}
	return strings.HasSuffix(text, syscall.ENOSPC.Error()) || strings.HasSuffix(text, syscall.EDQUOT.Error())
}

// syncFailed returns whether an fsync has failed since the server was started.
func (e *Server) syncFailed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.syncers, func(s *syncer) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.failed != nil
	})
}

// Trouble has an element where the server has told of an error.
func (e *Server) Trouble() <-chan struct{} { return e.trouble }

// ProbeSpace returns an error where events.ProbeBytes cannot be written beside the streams.
func (e *Server) ProbeSpace() error { return probeSpace(e.opt.Dir) }

// probeSpace returns an error where a file of events.ProbeBytes cannot be written in a directory. It writes one, for a quota is not seen
// otherwise, and removes it.
func probeSpace(dir string) (err error) {
	path := filepath.Join(dir, "space-probe")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.Remove(path); err == nil {
			err = removed
		}
	}()
	chunk := make([]byte, 1<<20)
	for range events.ProbeBytes / len(chunk) {
		if _, err = f.Write(chunk); err != nil {
			_ = f.Close()
			return err
		}
	}
	return f.Close()
}
