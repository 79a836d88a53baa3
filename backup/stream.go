package backup

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"io"
	"time"

	"github.com/fanfold/fanfold"
)

// Stream writes a backup as a stream: a tar of what Writer has in a directory, with the manifest last. A stream that was cut has none, and is
// no backup. It holds one segment in memory, compressed.
type Stream struct {
	out     *tar.Writer
	b       *builder
	written []Segment
	base    *Base // whose file was written, nil for none
	now     time.Time
}

// NewStream returns a stream to w of the events after a point of the log. now is when the backup is made.
func NewStream(w io.Writer, after Point, now time.Time) (*Stream, error) {
	b, err := newBuilder(after)
	if err != nil {
		return nil, err
	}
	return &Stream{out: tar.NewWriter(w), b: b, now: now.UTC()}, nil
}

// WriteBase writes the file of the base after which the log begins, before any event. write is called with what takes the file. Errors are
// LogDamaged for another file than the base says, write's, and the writer's.
func (s *Stream) WriteBase(b *Base, write func(io.Writer) error) error {
	if err := b.check(); err != nil {
		return err
	}
	if err := s.header(b.File, b.Bytes); err != nil {
		return err
	}
	hash := sha256.New()
	err := write(io.MultiWriter(s.out, hash))
	switch {
	case errors.Is(err, tar.ErrWriteTooLong) || err == nil && fanfold.Digest(hash.Sum(nil)) != b.SHA256:
		return fanfold.Errorf(fanfold.LogDamaged, "the object %s, which holds the state after event %d, is not the one that the log names", b.Name, b.Seq)
	case err != nil:
		return err
	}
	s.base = b
	return s.out.Flush() // which fails where the file is shorter
}

// Add adds the next event, which the stream does not keep. It blocks while a segment is written. Errors are Invalid for an event that no
// backup can hold, LogDamaged for one that is not the next, and the writer's.
func (s *Stream) Add(ev *Event) error { return s.AddDigested(ev, s.b.digestOf(ev)) }

// AddDigested is Add for an event whose digest is known, as whoever reads a log knows it.
func (s *Stream) AddDigested(ev *Event, digest fanfold.Digest) error {
	if s.b.full(ev) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	return s.b.add(ev, digest)
}

// flush writes the segment that was collected.
func (s *Stream) flush() error {
	segment, file, err := s.b.finish()
	if err != nil {
		return err
	}
	s.written = append(s.written, segment)
	return s.file(segment.File, file)
}

// file writes a file of the stream.
func (s *Stream) file(name string, content []byte) error {
	if err := s.header(name, int64(len(content))); err != nil {
		return err
	}
	_, err := s.out.Write(content)
	return err
}

// header begins a file of the stream.
func (s *Stream) header(name string, size int64) error {
	return s.out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: s.now.Truncate(time.Second), Format: tar.FormatPAX})
}

// Digest returns the digest of all events up to the last one that was added.
func (s *Stream) Digest() fanfold.Digest { return s.b.chain }

// Finish writes the last segment, and the manifest, in which it fills in what follows from the events and the base's file.
func (s *Stream) Finish(m Manifest) error {
	if s.b.count > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if s.base != nil {
		m.Base = s.base
	}
	m.Format, m.Segments, m.Position, m.Digest, m.Time = m.version(), s.written, s.b.prev, s.b.chain, s.now
	if err := m.check(); err != nil {
		return err
	}
	text, err := m.encode()
	if err != nil {
		return err
	}
	if err := s.file(manifestFile, text); err != nil {
		return err
	}
	return s.out.Close()
}
