package logserver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fanfold/fanfold/internal/sameboot"
	"github.com/fanfold/fanfold/internal/smallfile"
)

// stillFile says what the system said of the embedded server's files after a clean end. It stands beside them.
const (
	stillFile    = "still"
	maxStillFile = 1 << 10
)

// still returns what the system says of the embedded server's files, "" if that is not enough: see sameboot.Still.
func (s *Server) still() string {
	var paths []string
	err := filepath.WalkDir(filepath.Join(s.dir(), "jetstream"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		return ""
	}
	return sameboot.Still(paths...)
}

// noteStill writes down that nobody has touched the files since the embedded server was closed. Without the note the next start reads the log through
// before it is ready: so an error is only logged.
func (s *Server) noteStill() {
	if text := s.still(); text != "" {
		if err := os.WriteFile(s.stillPath(), []byte(text), 0o600); err != nil {
			s.opt.Logger.Warn("how the log's files were left cannot be written down: the next start reads the log through before it is ready", "err", err)
		}
	}
}

// isStill tells whether nobody has touched the files since noteStill. It changes nothing: a start that is refused leaves the directory as it is.
func (s *Server) isStill() bool {
	noted, _, err := smallfile.Read(s.stillPath(), maxStillFile, 0)
	return err == nil && string(noted) == s.still()
}

// forgetStill removes the note, for the embedded server has started. A note of files in which the server writes is untrue anyway.
func (s *Server) forgetStill() {
	if err := os.Remove(s.stillPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.undisturbed = false
	}
}

// stillPath returns the path of the note.
func (s *Server) stillPath() string { return filepath.Join(s.dir(), stillFile) }

// Undisturbed tells whether nobody has touched the embedded server's files between its clean end and Open, as the system says.
func (s *Server) Undisturbed() bool { return s.undisturbed }
