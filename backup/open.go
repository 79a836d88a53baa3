package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/fanfold/fanfold"
)

// Backup is a backup in a directory, opened for reading. Nothing needs to be closed.
type Backup struct {
	Manifest
	dir string
}

// Holds tells whether a directory holds a backup, whole or damaged.
func Holds(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, manifestFile))
	return err == nil
}

// Open reads the manifest of the backup in a directory. Errors are NotFound where there is none, Damage, and Unavailable where files
// cannot be read.
func Open(dir string) (*Backup, error) {
	b, err := readFile(filepath.Join(dir, manifestFile), MaxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fanfold.Wrap(err, fanfold.NotFound, "%s holds no backup: it has no %s", dir, manifestFile)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, fanfold.Wrap(err, fanfold.NotFound, "%s is no directory of a backup: where it is a stream, fanfold restore - < %s takes it", dir, dir)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	m, err := decodeManifest(b)
	if err != nil {
		return nil, err
	}
	return &Backup{*m, dir}, nil
}

// Check reads the whole backup: hashes, the base, records, sequences and the chain of digests. It tells progress, which may be nil, how many events
// are read, and holds one segment in memory. Errors are Damage, which names the file and the event; ctx's; and Unavailable where files
// cannot be read.
func (b *Backup) Check(ctx context.Context, progress fanfold.Progress) error {
	if err := b.CheckBase(); err != nil {
		return err
	}
	first := b.begins().Seq
	return b.Events(ctx, first, func(ev *Event) error {
		if done := ev.Seq - first; done%1024 == 0 || ev.Seq == b.Position {
			progress.Tell("reading the backup", int64(done), int64(b.Position-first))
		}
		return nil
	})
}

// Events calls fn with each event after a sequence, in order. An event is valid until fn returns. Each segment's hash is checked before
// fn gets its first event, and the digest of all events up to its end after its last. Errors are as of Check, and fn's.
func (b *Backup) Events(ctx context.Context, after uint64, fn func(*Event) error) error {
	o, err := newOpener(b.begins())
	if err != nil {
		return err
	}
	defer o.close()
	for i := range b.Segments {
		s := &b.Segments[i]
		if s.Last <= after {
			o.at = Point{s.Last, s.Digest}
			continue
		}
		if err := b.segment(ctx, o, s, after, fn); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// digests calls fn with each event's place, in order.
func (b *Backup) digests(ctx context.Context, fn func(at Point)) error {
	o, err := newOpener(b.begins())
	if err != nil {
		return err
	}
	defer o.close()
	for i := range b.Segments {
		if err := b.segment(ctx, o, &b.Segments[i], 0, func(*Event) error { fn(o.at); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// segment calls fn with each event of the next segment after a sequence.
func (b *Backup) segment(ctx context.Context, o *opener, s *Segment, after uint64, fn func(*Event) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	file, err := b.read(s)
	if err != nil {
		return err
	}
	return o.check(file, s, func(ev *Event) error {
		switch {
		case ev.Seq <= after:
			return nil
		case ev.Seq%1024 == 0 && ctx.Err() != nil:
			return ctx.Err()
		}
		return fn(ev)
	})
}

// read returns a segment's file.
func (b *Backup) read(s *Segment) ([]byte, error) {
	file, err := readFile(filepath.Join(b.dir, filepath.FromSlash(s.File)), s.Bytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, damaged(s.File, s.First, "the file is missing")
	case err != nil:
		return nil, unreadable(err)
	}
	return file, nil
}

// readFile returns a file up to limit bytes, and one more where it is longer.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	return b, errors.Join(err, f.Close())
}

// unreadable is the error of files that cannot be read.
func unreadable(err error) error {
	return fanfold.Wrap(err, fanfold.Unavailable, "the backup cannot be read: %v", err)
}
