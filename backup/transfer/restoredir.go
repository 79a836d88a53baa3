package transfer

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/events/embedded"
	"github.com/fanfold/fanfold/internal/datadir"
	"github.com/fanfold/fanfold/node/logcheck"
)

// checkRestorable returns Conflict for a directory that has something else than what an unfinished restore has left. It makes nothing.
func checkRestorable(dir string) error {
	found, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Invalid, "%s cannot be a data directory: %v", dir, err)
	}
	restoring, err := datadir.IsRestoring(dir)
	if err != nil || restoring {
		return err
	}
	for _, f := range found {
		if f.Name() != datadir.LockFile {
			return fanfold.Errorf(fanfold.Conflict, "%s is not empty: it has %s; a backup is restored into a directory that is empty or not there; nothing was touched", dir, f.Name())
		}
	}
	return nil
}

// markDirectory makes the directory one whose restore has not come to its end, and removes what another restore has left. Its caller has the
// lock. It returns the errors of checkRestorable, and Unavailable.
func (r *restorer) markDirectory() error {
	dir := r.cfg.Data
	if err := checkRestorable(dir); err != nil { // somebody else may have had the lock meanwhile
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, datadir.RestoringFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = f.WriteString("fanfold restore has not come to its end here: store " + string(r.backup.Store) + "\n")
		err = errors.Join(err, r.fsync(f), f.Close(), datadir.SyncDir(dir, r.fsync), datadir.SyncDir(filepath.Dir(filepath.Clean(dir)), r.fsync))
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "cannot write into %s: %v", dir, err)
	}
	found, err := os.ReadDir(dir)
	for _, left := range found {
		if name := left.Name(); name != datadir.RestoringFile && name != datadir.LockFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "what a restore that was ended has left in %s cannot be removed: %v", dir, err)
	}
	return r.step("marked the directory")
}

// finishDirectory makes everything in the directory durable, and then takes the mark away.
func (r *restorer) finishDirectory(out *Restored) error {
	dir := r.cfg.Data
	w := logcheck.Witness{Seq: out.Last, Event: r.plan.event, Digest: out.Digest, Synced: out.Last, AsOf: r.plan.asOf}
	err := embedded.SyncFiles(filepath.Join(dir, "nats"), r.cfg.Fsync)
	if err == nil && out.Events > 0 {
		err = w.Write(dir)
	}
	if err == nil {
		err = r.step("synced the directory")
	}
	if err == nil {
		err = errors.Join(os.Remove(filepath.Join(dir, datadir.RestoringFile)), datadir.SyncDir(dir, r.fsync))
	}
	var known *fanfold.Error
	if err != nil && !errors.As(err, &known) {
		err = fanfold.Wrap(err, fanfold.Unavailable, "what was restored into %s cannot be made durable: %v", dir, err)
	}
	return err
}

// fsync makes a file durable.
func (r *restorer) fsync(f *os.File) error {
	if r.cfg.Fsync != nil {
		return r.cfg.Fsync(f)
	}
	return f.Sync()
}
