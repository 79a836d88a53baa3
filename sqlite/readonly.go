package sqlite

import (
	"cmp"
	"errors"
	"log/slog"
	"os"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// CloseSealed does what Close does, and makes the current generation one that OpenReadOnly opens.
func (s *Store) CloseSealed() error {
	s.sealing = true
	return s.Close()
}

// OpenReadOnly opens the generation of a store that CloseSealed closed. It writes nothing into the directory, which several may open
// so. Build, Copy and Save have no use then. The caller closes the store. It returns Unavailable for files that cannot be read, or are
// not as they were left, and for another fingerprint than the options'.
func OpenReadOnly(dir string, opt Options) (*Store, error) {
	opt.AsIs = true
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	s := &Store{dir: dir, opt: opt, readOnly: true, Applied: newApplied(), reserved: map[int]bool{}}
	s.Lanes = newLanes(s)
	n, err := s.highestMarker()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fanfold.Errorf(fanfold.Unavailable, "%s has no read model", dir)
	}
	end, err := s.checkSum(n)
	if errors.Is(err, os.ErrNotExist) || err == nil && end == endedDamaged {
		err = fanfold.Errorf(fanfold.Unavailable, "the read model in %s is not as it was left: make it again", dir)
	}
	if err != nil {
		return nil, err
	}
	file, err := driver.OpenToRead(s.filePath(n), cmp.Or(opt.Cache, DefaultCache))
	if err != nil {
		return nil, err
	}
	s.current, s.number = &DB{file: file, opt: opt, number: n}, n
	cp, err := s.Checkpoint()
	if err == nil && cp.Seq > 0 && cp.Fold != opt.Fingerprint {
		err = fanfold.Errorf(fanfold.Unavailable, "the read model in %s was made by another version (%s; this one is %s): make it again", dir, cp.Fold, opt.Fingerprint)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.Applied.Set(cp.Seq)
	return s, nil
}
