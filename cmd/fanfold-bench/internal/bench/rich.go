package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fanfold/fanfold/sqlite"
)

// RichRound is one import of rich data, with the import of its updates.
type RichRound struct {
	Documents int
	Written   int64         // bytes of the documents and their updates
	Took      time.Duration // until everything was folded
	CPU       time.Duration // of this process, which has the log, the store and the client
	Refused   int
	Disk      RichDisk
	Memory    int // of this process, in MB
}

// RichDisk is how many bytes an import leaves on the disk.
type RichDisk struct {
	Log, WAL int64 // right after the import
	Rows     int64 // of the read model at rest
	Changes  int64 // of its rows of changes
}

// rate returns documents a second.
func (r RichRound) rate() float64 { return float64(r.Documents) / r.Took.Seconds() }

// cpu returns microseconds of CPU a document.
func (r RichRound) cpu() float64 { return float64(r.CPU.Microseconds()) / float64(r.Documents) }

// times returns how many times what was written some bytes are.
func (r RichRound) times(size int64) float64 { return float64(size) / float64(r.Written) }

// MeasureRich imports rich data, and then its updates, by load, which returns once everything is folded, with how many lines were
// refused. dir has the store.
func MeasureRich(ctx context.Context, dir string, store *sqlite.Store, d RichData, load func(ctx context.Context, lines io.Reader) (refused int, err error)) (r RichRound, err error) {
	r.Documents = d.Documents + d.Updates()
	began, cpu := time.Now(), cpuTime()
	for _, write := range []func(w io.Writer) (int64, error){d.WriteTo, d.WriteUpdates} {
		n, refused, err := loadWritten(ctx, write, load)
		r.Written, r.Refused = r.Written+n, r.Refused+refused
		if err != nil {
			return r, err
		}
	}
	r.Took, r.CPU = time.Since(began), cpuTime()-cpu
	r.Memory = highWater(os.Getpid())
	r.Disk, err = measureRichDisk(ctx, dir, store)
	return r, err
}

// loadWritten has load read what write writes, and returns how many bytes that were.
func loadWritten(ctx context.Context, write func(w io.Writer) (int64, error), load func(ctx context.Context, lines io.Reader) (int, error)) (size int64, refused int, err error) {
	from, to := io.Pipe()
	written := make(chan int64, 1)
	go func() {
		n, err := write(to)
		to.CloseWithError(err)
		written <- n
	}()
	refused, err = load(ctx, from)
	_ = from.Close() // never fails
	return <-written, refused, err
}

// measureRichDisk measures what an import has left in dir.
func measureRichDisk(ctx context.Context, dir string, store *sqlite.Store) (disk RichDisk, err error) {
	file, err := CurrentFile(store)
	if err != nil {
		return disk, err
	}
	if info, err := os.Stat(file + "-wal"); err == nil {
		disk.WAL = info.Size()
	}
	if disk.Log, err = diskUse(filepath.Join(dir, "nats")); err != nil {
		return disk, err
	}
	if disk.Rows, err = diskOnceStill(ctx, filepath.Join(dir, "readmodel")); err != nil {
		return disk, err
	}
	disk.Changes, err = changeBytes(ctx, store, filepath.Join(dir, "changes.db"))
	return disk, err
}

// changeBytes returns by how many bytes a copy of the store's file, which it makes at path, gets shorter without changes.
func changeBytes(ctx context.Context, store *sqlite.Store, path string) (size int64, err error) {
	if err := copyFile(ctx, store, path); err != nil {
		return 0, err
	}
	before, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite3", "file:"+url.PathEscape(path)+"?_journal_mode=OFF&_synchronous=OFF")
	if err != nil {
		return 0, err
	}
	_, err = db.ExecContext(ctx, "DROP TABLE change; VACUUM")
	if err = errors.Join(err, db.Close()); err != nil {
		return 0, err
	}
	after, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return before.Size() - after.Size(), os.Remove(path)
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
	return One(fmt.Sprintf("import of %d rich documents", guarded.Documents), "documents/s", guarded.rate(), plain.rate(), "limit: the same import without fan-out limit, strict relations and unique members",
		fmt.Sprintf("CPU for a document: %.0f us, at %d documents %.0f us (%.2f times); without the guards %.0f us", guarded.cpu(), small.Documents, small.cpu(), guarded.cpu()/small.cpu(), plain.cpu()),
		fmt.Sprintf("on the disk for a byte written: log %.2f, read model %.2f, of which changes %.2f; SQLite's WAL right after the import %.2f (%.0f MB written)",
			guarded.times(guarded.Disk.Log), guarded.times(guarded.Disk.Rows), guarded.times(guarded.Disk.Changes), guarded.times(guarded.Disk.WAL), float64(guarded.Written)/1e6),
		fmt.Sprintf("most memory of the process, log and client included: %d MB; lines refused: %d", guarded.Memory, guarded.Refused))
}

// RichReplay compares a replay of the log that an import of rich data has left in dir, by a process of its own, with the
// import.
func RichReplay(ctx context.Context, dir string, imported RichRound) (r Result, err error) {
	events, seconds, peak, err := replay(ctx, dir)
	if err != nil {
		return r, err
	}
	return One(fmt.Sprintf("replay of %d rich documents", imported.Documents), "documents/s", float64(imported.Documents)/seconds, imported.rate(), "limit: the import", fmt.Sprintf("%d events, with the changes that reached many; most memory of the replaying process, embedded log included: %d MB", events, peak)), nil
}

// cpuTime returns the CPU time that this process has taken.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// StoreDisk returns how many bytes the log and the read model below dir have on the disk.
func StoreDisk(dir string) (log, rows int64, err error) {
	log, err = diskUse(filepath.Join(dir, "nats"))
	if err == nil {
		rows, err = diskUse(filepath.Join(dir, "readmodel"))
	}
	return log, rows, err
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
