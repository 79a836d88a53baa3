package events

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/fanfold/fanfold"
)

// runSyncer is a disk whose rounds have an error, nil where all is well.
type runSyncer struct{ err error }

func (s runSyncer) Wait(context.Context, uint64) error { return s.err }

func (runSyncer) Rounds() uint64 { return 0 }

func (s runSyncer) Failure() error { return s.err }

// TestStoredOutlastsRestart: a write that the server has stored waits for the end of a planned restart, and is durable where the next run has it.
func TestStoredOutlastsRestart(t *testing.T) {
	closed := errors.New("the log is closed")
	planned := fanfold.Wrap(fanfold.ErrRestarting, fanfold.Unavailable, "being started again")
	full := fanfold.Errorf(fanfold.Unavailable, "the disk is full")
	type later struct { // a run after the one in which it was stored
		stopped error
		began   uint64
		disk    error
	}
	for name, c := range map[string]struct {
		runs  []later
		fails bool
	}{
		"the next run has it":          {[]later{{stopped: planned}, {began: 5}}, false},
		"two restarts":                 {[]later{{stopped: planned}, {began: 5, disk: closed}, {stopped: planned}, {began: 7}}, false},
		"the start has cut it":         {[]later{{stopped: planned}, {began: 4}}, true},
		"cut, and others in its place": {[]later{{stopped: planned}, {began: 4, disk: closed}, {stopped: planned}, {began: 9}}, true},
		"the disk is full":             {[]later{{stopped: full}}, true},
		"the disk has failed":          {nil, true},
	} {
		for _, late := range []bool{false, true} { // it begins to wait in the run that follows
			synctest.Test(t, func(t *testing.T) {
				l := &Log{batches: atomicBatches{}}
				begin := func(r later) {
					run := newServerRun(r.stopped)
					run.began, run.syncer = r.began, runSyncer{r.disk}
					l.startRun(run)
				}
				begin(later{disk: closed})
				waiting, n := l.run.Load(), min(len(c.runs), max(1, len(c.runs)-1))
				for i, r := range c.runs[:n] { // all but the last one have begun
					if begin(r); late && i == 0 {
						waiting = l.run.Load()
					}
				}
				ended := make(chan error, 1)
				go func() { ended <- waiting.waitStored(t.Context(), 5) }()
				synctest.Wait()
				for _, r := range c.runs[n:] {
					begin(r)
				}
				if err := <-ended; (err != nil) != c.fails {
					t.Errorf("%s, late %v: %v", name, late, err)
				}
			})
		}
	}
}
