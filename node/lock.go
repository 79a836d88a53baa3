package node

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fanfold/fanfold"
)

// LockDir makes the directory and takes its lock, which the system drops when the process
// ends, however it does.
func LockDir(dir string) (*os.File, error) {
	if dir == "" {
		return nil, fanfold.Errorf(fanfold.Invalid, "--data must name a directory")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot make the data directory: %v", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot write into the data directory %s: %v", dir, err)
	}
	if err := tryLock(f); err != nil {
		return nil, errors.Join(fanfold.Wrap(err, fanfold.Unavailable, "the data directory %s is in use by another fanfold process", dir), f.Close())
	}
	return f, nil
}

// Between fork and exec a child of this process holds a copy of the lock's descriptor, so that the lock may be taken
// for a moment after it was given back.
const (
	lockRetries = 20
	lockPause   = 50 * time.Millisecond
)

func tryLock(f *os.File) (err error) {
	for range lockRetries {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		time.Sleep(lockPause)
	}
	return err
}
