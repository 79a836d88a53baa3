// Package datadir has the lock of a data directory, the files that say what is in it, and how a file is replaced at once.
package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/backup"
	"github.com/fanfold/fanfold/events"
)

// Files that say what is in a directory.
const (
	ReadModelFile = "readmodel.json" // it holds a read model of one position
	RestoringFile = "restoring"      // a backup is being restored: there before anything else, until all of that is durable
	LockFile      = "lock"           // whose lock keeps others out
)

// Lock makes a directory that nobody else may enter, where there is none, and locks it. The caller closes the file that it returns to release the
// lock; the system does so when the process ends in any other way. Errors are Invalid; Unavailable where another
// process has the lock; and Conflict where a backup was not restored to the end.
func Lock(dir string) (*os.File, error) {
	f, err := LockRestoring(dir)
	if err != nil {
		return f, err
	}
	restoring, err := IsRestoring(dir)
	if restoring {
		err = events.ErrUnfinished(dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// IsRestoring returns whether a directory has a restore that has not come to its end. The error is Unavailable.
func IsRestoring(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, RestoringFile))
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return err == nil, nil
	}
	return false, fanfold.Wrap(err, fanfold.Unavailable, "the data directory cannot be read: %v", err)
}

// LockRestoring does what Lock does, also where a restore has not come to its end.
func LockRestoring(dir string) (*os.File, error) {
	if dir == "" {
		return nil, fanfold.Errorf(fanfold.Invalid, "--data must name a directory")
	}
	if Exists(filepath.Join(dir, ReadModelFile)) {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s is of a replay to a position, and has no log: fanfold serve --read-only %s serves it", dir, dir)
	}
	if backup.Holds(dir) {
		return nil, fanfold.Errorf(fanfold.Invalid, "%s holds a backup, and no store: fanfold restore %s --data DIR makes one of it", dir, dir)
	}
	return LockFor(dir, "--data")
}

// LockFor makes and locks the directory that a flag names.
func LockFor(dir, flag string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot make the data directory: %v", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, LockFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot write into the data directory %s: %v", dir, err)
	}
	if err := tryLock(f); err != nil {
		return nil, errors.Join(fanfold.Wrap(err, fanfold.Unavailable, "the data directory %s is in use by another fanfold process: stop that, or choose another directory with %s", dir, flag), f.Close())
	}
	return f, nil
}

// How often and at which intervals a lock is tried. Between fork and exec a child of this process holds a copy of the
// lock's descriptor, so that a lock may be taken for a moment after it was released.
const (
	lockRetries = 20
	lockPause   = 50 * time.Millisecond
)

// tryLock locks a file, and tries again for a moment where it is locked. The error is EWOULDBLOCK where it stays locked.
func tryLock(f *os.File) (err error) {
	for range lockRetries {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		time.Sleep(lockPause)
	}
	return err
}
