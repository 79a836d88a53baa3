package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/fanfold/fanfold"
)

// Options of a Store; the zero value works.
type Options struct {
	Fingerprint string       // of the fold; a file made by another is not used
	FailWrite   func() error // for tests: asked before every write, its error stands for SQLite's
	Logger      *slog.Logger // default slog.Default()
}

// Store is the directory of read models: the generation that is served, and at times others that a
// replay or a model to come builds beside it.
type Store struct {
	dir     string
	opt     Options
	Applied *Applied

	mu      sync.RWMutex // held for reading while a generation is in use
	current *DB
	number  int // of current

	closing  sync.WaitGroup // generations that were swapped out, until they are closed and removed
	building sync.Mutex
	built    map[int]bool // generations that are being built
	last     int          // the greatest number given
}

const (
	markerPrefix = "current-"
	filePrefix   = "readmodel-"
)

// OpenStore opens the generation that the newest marker names, or makes the first one. A file
// made by another fold version is left behind and a new one begun. Close the store.
func OpenStore(dir string, opt Options) (*Store, error) {
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot make %s: %v", dir, err)
	}
	s := &Store{dir: dir, opt: opt, Applied: newApplied(), built: map[int]bool{}}
	n, err := s.newestMarker()
	if err != nil {
		return nil, err
	}
	if n > 0 {
		db, err := s.openUsable(n)
		if err != nil {
			return nil, err
		}
		if db != nil {
			s.current, s.number = db, n
		}
	}
	if s.current == nil {
		db, err := s.Build()
		if err != nil {
			return nil, err
		}
		if err := errors.Join(db.seal(), db.serve(), s.marker(db.number)); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		s.current, s.number = db, db.number
		s.release(db)
	}
	s.removeOthers()
	cp, err := s.Checkpoint()
	if err != nil {
		return nil, errors.Join(err, s.current.Close())
	}
	s.Applied.Set(cp.Seq)
	return s, nil
}

// openUsable returns nil where the file was made by another fold version, or is damaged.
func (s *Store) openUsable(n int) (*DB, error) {
	db, err := openDB(s.file(n), s.opt.FailWrite)
	if damaged(err) {
		s.opt.Logger.Error("the read model's file is damaged and is rebuilt from the log", "file", s.file(n), "err", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var cp Checkpoint
	if err := db.Read(func(snap *Snapshot) error { cp = snap.Checkpoint; return nil }); err != nil {
		if damaged(err) {
			s.opt.Logger.Error("the read model's file is damaged and is rebuilt from the log", "file", s.file(n), "err", err)
			return nil, db.Close()
		}
		return nil, errors.Join(err, db.Close())
	}
	if cp.Seq > 0 && cp.Fold != s.opt.Fingerprint {
		s.opt.Logger.Info("the read model was made by another version and is rebuilt from the log", "have", cp.Fold, "want", s.opt.Fingerprint)
		return nil, db.Close()
	}
	return db, nil
}

func (s *Store) file(n int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s%06d.db", filePrefix, n))
}

func numberOf(name, prefix string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, prefix), ".db"))
	if err != nil || !strings.HasPrefix(name, prefix) {
		return 0
	}
	return n
}

// newestMarker is the generation that was made current last, 0 where none was.
func (s *Store) newestMarker() (int, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, "cannot read %s: %v", s.dir, err)
	}
	newest := 0
	for _, e := range entries {
		newest = max(newest, numberOf(e.Name(), markerPrefix))
	}
	return newest, nil
}

// marker makes generation n the current one, durably: an empty, synced file whose name says it.
func (s *Store) marker(n int) error {
	f, err := os.OpenFile(filepath.Join(s.dir, fmt.Sprintf("%s%06d", markerPrefix, n)), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "cannot write into %s: %v", s.dir, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// removeOthers deletes what is not the current generation: old files, replays that ended early.
func (s *Store) removeOthers() {
	s.mu.RLock()
	current := s.number
	s.mu.RUnlock()
	s.building.Lock()
	defer s.building.Unlock()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		base, _, _ := strings.Cut(name, ".db")
		n := max(numberOf(name, markerPrefix), numberOf(base, filePrefix))
		if n != 0 && n != current && !s.built[n] {
			if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
				s.opt.Logger.Warn("cannot remove an old read model", "file", name, "err", err)
			}
		}
	}
}

// Use runs fn on the current generation, which stays open until fn returns.
func (s *Store) Use(fn func(db *DB) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return fn(s.current)
}

// Read runs fn on one snapshot of the current generation.
func (s *Store) Read(fn func(snap *Snapshot) error) error {
	return s.Use(func(db *DB) error { return db.Read(fn) })
}

// Get is DB.Get on the current generation.
func (s *Store) Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, fanfold.Position, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current.Get(key, view)
}

// Checkpoint is how far the current generation is.
func (s *Store) Checkpoint() (cp Checkpoint, err error) {
	err = s.Read(func(snap *Snapshot) error { cp = snap.Checkpoint; return nil })
	return cp, err
}

// Build makes an empty generation beside the current one. Pass it to Swap or Discard.
func (s *Store) Build() (*DB, error) {
	n, err := s.begin()
	if err != nil {
		return nil, err
	}
	db, err := buildDB(s.file(n), s.opt.FailWrite)
	if err != nil {
		s.release(&DB{number: n})
		return nil, err
	}
	db.number = n
	return db, nil
}

// begin gives a new generation its number.
func (s *Store) begin() (n int, err error) {
	newest, err := s.newestMarker()
	if err != nil {
		return 0, err
	}
	s.building.Lock()
	defer s.building.Unlock()
	s.last = max(s.last, newest) + 1
	if err := removeFiles(s.file(s.last)); err != nil {
		return 0, err
	}
	s.built[s.last] = true
	return s.last, nil
}

// release ends what begin began.
func (s *Store) release(db *DB) {
	s.building.Lock()
	defer s.building.Unlock()
	delete(s.built, db.number)
}

// Discard closes and removes a generation that Build or Copy made.
func (s *Store) Discard(db *DB) error {
	defer s.release(db)
	return errors.Join(db.Close(), db.remove())
}

// Swap makes a generation that Build or Copy made the current one. It blocks until running reads have
// ended; the old generation is closed and removed afterwards. A crash finds the old or the new one, never neither.
func (s *Store) Swap(db *DB) error {
	if err := db.handOver(); err != nil {
		return errors.Join(err, s.Discard(db))
	}
	defer s.release(db)
	if err := s.marker(db.number); err != nil {
		return errors.Join(err, db.Close()) // the marker may be there after all: the file stays
	}
	s.mu.Lock()
	old := s.current
	s.current, s.number = db, db.number
	s.mu.Unlock()
	s.closing.Go(func() {
		if err := old.Close(); err != nil {
			s.opt.Logger.Warn("a read model that was replaced could not be closed", "err", err)
		}
		s.removeOthers()
	})
	return nil
}

// handOver makes a generation that was built one that is read.
func (db *DB) handOver() error {
	if err := db.seal(); err != nil {
		return err
	}
	if err := db.renew(); err != nil {
		return err
	}
	return db.serve()
}

// Close closes the current generation.
func (s *Store) Close() error {
	s.closing.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.Close()
}
