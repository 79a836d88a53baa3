package sqlite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// The files beside a generation that say how it was left. Each has a hash of its own text, so that one that is damaged
// counts as none.
const (
	sumPrefix   = "sum-"   // the generation's file as it was when it was closed: its size and hash
	movedPrefix = "moved-" // the last event that was folded when the WAL was last moved into the file
	tracePrefix = "trace-" // of the generation's files while they are sound: see trace
	stillPrefix = "still-" // of the generation's file as it was when it was closed: see still
)

// sumTime is how long hashing a file at a clean end may take. A file that takes longer has no sum.
const sumTime = 4 * time.Second

// errNoNote is the error of a note that is not there, or damaged.
var errNoNote = errors.New("there is no such note, or it is damaged")

// notePath returns the path of a note about generation n.
func (s *Store) notePath(prefix string, n int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s%06d", prefix, n))
}

// hashOf returns the SHA-256 of a text in hexadecimal digits.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// writeNote writes a file, durably and all at once, that readNote reads.
func writeNote(path, text string) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text + " " + hashOf(text) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// readNote returns the text of a file that writeNote wrote. The error is errNoNote, or an error of reading it.
func readNote(path string) (text string, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", errNoNote
	}
	if err != nil {
		return "", err
	}
	text, hash, _ := strings.Cut(strings.TrimSuffix(string(b), "\n"), " ")
	if hash != hashOf(text) {
		return "", errNoNote
	}
	return text, nil
}

// syncDir makes what was done to the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// sumFile returns the size and hash of a file as its note has them. No connection to the file may be open: closing the
// descriptor would take away its locks. The error is os.ErrDeadlineExceeded where it takes longer than limit, 0 for none.
func sumFile(path string, limit time.Duration) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	began := time.Now()
	return sumOf(f, func() bool { return limit > 0 && time.Since(began) > limit })
}

// sumOf returns the size and hash of what it reads. The error is os.ErrDeadlineExceeded if late, which it asks now and then, returned true.
func sumOf(r io.Reader, late func() bool) (string, error) {
	h, size := sha256.New(), int64(0)
	for {
		n, err := io.CopyN(h, r, 16<<20)
		size += n
		if errors.Is(err, io.EOF) {
			return fmt.Sprintf("%d:%s", size, hex.EncodeToString(h.Sum(nil))), nil
		}
		if err != nil {
			return "", err
		}
		if late() {
			return "", os.ErrDeadlineExceeded
		}
	}
}

// unhashed begins a note that has a file's size and time in place of its hash.
const unhashed = "unhashed:"

// statFile returns such a note. SQLite has brought the file to the disk as it was closed.
func statFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(unhashed, info.Size(), ":", info.ModTime().UnixNano()), nil
}

// noteSum writes down what the file of the current generation is, once every connection to it is closed. It leaves no
// note where SQLite has left something beside the file, as it does while another process reads it.
func (s *Store) noteSum() error {
	path := s.filePath(s.number)
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return nil
	}
	limit := sumTime
	if by := s.closeBy.Load(); by != 0 {
		limit = max(time.Nanosecond, min(limit, time.Until(time.Unix(0, by))))
	}
	sum, err := sumFile(path, limit)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		sum, err = statFile(path)
	}
	if err != nil {
		return err
	}
	if err := writeNote(s.notePath(sumPrefix, s.number), sum); err != nil || s.sealing || strings.HasPrefix(sum, unhashed) {
		return err
	}
	return notes{s, s.number}.noteStill()
}

// How a generation was left.
type ending int

const (
	endedClean   ending = iota // its file is as it was left
	endedStill                 // nobody has touched its file since, as the system says: its hash is compared while it is served
	endedKilled                // the process ended in another way, or did not hash the file, and the system has all that it wrote
	endedUnknown               // nothing says that it is: the system itself may have ended
	endedDamaged               // it is not
)

// atomicEnding is an ending that several goroutines read and write.
type atomicEnding struct{ value atomic.Int32 }

func (a *atomicEnding) get() ending { return ending(a.value.Load()) }

func (a *atomicEnding) set(e ending) { a.value.Store(int32(e)) }

// inDoubt tells whether nothing says that a file is as it was left.
func inDoubt(left ending) bool { return left >= endedUnknown }

// checkSum compares the file of generation n with its note, and removes the note, for the file is about to change. No
// connection to the file may be open. It returns the errors of reading and removing.
func (s *Store) checkSum(n int) (ending, error) {
	note := s.notePath(sumPrefix, n)
	want, err := readNote(note)
	if errors.Is(err, errNoNote) {
		return notes{s, n}.checkTrace()
	}
	if err != nil {
		return endedUnknown, err
	}
	differs, same, read := endedDamaged, endedClean, func(path string) (string, error) { return sumFile(path, 0) }
	if strings.HasPrefix(want, unhashed) {
		differs, same, read = endedUnknown, endedKilled, statFile
	}
	if same == endedClean && !s.opt.AsIs && !s.readOnly && (notes{s, n}).isStill() {
		same, s.Hashing.want = endedStill, want
	} else if have, err := read(s.filePath(n)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return endedUnknown, err
	} else if have != want {
		return differs, nil
	}
	if info, err := os.Stat(s.filePath(n) + "-wal"); err == nil && info.Size() > 0 {
		return endedDamaged, nil // it belongs to another time
	}
	if s.opt.AsIs {
		return same, nil
	}
	notes{s, n}.noteTrace()
	return same, errors.Join(os.Remove(note), syncDir(s.dir))
}
