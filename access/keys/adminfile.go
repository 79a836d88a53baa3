package keys

import (
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/access"
	"github.com/fanfold/fanfold/internal/smallfile"
	"github.com/fanfold/fanfold/model"
)

// maxKeyFile bounds a file with a key, in bytes.
const maxKeyFile = 4 << 10

// ReadFile reads the key in a file, which has the key alone, in one line. Errors are Invalid: also for a file that everybody on
// the machine may read.
func ReadFile(path string) (access.Key, error) {
	key, _, err := readFile(path)
	return key, err
}

// readFile does what ReadFile does, and says in which version of the file the key was.
func readFile(path string) (key access.Key, at fileVersion, err error) {
	text, info, err := smallfile.Read(path, maxKeyFile, smallfile.Secret)
	if err != nil {
		return key, at, err
	}
	if key, err = access.ParseKey(strings.TrimSpace(string(text))); err != nil {
		return key, at, fanfold.Errorf(fanfold.Invalid, "%s: %s", path, fanfold.MessageOf(err))
	}
	return key, versionOf(info), nil
}

// fileVersion is another one once a file was written, or others may read it.
type fileVersion struct {
	size int64
	time time.Time
	mode os.FileMode
}

func versionOf(info os.FileInfo) fileVersion {
	return fileVersion{info.Size(), info.ModTime(), info.Mode()}
}

// adminFile is a file with a key that has the role admin.
type adminFile struct {
	path    string
	version fileVersion // of the file as it was read, or could not be read
	holder  atomic.Pointer[access.Principal]
}

// read reads the file. The key that it had stays if that fails.
func (f *adminFile) read() error {
	key, version, err := readFile(f.path)
	if err != nil {
		return err
	}
	f.version = version
	if old := f.holder.Load(); old != nil && old.Secret == key.Hash() && old.ID == key.ID {
		return nil
	}
	f.holder.Store(&access.Principal{ID: key.ID, Sub: defaultSub(key.ID), Name: "admin key file", Roles: []string{model.RoleAdmin}, Secret: key.Hash()})
	return nil
}

// changed tells whether the file was written since it was read.
func (f *adminFile) changed() bool {
	info, err := os.Stat(f.path)
	if err != nil {
		return false
	}
	version := versionOf(info)
	if version == f.version {
		return false
	}
	f.version = version // what cannot be read is told once
	return true
}

// principal returns who sends the file's key.
func (f *adminFile) principal() *access.Principal { return f.holder.Load() }
