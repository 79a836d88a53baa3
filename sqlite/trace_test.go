package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// leftBehind makes a store with events, and leaves its files without what a clean end writes down.
func leftBehind(t *testing.T, dir string, opt Options) {
	t.Helper()
	store, err := OpenStore(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= 100; seq++ {
		if err := fold(store.current, seq); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(store.Close(), os.Remove(store.notePath(sumPrefix, 1))); err != nil {
		t.Fatal(err)
	}
}

// otherBoot makes a trace one of another run of the operating system.
func otherBoot(t *testing.T, store *Store) {
	t.Helper()
	path := store.notePath(tracePrefix, 1)
	text, err := readNote(path)
	if err == nil {
		_, files, _ := strings.Cut(text, ":")
		err = writeNote(path, "another-boot:"+files)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestKilledOrInDoubt: a file that was not closed goes on where the operating system still runs, and nobody touched what says so. Otherwise it is in
// doubt, and gets no hash until it was built anew.
func TestKilledOrInDoubt(t *testing.T) {
	opt := Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)}
	const none = ending(-1) // a new file
	for name, c := range map[string]struct {
		change func(t *testing.T, s *Store)
		want   ending
	}{
		"killed":              {func(*testing.T, *Store) {}, endedKilled},
		"another boot":        {otherBoot, endedUnknown},
		"no trace":            {func(t *testing.T, s *Store) { must(t, os.Remove(s.notePath(tracePrefix, 1))) }, endedUnknown},
		"a damaged trace":     {func(t *testing.T, s *Store) { must(t, os.Truncate(s.notePath(tracePrefix, 1), 50)) }, endedUnknown},
		"a copied directory":  {copyBack, endedUnknown},
		"another file":        {func(t *testing.T, s *Store) { replace(t, s.filePath(1)) }, endedUnknown},
		"less than was moved": {func(t *testing.T, s *Store) { must(t, notes{s, 1}.noteMoved(101)) }, none},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			leftBehind(t, dir, opt)
			c.change(t, &Store{dir: dir})
			store, err := OpenStore(dir, opt)
			if err != nil {
				t.Fatal(err)
			}
			cp, err := store.Checkpoint()
			if err != nil || (cp.Seq == 100) != (c.want != none) {
				t.Fatalf("event %d, %v", cp.Seq, err)
			}
			if store.Killed() != (c.want == endedKilled) || store.Unclean() != (c.want == endedUnknown) {
				t.Errorf("killed %t, in doubt %t; want %d", store.Killed(), store.Unclean(), c.want)
			}
			next, err := store.Copy(t.Context(), func(int64, int64) {})
			must(t, err)
			must(t, store.Swap(next))
			if store.Unclean() != (c.want == endedUnknown) {
				t.Errorf("a copy is in doubt: %t", store.Unclean())
			}
			must(t, store.Close())
			if _, err := readNote(store.notePath(sumPrefix, store.number)); (err == nil) != (c.want != endedUnknown) {
				t.Errorf("the hash after a clean end: %v", err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// copyBack puts a copy of a store's directory in its place.
func copyBack(t *testing.T, s *Store) {
	t.Helper()
	dir, err := copyOf(s.dir, t.TempDir())
	must(t, err)
	must(t, os.RemoveAll(s.dir))
	must(t, os.CopyFS(s.dir, os.DirFS(dir)))
}

// replace puts a copy of a file in its place.
func replace(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path+".copy", text, 0o600))
	must(t, os.Rename(path+".copy", path))
}

// TestDamagedSinceTheKill: damage of the structure that came without the operating system's end is found once the file is looked at. It stays in doubt.
func TestDamagedSinceTheKill(t *testing.T) {
	dir, opt := t.TempDir(), Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)}
	leftBehind(t, dir, opt)
	path := (&Store{dir: dir}).filePath(1)
	text, err := os.ReadFile(path)
	must(t, err)
	table := bytes.LastIndexByte(text[:len(text)/4096*4096], 0x0d) / 4096 * 4096 // a page of rows
	clear(text[table : table+4096])
	must(t, os.WriteFile(path, text, 0o600))
	store, err := OpenStore(dir, opt)
	must(t, err)
	if !store.Killed() {
		t.Fatal("the file is not taken as that of a killed process")
	}
	if err := store.CheckFile(t.Context()); err == nil || !store.Unclean() || store.Killed() {
		t.Errorf("the damage is told as %v, in doubt %t", err, store.Unclean())
	}
	must(t, store.Close())
	if store, err = OpenStore(dir, opt); err != nil {
		t.Fatal(err)
	}
	if cp, err := store.Checkpoint(); err != nil || cp.Seq != 0 {
		t.Errorf("the next start has the file of event %d, %v", cp.Seq, err)
	}
	must(t, store.Close())
}

// TestTooLargeToHash: a file whose hashing would hold up the end is known by its size and time.
func TestTooLargeToHash(t *testing.T) {
	opt := Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)}
	for _, changed := range []bool{false, true} {
		dir := t.TempDir()
		leftBehind(t, dir, opt)
		store, err := OpenStore(dir, opt)
		must(t, err)
		large := strings.Repeat("x", 20<<20) // more than is read between two looks at the clock
		must(t, store.current.Update(func(tx *Tx) error {
			tx.SetCheckpoint(101, time.Unix(0, 0), "example")
			return tx.c.Exec("INSERT INTO form (rules, patch) VALUES ('', ?)", large)
		}))
		store.CloseBy(time.Now())
		must(t, store.Close())
		if note, err := readNote(store.notePath(sumPrefix, 1)); err != nil || !strings.HasPrefix(note, unhashed) {
			t.Fatalf("the note is %q, %v", note, err)
		}
		otherBoot(t, store)
		if changed {
			must(t, os.Chtimes(store.filePath(1), time.Time{}, time.Unix(1, 0)))
		}
		if store, err = OpenStore(dir, opt); err != nil {
			t.Fatal(err)
		}
		if store.Killed() == changed || store.Unclean() != changed {
			t.Errorf("changed %t: killed %t, in doubt %t", changed, store.Killed(), store.Unclean())
		}
		if left, _ := filepath.Glob(filepath.Join(dir, sumPrefix+"*")); changed != (len(left) > 0) {
			t.Errorf("changed %t: the note stays: %v", changed, left)
		}
		must(t, store.Close())
	}
}

// leftClean makes a store with a large row, closes it, and returns it.
func leftClean(t *testing.T, dir string, opt Options) *Store {
	t.Helper()
	store, err := OpenStore(dir, opt)
	must(t, err)
	large := strings.Repeat("x", 20<<20) // more than is read between two looks at the clock
	must(t, store.current.Update(func(tx *Tx) error {
		tx.SetCheckpoint(100, time.Unix(0, 0), "example")
		return tx.c.Exec("INSERT INTO form (rules, patch) VALUES ('', ?)", large)
	}))
	must(t, store.Close())
	if _, err := readNote(store.notePath(stillPrefix, 1)); err != nil {
		t.Skip("nothing is known of the file system of " + dir) // such as one of FUSE
	}
	return store
}

// otherByte changes a byte of a value, and writes down that nobody has touched the file, as if the disk gave back another byte.
func otherByte(t *testing.T, s *Store) {
	t.Helper()
	text, err := os.ReadFile(s.filePath(1))
	must(t, err)
	text[bytes.LastIndexByte(text, 'x')] = 'y'
	must(t, os.WriteFile(s.filePath(1), text, 0o600))
	must(t, notes{s, 1}.noteStill())
}

// TestHashedBeside: a file that nobody has touched since a clean end is served at once, and its hash compared meanwhile. Another byte that the disk
// gives back is found then. A file that was touched is compared before it is served.
func TestHashedBeside(t *testing.T) {
	opt := Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)}
	nothing := func(*testing.T, *Store) {}
	touch := func(t *testing.T, s *Store) { must(t, os.Truncate(s.filePath(1), statOf(t, s.filePath(1)).Size())) }
	both := func(t *testing.T, s *Store) { otherByte(t, s); copyBack(t, s) }
	for name, c := range map[string]struct {
		change      func(t *testing.T, s *Store)
		undisturbed bool   // as the next start sees it
		differs     bool   // as is found while the file is served
		seq         uint64 // of the next start
	}{
		"as it was left":               {nothing, true, false, 100},
		"another byte":                 {otherByte, true, true, 100},
		"touched":                      {touch, false, false, 100},
		"a copy":                       {copyBack, false, false, 100},
		"a copy, and another byte":     {both, false, false, 0},
		"without the note":             {func(t *testing.T, s *Store) { must(t, os.Remove(s.notePath(stillPrefix, 1))) }, false, false, 100},
		"a damaged note":               {func(t *testing.T, s *Store) { must(t, os.Truncate(s.notePath(stillPrefix, 1), 50)) }, false, false, 100},
		"the hash of a damaged note":   {func(t *testing.T, s *Store) { must(t, os.Truncate(s.notePath(sumPrefix, 1), 50)) }, false, false, 100},
		"SQLite's log of another time": {func(t *testing.T, s *Store) { must(t, os.WriteFile(s.filePath(1)+"-wal", []byte("x"), 0o600)) }, false, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.change(t, leftClean(t, dir, opt))
			store, err := OpenStore(dir, opt)
			must(t, err)
			cp, err := store.Checkpoint()
			if err != nil || cp.Seq != c.seq || store.Hashing.Undisturbed() != c.undisturbed {
				t.Errorf("event %d, %v, undisturbed %t", cp.Seq, err, store.Hashing.Undisturbed())
			}
			if err := store.CheckFile(t.Context()); (err != nil) != c.differs || store.Unclean() != c.differs {
				t.Errorf("the file: %v, in doubt %t", err, store.Unclean())
			}
			next, err := store.Copy(t.Context(), func(int64, int64) {})
			must(t, err)
			must(t, store.Swap(next))
			if store.Unclean() != c.differs {
				t.Errorf("a copy is in doubt: %t", store.Unclean())
			}
			must(t, store.Close())
			if _, err := readNote(store.notePath(sumPrefix, store.number)); (err != nil) != c.differs {
				t.Errorf("the hash after a clean end: %v", err)
			}
		})
	}
}

// statOf returns what the system says of a file.
func statOf(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info
}

// TestClosedBeforeItsHash: a file whose hash was not compared gets no other one when it is closed. The next start takes it for one that a killed process left.
func TestClosedBeforeItsHash(t *testing.T) {
	dir, opt := t.TempDir(), Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)}
	left := leftClean(t, dir, opt)
	otherByte(t, left)
	store := &Store{dir: dir, opt: opt, Applied: newApplied(), reserved: map[int]bool{}}
	store.CloseBy(time.Now())
	db, err := store.openUsable(1)
	must(t, err)
	store.current, store.number = db, 1
	store.Hashing.store = store
	store.Hashing.begin(db)
	must(t, store.Close())
	if _, err := readNote(store.notePath(sumPrefix, 1)); !errors.Is(err, errNoNote) {
		t.Errorf("a file that was not compared has a hash: %v", err)
	}
	if store, err = OpenStore(dir, opt); err != nil {
		t.Fatal(err)
	}
	if !store.Killed() {
		t.Error("a file that was not compared is not taken for one that a killed process left")
	}
	must(t, store.Close())
}

// TestComparedBesideAReader: the end of a file's comparison waits for no reader, for a read within a read would wait for it.
func TestComparedBesideAReader(t *testing.T) {
	dir, opt := t.TempDir(), Options{Fingerprint: "example", Logger: slog.New(slog.DiscardHandler)}
	leftClean(t, dir, opt)
	store, err := OpenStore(dir, opt)
	must(t, err)
	must(t, store.Read(func(*Snapshot) error {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			store.Hashing.end(store.current, store.Hashing.want, nil)
		}()
		<-ended
		return nil
	}))
	must(t, store.Close())
}
