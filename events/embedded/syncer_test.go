package embedded

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/tests/suite"
)

// TestSyncIsShared: who asks for an event while the fsync that covers it is under way waits for that one; who asks for a
// later event waits for the next.
func TestSyncIsShared(t *testing.T) {
	suite.Concurrent(t)
	began, finish := make(chan struct{}, 2), make(chan struct{})
	files := func(f *os.File) error {
		if st, err := f.Stat(); err != nil || st.IsDir() {
			return err
		}
		began <- struct{}{}
		<-finish
		return nil
	}
	dir := t.TempDir()
	writeBlocks(t, dir, map[string][][]byte{"1.blk": {record(1, 100), record(2, 100), record(3, 100)}})
	b, err := openBlockFiles(dir, "s", 0, files)
	if err != nil {
		t.Fatal(err)
	}
	s := &syncer{files: b, stored: func() uint64 { return 2 }}
	first := make(chan error)
	go func() { first <- s.Wait(t.Context(), 1) }()
	<-began
	s.mu.Lock()
	covered, later := s.join(2), s.join(3)
	if covered != s.current || later != s.next || covered == later {
		t.Errorf("event 2 waits for %p, event 3 for %p, of %p and %p", covered, later, s.current, s.next)
	}
	s.mu.Unlock()
	close(finish)
	if err := <-first; err != nil {
		t.Error(err)
	}
	for _, r := range []*syncRound{covered, later} {
		if <-r.done; r.err != nil {
			t.Error(r.err)
		}
	}
	if n := s.rounds.Load(); n != 2 {
		t.Errorf("%d rounds, want 2", n)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
