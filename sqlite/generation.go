package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanfold/fanfold"
	"github.com/fanfold/fanfold/sqlite/driver"
)

// Options are the settings of a Store. The zero value works.
type Options struct {
	Fingerprint string       // of the program; a file with another is not used
	FailWrite   func() error // for tests: called before every write; an error of it is returned in place of SQLite's
	Cache       int64        // bytes of the file that are kept in memory, where the system has it; default DefaultCache
	AsIs        bool         // a file that is not as it was left is used all the same, to be looked at
	Logger      *slog.Logger // default slog.Default()
}

// DefaultCache is how many bytes of the file are kept in memory where Options say nothing. SQLite maps no more.
const DefaultCache = 2 << 30

// Store is the directory of read models: the generation that is served, and at times others that a
// replay or a coming model builds beside it. Its methods may be called from many goroutines.
type Store struct {
	dir     string
	opt     Options
	Applied *Applied
	Lanes   Lanes
	Hashing Hashing

	mu      sync.RWMutex // held for reading while a generation is in use
	current *DB          // the generation that is served
	number  int          // of current
	left    atomicEnding // how current was left: see Unclean and Killed

	readOnly bool // OpenReadOnly opened it
	sealing  bool // see CloseSealed

	ending     atomic.Bool    // Interrupt was called
	closeBy    atomic.Int64   // see CloseBy; in ns, 0 for never
	closing    sync.WaitGroup // generations that were replaced, until they are closed and removed
	reserveMu  sync.Mutex     // guards reserved and lastNumber
	reserved   map[int]bool   // generations that are being built
	lastNumber int            // the greatest number reserved so far
}

// The names of markers and of the files of generations begin with these; the number follows.
const (
	markerPrefix = "current-"
	filePrefix   = "readmodel-"
)

// OpenStore opens the generation that the highest marker names, or makes the first one. It replaces
// a file of another fingerprint, or that is damaged, by an empty one. The caller closes the
// store. Errors are Invalid for options that cannot be, and Unavailable for files that cannot be read or written.
func OpenStore(dir string, opt Options) (*Store, error) {
	if opt.Logger == nil {
		opt.Logger = slog.Default()
	}
	if opt.Cache < 0 {
		return nil, fanfold.Errorf(fanfold.Invalid, "a cache of %d bytes for the read model cannot be: give 0 for the default, or more", opt.Cache)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot make %s: %v", dir, err)
	}
	if err := RemoveSaved(filepath.Join(dir, comparedFile)); err != nil { // a process that was killed left it
		return nil, err
	}
	s := &Store{dir: dir, opt: opt, Applied: newApplied(), reserved: map[int]bool{}}
	s.Lanes, s.Hashing.store = newLanes(s), s
	if s.opt.FailWrite = s.failEnding; opt.FailWrite != nil {
		s.opt.FailWrite = func() error { return cmp.Or(s.failEnding(), opt.FailWrite()) }
	}
	n, err := s.highestMarker()
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
			if s.left.get() == endedStill {
				s.Hashing.begin(db)
			}
		}
	}
	if s.current == nil {
		db, err := s.Build()
		if err != nil {
			return nil, err
		}
		db.noteMoves(notes{s, db.number}.noteMoved)
		if err := errors.Join(db.file.SyncToDisk(), db.openReaders(), s.writeMarker(db.number)); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		notes{s, db.number}.noteTrace()
		s.current, s.number = db, db.number
		s.releaseNumber(db.number)
	}
	s.removeUnusedFiles()
	cp, err := s.Checkpoint()
	if err != nil {
		return nil, errors.Join(err, s.current.Close())
	}
	s.Applied.Set(cp.Seq)
	return s, nil
}

// errEnding is the error of writes after Interrupt.
var errEnding = fanfold.Errorf(fanfold.Unavailable, "the node is stopping")

// Interrupt makes the next statement that writes fail, and all later ones, so that a transaction that would take long is
// rolled back instead. It is for a node that stops.
func (s *Store) Interrupt() { s.ending.Store(true) }

// CloseBy says when the store is to be closed at the latest. Longer work is left to the next start.
func (s *Store) CloseBy(t time.Time) { s.closeBy.Store(t.UnixNano()) }

// Ending returns an Unavailable after Interrupt, for work that would take long without a write.
func (s *Store) Ending() error { return s.failEnding() }

// failEnding is called before every write. It returns Unavailable after Interrupt.
func (s *Store) failEnding() error {
	if s.ending.Load() {
		return errEnding
	}
	return nil
}

// openUsable returns generation n, or nil where the file has another fingerprint or is damaged.
func (s *Store) openUsable(n int) (*DB, error) {
	end, err := s.checkSum(n)
	if err != nil {
		return nil, fanfold.Wrap(err, fanfold.Unavailable, "cannot read the read model in %s: %v", s.dir, err)
	}
	if end == endedDamaged && s.opt.AsIs {
		s.opt.Logger.Warn("the read model's file is not as it was left, and the next start of a server rebuilds it from the log", "file", s.filePath(n))
	} else if end == endedDamaged {
		s.rebuilt(n, errNotAsLeft)
		return nil, nil
	}
	db, err := openDB(s.filePath(n), s.opt)
	switch {
	case driver.IsCorrupt(err):
		s.rebuilt(n, err)
		return nil, nil
	case errors.Is(err, errOtherSchema):
		s.opt.Logger.Info("the read model was made by another version and is rebuilt from the log", "err", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	db.number = n
	db.noteMoves(notes{s, n}.noteMoved)
	cp, damage, err := examine(db, end, notes{s, n})
	if driver.IsCorrupt(err) {
		damage = err
	}
	if damage != nil {
		s.rebuilt(n, damage)
		return nil, db.Close()
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if cp.Seq > 0 && cp.Fold != s.opt.Fingerprint {
		s.opt.Logger.Info("the read model was made by another version and is rebuilt from the log", "have", cp.Fold, "want", s.opt.Fingerprint)
		return nil, db.Close()
	}
	if cp.Seq > 0 || end == endedStill {
		s.left.set(end)
	}
	return db, nil
}

// rebuilt logs why generation n is not used.
func (s *Store) rebuilt(n int, err error) {
	s.opt.Logger.Error("the read model's file is damaged and is rebuilt from the log", "file", s.filePath(n), "err", err)
}

// Unclean returns whether nothing says that the current generation's file is as it was left: the operating system may have ended, the
// files were copied, or CheckFile found damage. Its structure was checked at the start.
func (s *Store) Unclean() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return inDoubt(s.left.get())
}

// Killed returns whether the current generation was not closed, or not hashed, and the operating system has all that was written. Its structure was
// not checked.
func (s *Store) Killed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.left.get() == endedKilled
}

// filePath returns the path of generation n.
func (s *Store) filePath(n int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s%06d.db", filePrefix, n))
}

// generationOf returns the number in the name of a marker or a generation's file, 0 where the name
// is another.
func generationOf(name, prefix string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, prefix), ".db"))
	if err != nil || !strings.HasPrefix(name, prefix) {
		return 0
	}
	return n
}

// highestMarker returns the number of the generation that was made current last, 0 where none was.
func (s *Store) highestMarker() (int, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, fanfold.Wrap(err, fanfold.Unavailable, "cannot read %s: %v", s.dir, err)
	}
	highest := 0
	for _, e := range entries {
		highest = max(highest, generationOf(e.Name(), markerPrefix))
	}
	return highest, nil
}

// writeMarker makes generation n the one that OpenStore opens. It returns when that is durable. The
// marker is an empty, synced file whose name has the number.
func (s *Store) writeMarker(n int) error {
	f, err := os.OpenFile(s.notePath(markerPrefix, n), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "cannot write into %s: %v", s.dir, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncDir(s.dir)
}

// removeUnusedFiles deletes the files of every generation that is neither current nor being built.
// It logs what it cannot delete.
func (s *Store) removeUnusedFiles() {
	s.mu.RLock()
	current := s.number
	s.mu.RUnlock()
	s.reserveMu.Lock()
	defer s.reserveMu.Unlock()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		if n := fileGeneration(name); n != 0 && n != current && !s.reserved[n] {
			if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
				s.opt.Logger.Warn("cannot remove an old read model", "file", name, "err", err)
			}
		}
	}
}

// Use runs fn on the current generation, which stays open until fn returns. Swap waits for fn.
func (s *Store) Use(fn func(db *DB) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return fn(s.current)
}

// Sizes returns how many bytes the file of the generation that is served has, and SQLite's log beside it; 0 for one that
// is not there.
func (s *Store) Sizes() (database, wal int64) {
	_ = s.Use(func(db *DB) error {
		for size, path := range map[*int64]string{&database: db.Path(), &wal: db.Path() + "-wal"} {
			if info, err := os.Stat(path); err == nil {
				*size = info.Size()
			}
		}
		return nil
	})
	return database, wal
}

// Read runs fn on one snapshot of the current generation, as DB.Read does.
func (s *Store) Read(fn func(snap *Snapshot) error) error {
	s.mu.RLock()
	var used *Snapshot
	defer func() {
		if used == nil || used.store != nil {
			s.mu.RUnlock()
		}
	}()
	return s.current.Read(func(snap *Snapshot) error {
		used, snap.store = snap, s
		return fn(snap)
	})
}

// Get returns a document of the current generation, as DB.Get does.
func (s *Store) Get(key fanfold.Key, view fanfold.View) (*fanfold.Document, fanfold.Position, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current.Get(key, view)
}

// Checkpoint returns how far the current generation is.
func (s *Store) Checkpoint() (cp Checkpoint, err error) {
	err = s.Read(func(snap *Snapshot) error { cp = snap.Checkpoint; return nil })
	return cp, err
}

// Build returns a new, empty generation beside the current one. The caller passes it to Swap or Discard.
func (s *Store) Build() (db *DB, err error) {
	n, err := s.reserveNumber()
	if err != nil {
		return nil, err
	}
	if err = makeSchema(s.filePath(n)); err == nil {
		db, err = openUnprotected(s.filePath(n), s.opt)
	}
	if err != nil {
		s.releaseNumber(n)
		return nil, err
	}
	db.number = n
	return db, nil
}

// reserveNumber returns the number for a new generation, and keeps its files from
// removeUnusedFiles.
func (s *Store) reserveNumber() (n int, err error) {
	highest, err := s.highestMarker()
	if err != nil {
		return 0, err
	}
	s.reserveMu.Lock()
	defer s.reserveMu.Unlock()
	s.lastNumber = max(s.lastNumber, highest) + 1
	if err := driver.Remove(s.filePath(s.lastNumber)); err != nil {
		return 0, err
	}
	s.reserved[s.lastNumber] = true
	return s.lastNumber, nil
}

// releaseNumber takes reserveNumber back.
func (s *Store) releaseNumber(n int) {
	s.reserveMu.Lock()
	defer s.reserveMu.Unlock()
	delete(s.reserved, n)
}

// Empty makes a new, empty generation the current one, and removes the files of all others. It is for a start, when nobody reads, writes or waits.
// It returns when they are gone. The error is Unavailable for a file that cannot be removed.
func (s *Store) Empty() error {
	db, err := s.Build()
	if err != nil {
		return err
	}
	if err := s.Swap(db); err != nil {
		return err
	}
	s.Applied.restart()
	s.closing.Wait()
	s.mu.RLock()
	current := s.number
	s.mu.RUnlock()
	if err := RemoveSaved(filepath.Join(s.dir, comparedFile)); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fanfold.Wrap(err, fanfold.Unavailable, "cannot read %s: %v", s.dir, err)
	}
	for _, e := range entries {
		if n := fileGeneration(e.Name()); n != 0 && n != current {
			return fanfold.Errorf(fanfold.Unavailable, "cannot remove %s, which has what is erased", filepath.Join(s.dir, e.Name()))
		}
	}
	return syncDir(s.dir)
}

// fileGeneration returns the number of the generation that a file belongs to, 0 for none.
func fileGeneration(name string) int {
	base, _, _ := strings.Cut(name, ".db")
	return max(generationOf(name, markerPrefix), generationOf(base, filePrefix), generationOf(name, sumPrefix), generationOf(name, movedPrefix), generationOf(name, tracePrefix), generationOf(name, stillPrefix))
}

// Discard closes and removes a generation that Build or Copy made.
func (s *Store) Discard(db *DB) error {
	defer s.releaseNumber(db.number)
	return errors.Join(db.Close(), db.remove())
}

// Swap makes a generation that Build or Copy made the current one. It blocks until running reads have ended; the old
// generation is closed and removed afterwards, in the background. A crash finds the old or the new one, never
// neither. If Swap fails, this process goes on with the old one, and db is closed.
func (s *Store) Swap(db *DB) error {
	if err := db.makeReadable(); err != nil {
		return errors.Join(err, s.Discard(db))
	}
	defer s.releaseNumber(db.number)
	if err := s.writeMarker(db.number); err != nil {
		return errors.Join(err, db.Close()) // the marker may be there after all: the file stays
	}
	if !inDoubt(db.left) {
		notes{s, db.number}.noteTrace()
	}
	db.noteMoves(notes{s, db.number}.noteMoved)
	s.mu.Lock()
	old := s.current
	s.current, s.number = db, db.number
	s.left.set(db.left)
	s.mu.Unlock()
	s.closing.Go(func() {
		if err := old.Close(); err != nil {
			s.opt.Logger.Warn("a read model that was replaced could not be closed", "err", err)
		}
		s.removeUnusedFiles()
	})
	return nil
}

// makeReadable brings a generation that was built to the disk and opens it to readers.
func (db *DB) makeReadable() error {
	if err := db.file.SyncToDisk(); err != nil {
		return err
	}
	if err := db.file.ReopenWriter(); err != nil {
		return err
	}
	if err := db.beginTx(); err != nil {
		return err
	}
	return db.openReaders()
}

// Close waits for generations that were replaced to be removed, closes the current one, and writes
// down a hash of its file, by which OpenStore knows it again. Hashing takes four seconds at most. An Unclean one gets no hash.
func (s *Store) Close() error {
	s.closing.Wait()
	s.Hashing.wait(context.Background()) // until closeBy at most
	s.mu.Lock()
	defer s.mu.Unlock()
	noted := s.current.file.WAL.Note()
	if err := s.current.Close(); err != nil || s.readOnly {
		return err
	}
	if s.sealing {
		if err := driver.Seal(s.current.Path()); err != nil {
			return err
		}
	}
	if noted == nil && !s.opt.AsIs && !inDoubt(s.left.get()) && s.left.get() != endedStill {
		noted = s.noteSum()
	}
	if noted != nil {
		s.opt.Logger.Warn("what the read model's file is cannot be written down: the next start looks at all of it", "err", noted)
	}
	return nil
}
