package admission

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/fanfold/fanfold"
)

// Spool holds what is written until a slower reader has read it, in a file that has no name and goes with the process. So
// the snapshot of an export is open for as long as the disk takes, not for as long as the client does.
type Spool struct {
	file *os.File

	mu      sync.Mutex
	written int64
	end     error         // io.EOF where everything is written, another error where that failed; nil before
	more    chan struct{} // closed when there is more, or the end
}

// NewSpool returns an empty spool in a directory. The caller closes it. The error is Unavailable.
func NewSpool(dir string) (*Spool, error) {
	f, err := os.CreateTemp(dir, "export-*")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "there is no place for the export: %v", err)
	}
	return &Spool{file: f, more: make(chan struct{})}, nil
}

// Write appends b. The error is Unavailable.
func (s *Spool) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	if err != nil {
		return n, fanfold.Wrap(err, fanfold.Unavailable, "the disk that holds the export fails: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written += int64(n)
	s.wake()
	return n, nil
}

// Finish tells the reader that nothing more is written, and why where err is not nil.
func (s *Spool) Finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end = err; err == nil {
		s.end = io.EOF
	}
	s.wake()
}

// wake wakes the reader. The caller holds mu.
func (s *Spool) wake() {
	close(s.more)
	s.more = make(chan struct{})
}

// state returns how much is written, a channel that is closed once there is more, and the end.
func (s *Spool) state() (written int64, more <-chan struct{}, end error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written, s.more, s.end
}

// SendTo writes everything to w in pieces, calls before ahead of each piece, and blocks until it is finished. It returns the
// errors of Finish, ctx, before and w.
func (s *Spool) SendTo(ctx context.Context, w io.Writer, before func() error) error {
	buf := make([]byte, LargePiece)
	for at := int64(0); ; {
		written, more, end := s.state()
		switch {
		case at < written:
			n, err := s.file.ReadAt(buf[:min(int64(len(buf)), written-at)], at)
			if err != nil {
				return err
			}
			if err := cmp.Or(ctx.Err(), before(), ctx.Err()); err != nil { // it may end while before sets the time for the piece
				return err
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			at += int64(n)
			continue
		case errors.Is(end, io.EOF):
			return nil
		case end != nil:
			return end
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close gives the file's space back.
func (s *Spool) Close() error { return s.file.Close() }
