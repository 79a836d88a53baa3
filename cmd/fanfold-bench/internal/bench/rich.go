package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// RichRound is one import of rich data.
type RichRound struct {
	Documents int
	Written   int64         // bytes of the documents
	Took      time.Duration // until everything was folded
	CPU       time.Duration // of this process, which has the log, the store and the client
	Refused   int
	Log, Rows int64 // bytes on the disk, of the rows at rest
	Memory    int   // of this process, in MB
}

// rate returns documents a second.
func (r RichRound) rate() float64 { return float64(r.Documents) / r.Took.Seconds() }

// cpu returns microseconds of CPU a document.
func (r RichRound) cpu() float64 { return float64(r.CPU.Microseconds()) / float64(r.Documents) }

// MeasureRich imports rich data by load, which returns once everything is folded, with how many lines were refused. dir
// has the store.
func MeasureRich(ctx context.Context, dir string, d RichData, load func(ctx context.Context, lines io.Reader) (refused int, err error)) (r RichRound, err error) {
	r.Documents = d.Documents
	read, write := io.Pipe()
	written := make(chan int64, 1)
	go func() {
		n, err := d.WriteTo(write)
		write.CloseWithError(err)
		written <- n
	}()
	began, cpu := time.Now(), cpuTime()
	r.Refused, err = load(ctx, read)
	r.Took, r.CPU = time.Since(began), cpuTime()-cpu
	_ = read.Close() // never fails
	r.Written = <-written
	if err != nil {
		return r, err
	}
	r.Memory = highWater(os.Getpid())
	r.Log, err = diskUse(filepath.Join(dir, "nats"))
	if err == nil {
		r.Rows, err = diskOnceStill(ctx, filepath.Join(dir, "readmodel"))
	}
	return r, err
}

// diskOnceStill returns how many bytes the files below dir have once that no longer changes, because SQLite's log was moved
// into the file.
func diskOnceStill(ctx context.Context, dir string) (size int64, err error) {
	const stillFor = 2 * time.Second // more than a node takes to begin
	for since := time.Now(); time.Since(since) < stillFor; {
		now, err := diskUse(dir)
		if err != nil {
			return 0, err
		}
		if now != size {
			size, since = now, time.Now()
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(stillFor / 20):
		}
	}
	return size, nil
}

// RichResult compares imports of rich data with the same import without limit, strict relations and unique members. small
// is an import of a tenth of the documents.
func RichResult(small, guarded, plain RichRound) Result {
	r := result(fmt.Sprintf("import of %d rich documents", guarded.Documents), "documents/s", []float64{guarded.rate()}, []float64{plain.rate()})
	r.Notes = append(r.Notes, "limit: the same import without fan-out limit, strict relations and unique members",
		fmt.Sprintf("CPU for a document: %.0f us, at %d documents %.0f us (%.2f times); without the guards %.0f us", guarded.cpu(), small.Documents, small.cpu(), guarded.cpu()/small.cpu(), plain.cpu()),
		fmt.Sprintf("on the disk for a byte written: log %.1f, read model %.1f (%.0f MB written)", float64(guarded.Log)/float64(guarded.Written), float64(guarded.Rows)/float64(guarded.Written), float64(guarded.Written)/1e6),
		fmt.Sprintf("most memory of the process, log and client included: %d MB; lines refused: %d", guarded.Memory, guarded.Refused))
	return r
}

// cpuTime returns the CPU time that this process has taken.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// diskUse returns how many bytes the files below dir have. A file that goes meanwhile is passed over.
func diskUse(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "-shm") {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return ignoreMissing(err)
	})
	return size, err
}

// ignoreMissing returns nil for an error that says that a file is not there.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
